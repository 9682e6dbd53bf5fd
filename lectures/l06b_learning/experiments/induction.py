"""Induction: what a model writes when a stretch of random tokens comes a second time.

The tokens of the first time follow no rule, so none can be known in advance. Those of the second
time can all be known, by two steps: find the place where the present token stood before, and say
what came after it. (Where the second time runs around the end of the first one, the row's first
token follows instead.) Two heads do that together. In layer 0 a **previous-token head** tells each
place which token stood before it. In layer 1 an **induction head** asks with the present token for
a place that was told so, and copies the token that stands there. One layer has no such head, for a
token's key would have to know its neighbour first; its feed-forward part can learn the task.

Trained are GPT-2s of one and two layers, on rows whose second time begins at any place of the first
one and runs around its end: no fixed distance back is right. Only the tokens that can be known
count in the loss. With the loss of all tokens, as language models have it, they learn several times
later.

Sources: Elhage et al., "A mathematical framework for transformer circuits", 2021, "Induction
heads"; Olsson et al., "In-context learning and induction heads", 2022, whose score this is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.shapes import Float, Int
from course_utils.training import Training, train
from lectures.l06b_learning.experiments.sizes import drawn_for_width

TOKENS, LENGTH = 16, 8
CONFIG = GPT2Config(TOKENS, 2 * LENGTH, 32, num_layers=2, num_heads=2, feedforward_width=32)


def repeated_tokens(generator: torch.Generator, *, batch: int = 64) -> Int[Tensor, "B T"]:
    """Draw rows of random tokens in which the second half repeats the first.

    The tokens of one half all differ, so that each has one earlier occurrence and no other.
    """
    return _halves(generator, batch).repeat(1, 2)


def shifted_repeats(generator: torch.Generator, *, batch: int = 32) -> tuple[Int[Tensor, "B T"]]:
    """Draw what the models learn from: the second half begins anywhere, and runs around the end."""
    first = _halves(generator, batch)
    begin = torch.randint(LENGTH, (batch, 1), generator=generator)
    places = (begin + torch.arange(LENGTH)) % LENGTH  # (B, length)
    return (torch.cat((first, first.gather(1, places)), dim=1),)


def _halves(generator: torch.Generator, batch: int) -> Tensor:
    return torch.rand(batch, TOKENS, generator=generator).argsort(dim=1)[:, :LENGTH]


def repeat_loss(
    model: Callable[[Tensor], Tensor], token_ids: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the second half from its second token on, in nats.

    Those are the tokens that can be known. A guess among all costs log 16 = 2.8, one among the
    first half's log 8 = 2.1, and one among those that have come once so far log(7!) / 7 = 1.2.
    """
    half = token_ids.shape[1] // 2
    logits, answers = model(token_ids)[:, half:-1], token_ids[:, half + 1 :]
    return cross_entropy(logits.flatten(0, 1), answers.flatten())


def train_induction(
    config: GPT2Config = CONFIG,
    *,
    seeds: Iterable[int] = (0, 1, 2),
    steps: int = 1000,
    learning_rate: float = 0.005,
) -> Training:
    """Train GPT-2s to go on with shifted repeats, by ``repeat_loss``."""
    return train(
        lambda: drawn_for_width(config),
        shifted_repeats,
        repeat_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=learning_rate,
    )


@torch.no_grad()
def induction_scores(model: GPT2, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "layers H"]:
    """Return how much each head attends, from the second half, to the token after the earlier one.

    The weight of query t on key t - n + 1 where n is half of T, on average over the rows and over
    the queries n to 2n - 2: those whose next token has come before. A head that spreads its weight
    evenly scores about 1 / T.

    Source: Olsson et al., 2022, "prefix matching score".
    """
    n = token_ids.shape[1] // 2
    queries = torch.arange(n, 2 * n - 1)
    layers = [block.weights for block in model.trace(token_ids).heads if block]
    return torch.stack([each[:, :, queries, queries - n + 1].mean((0, -1)) for each in layers])

"""Induction: what a model writes when a stretch of random tokens comes a second time.

The tokens of the first time follow no rule, so none can be known in advance. Those of the second
time can all be known, by two steps: find the place where the present token stood before, and say
what came after it. (Where the second time runs around the end of the first one, the row's first
token follows instead.) Two heads do that together. In layer 0 a **previous-token head** tells each
place which token stood before it. In layer 1 an **induction head** asks with the present token for
a place that was told so, and copies the token that stands there. One layer cannot: a token's key
has to know its neighbour first.

Trained are two-layer GPT-2s. The second time begins at any place of the first one and runs around
its end, so the distance to look back is another in each row, and no fixed distance is right.

Sources: Elhage et al., "A mathematical framework for transformer circuits", 2021, "Induction
heads"; Olsson et al., "In-context learning and induction heads", 2022, whose score this is.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from course_utils.lectures.l06_gpt2_block.experiments.ablation import without_heads
from course_utils.lectures.l06_gpt2_block.experiments.sizes import drawn_for_width
from course_utils.models.gpt2 import GPT2, GPT2Config
from course_utils.positions import sinusoidal_positions
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train

__all__ = [
    "CONFIG",
    "LENGTH",
    "TOKENS",
    "Induction",
    "gain_without_each_head",
    "induction_model",
    "induction_scores",
    "previous_token_scores",
    "repeat_loss",
    "repeated_gain",
    "repeated_tokens",
    "shifted_repeats",
    "train_induction",
]

TOKENS, LENGTH = 16, 8
CONFIG = GPT2Config(TOKENS, 2 * LENGTH, 32, num_layers=2, num_heads=2, feedforward_width=32)
# Unrelated vectors for the places would have to learn first which of them are neighbours. Short
# waves at the start tell it, of 6 to 2 pi * 30 places. They are learned on from there.
WAVES, LONGEST_WAVE = 0.07, 30.0


def repeated_tokens(generator: torch.Generator, *, batch: int = 64) -> Int[Tensor, "B T"]:
    """Draw rows of random tokens in which the second half repeats the first.

    The tokens of one half all differ, so that each has one earlier occurrence and no other.

    >>> (row,) = repeated_tokens(torch.Generator().manual_seed(0), batch=1)
    >>> row.view(2, 8).tolist()
    [[12, 2, 3, 13, 14, 4, 10, 11], [12, 2, 3, 13, 14, 4, 10, 11]]
    """
    return _halves(generator, batch).repeat(1, 2)


def shifted_repeats(generator: torch.Generator, *, batch: int = 32) -> tuple[Int[Tensor, "B T"]]:
    """Draw what the models learn from: the second half begins anywhere, and runs around the end.

    >>> (rows,) = shifted_repeats(torch.Generator().manual_seed(1), batch=1)
    >>> rows.view(2, 8).tolist()
    [[4, 1, 13, 6, 2, 9, 15, 14], [15, 14, 4, 1, 13, 6, 2, 9]]
    """
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

    Those are the tokens that can be known. To know the first half's tokens and not which of them
    is next costs log 8 = 2.1; a guess among all costs log 16 = 2.8.

    Args:
        model: a GPT2, or a function that stands in for one.
        token_ids: an even number of tokens in a row, 4 or more.
    """
    return _token_losses(model, token_ids)[:, token_ids.shape[1] // 2 :].mean()


def _token_losses(model: Callable[[Tensor], Tensor], token_ids: Tensor) -> Tensor:
    """The loss of each token but the first, (B, T - 1): token t's stands at t - 1."""
    B, T = token_ids.shape
    logits = model(token_ids)[:, :-1]
    flat = cross_entropy(logits.flatten(0, 1), token_ids[:, 1:].flatten(), reduction="none")
    return flat.view(B, T - 1)


def induction_model(num_layers: int = CONFIG.num_layers) -> GPT2:
    """Return a small GPT2, whose weights suit its width and whose places begin as short waves.

    Args:
        num_layers: 2 learn induction; 1 is the control.
    """
    model = drawn_for_width(dataclasses.replace(CONFIG, num_layers=num_layers))
    waves = sinusoidal_positions(2 * LENGTH, CONFIG.width, base=LONGEST_WAVE)
    with torch.no_grad():
        model.positions.weight.copy_(WAVES * waves)
    return model


class Induction(NamedTuple):
    """Both parts of one training. Row r of each table is the run of the r-th seed.

    Attributes:
        copying: learns what can be known. Its scores are ``repeat_loss`` on plain repeats.
        settling: goes on with the same models, and counts all tokens; the scores are alike.
    """

    copying: Training
    settling: Training

    @property
    def models(self) -> list[nn.Module]:
        """The trained models, one for each seed."""
        return self.settling.models


def train_induction(
    *,
    seeds: Iterable[int] = (0, 1, 2),
    steps: int = 600,
    settling_steps: int = 80,
    num_layers: int = CONFIG.num_layers,
    every: int = 25,
) -> Induction:
    """Train ``induction_model`` to go on with repeats, then to know what it cannot know.

    First only the tokens count that can be known (``repeat_loss``), as when a task is learned from
    its answers. Such a model bets on a repeat also where there is none. So it goes on for some
    steps with the loss of all tokens, as language models have it, which costs the bets.

    Args:
        seeds: one run for each.
        steps: updates of the first part.
        settling_steps: updates of the second one.
        num_layers: as in ``induction_model``.
        every: number of steps between two scores.
    """
    seeds = tuple(seeds)
    unseen = repeated_tokens(torch.Generator().manual_seed(TEST_SEED))

    def learn(build: Callable[[], nn.Module], loss: Callable, steps: int, rate: float) -> Training:
        return train(
            build,
            shifted_repeats,
            loss,
            seeds=seeds,
            steps=steps,
            learning_rate=rate,
            evaluate=lambda model: repeat_loss(model, unseen),
            every=every,
            label="induction",
        )

    copying = learn(lambda: induction_model(num_layers), repeat_loss, steps, 0.005)
    copies = iter(copy.deepcopy(copying.models))
    settling = learn(
        lambda: next(copies), lambda *of: _token_losses(*of).mean(), settling_steps, 0.003
    )
    return Induction(copying, settling)


@torch.no_grad()
def repeated_gain(model: GPT2, token_ids: Int[Tensor, "B T"]) -> float:
    """Return what the repeat is worth: loss of the first half less loss of the second, in nats.

    The first token of a half is left out: of the first half it is given, of the second one it is
    where the repeat begins, which nothing announces.

    Args:
        model: any GPT2, trained on repeats or on text.
        token_ids: rows whose second half repeats the first one, as from ``repeated_tokens``.
    """
    losses = _token_losses(model, token_ids).mean(dim=0)  # (T - 1,)
    n = token_ids.shape[1] // 2
    return (losses[: n - 1].mean() - losses[n:].mean()).item()


def induction_scores(model: GPT2, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "layers H"]:
    """Return how much each head attends, from the second half, to the token after the earlier one.

    The weight of query t on key t - n + 1 where n is half of T, on average over the rows and over
    the queries n to 2n - 2: those whose next token has come before. A head that spreads its weight
    evenly scores about 1 / T.


    Source: Olsson et al., 2022, "prefix matching score".
    """
    n = token_ids.shape[1] // 2
    queries = torch.arange(n, 2 * n - 1)
    return _mean_weights(model, token_ids, queries, queries - n + 1)


def previous_token_scores(model: GPT2, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "layers H"]:
    """Return how much each head attends, within the first half, to the token one place back.

    On average over the rows and over the places 1 to n - 1. These are the places that an
    induction head attends to; what a head does in the second half does not matter to it.

    """
    queries = torch.arange(1, token_ids.shape[1] // 2)
    return _mean_weights(model, token_ids, queries, queries - 1)


@torch.no_grad()
def _mean_weights(model: GPT2, token_ids: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    layers = [block.weights for block in model.trace(token_ids).heads if block]
    return torch.stack([weights[:, :, queries, keys].mean(dim=(0, -1)) for weights in layers])


def gain_without_each_head(model: GPT2, token_ids: Int[Tensor, "B T"]) -> Float[Tensor, "layers H"]:
    """Return ``repeated_gain`` with one head silent at a time, in nats."""
    config = model.config
    return torch.tensor([
        [
            repeated_gain(without_heads(model, [(layer, head)]), token_ids)
            for head in range(config.num_heads)
        ]
        for layer in range(config.num_layers)
    ])  # fmt: skip

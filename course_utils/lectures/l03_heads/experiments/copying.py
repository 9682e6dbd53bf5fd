"""A task that one head cannot do: say at once what stood one place back, and what three back.

A head has one row of weights for each token, so what it brings is **one** mixture of values. Two
tokens in one mixture are a bag: which of them stood where is lost, unless something tells them
apart. Two heads bring two mixtures, and each answer gets its own.

Why one head fails. Let the weights depend on the places alone, w on the first token and 1 − w on
the second, and let the readout be linear. Where i, then j was read, token k scores
``w G[k, i] + (1 − w) G[k, j]`` as the second answer, plus what the two do not change. Ask that j
beats i for (i, j), and i beats j for (j, i). The sum of the two inequalities is
``(2w − 1) (G[i, j] + G[j, i] − G[i, i] − G[j, j]) > 0``. Ask that j beats k for (i, j), and k beats
j for (i, k): the sum gives ``G[j, j] + G[k, k] > G[j, k] + G[k, j]`` for any two tokens. For
w ≥ 1/2 both cannot hold; for w ≤ 1/2 the first answer has the same trouble. No width helps.

What does help is whatever breaks a condition: weights that depend on the tokens too (a wide head
learns some of that), a second layer, or a feed-forward network behind the head, which takes the
louder token of the mixture for the first.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_utils.checks import check_flag, check_ids, check_int, check_sequence
from course_utils.copying import BACK, LENGTH, TOKENS, copy_batch, copy_loss
from course_utils.layers import FeedForward, Heads, MultiHeadAttention
from course_utils.masks import causal_mask
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train

__all__ = [
    "CopyScores",
    "TwoPlaceCopier",
    "copy_scores",
    "train_with_heads",
    "weights_on_places",
]

FIRST = max(BACK)  # the first place that has both answers


class TwoPlaceCopier(nn.Module):
    """Attention on tokens and learned positions, and a linear readout for the two answers.

    The number of heads changes no parameter: each layer has 4 C² weights and 4 C biases.

    Args:
        num_heads: heads in each layer, H; they divide the width.
        width: model width, C.
        num_layers: number of attention layers.
        feedforward: whether a feed-forward network stands before the readout.

    Raises:
        TypeError: if a size is not an integer, or feedforward no flag.
        ValueError: if a size is less than 1, or the heads do not divide the width.

    >>> logits, heads = TwoPlaceCopier(num_heads=2)(copy_batch(torch.Generator(), batch=5)[0])
    >>> tuple(logits.shape), tuple(heads[0].weights.shape)
    ((5, 13, 2, 11), (5, 2, 16, 16))
    """

    def __init__(
        self, num_heads: int, *, width: int = 32, num_layers: int = 1, feedforward: bool = False
    ) -> None:
        check_int("num_layers", num_layers)
        check_flag("feedforward", feedforward)
        layers = [MultiHeadAttention(width, num_heads) for _ in range(num_layers)]
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, width)
        self.positions = nn.Parameter(torch.randn(LENGTH, width))
        self.layers = nn.ModuleList(layers)
        self.feedforward = FeedForward(width, 4 * width) if feedforward else None
        self.readout = nn.Linear(width, 2 * TOKENS)

    def forward(
        self, token_ids: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B asked 2 V"], tuple[Heads, ...]]:
        """Return the scores of both answers from the fourth place on, and what the heads did.

        Raises:
            TypeError: if the ids are not int64.
            ValueError: if they are not rows of 16, or one is not in 0 to 10.
        """
        _check_rows(token_ids)
        x, seen = self.tokens(token_ids) + self.positions, []  # (B, T, C)
        for layer in self.layers:
            mixed, heads = layer(x, may_attend=causal_mask(LENGTH))
            x = x + mixed
            seen.append(heads)
        if self.feedforward is not None:
            x = x + self.feedforward(x)
        return self.readout(x[:, FIRST:]).unflatten(-1, (2, TOKENS)), tuple(seen)


class CopyScores(NamedTuple):
    """Shares of places, 0 to 1.

    Attributes:
        both: where both answers are right.
        one_back: where the first is.
        three_back: where the second is.
        pair: where the two tokens are known, in whatever order: those with the most probability
            in both answers together. Only places with two different tokens count.
    """

    both: float
    one_back: float
    three_back: float
    pair: float


@torch.no_grad()
def copy_scores(
    model: nn.Module, token_ids: Int[Tensor, "B T"], answers: Int[Tensor, "B asked 2"]
) -> CopyScores:
    """Return how often the model's most probable answers are right.

    Raises:
        TypeError: if model is not a TwoPlaceCopier.
        TypeError, ValueError: if the ids or the answers are not as from ``copy_batch``.

    >>> scores = copy_scores(TwoPlaceCopier(2), *copy_batch(torch.Generator().manual_seed(0)))
    >>> scores.both < 0.2
    True
    """
    _check_model(model)
    _check_answers(answers, token_ids)
    logits, _ = model(token_ids)
    right = logits.argmax(dim=-1) == answers
    likely = logits.softmax(dim=-1).sum(dim=-2).topk(2).indices.sort(dim=-1).values
    known = (likely == answers.sort(dim=-1).values).all(dim=-1)
    differ = answers[..., 0] != answers[..., 1]
    both, one, three = (
        share.float().mean().item() for share in (right.all(dim=-1), *right.unbind(dim=-1))
    )
    return CopyScores(both, one, three, known[differ].float().mean().item())


@torch.no_grad()
def weights_on_places(
    model: TwoPlaceCopier, token_ids: Int[Tensor, "B T"]
) -> Float[Tensor, "layers H 2"]:
    """Return the weight that each head puts one place back, and three back, on average.

    Raises:
        TypeError: if model is not a TwoPlaceCopier.
        TypeError, ValueError: if the ids are not as from ``copy_batch``.

    >>> token_ids, _ = copy_batch(torch.Generator().manual_seed(0))
    >>> weights_on_places(TwoPlaceCopier(num_heads=4), token_ids).shape
    torch.Size([1, 4, 2])
    """
    _check_model(model)
    _, seen = model(token_ids)
    weights = torch.stack([heads.weights for heads in seen])  # (layers, B, H, T, T)
    at = torch.arange(FIRST, LENGTH)
    places = [weights[..., at, at - back].mean(dim=(1, -1)) for back in BACK]
    return torch.stack(places, dim=-1)


def train_with_heads(
    numbers_of_heads: Iterable[int] = (1, 2, 4),
    *,
    seeds: Iterable[int] = range(5),
    steps: int = 300,
    every: int = 20,
    learning_rate: float = 0.005,
    width: int = 32,
    num_layers: int = 1,
    feedforward: bool = False,
) -> dict[int, Training]:
    """Train a ``TwoPlaceCopier`` for each number of heads: the same parameters, data and steps.

    ``Training.scores`` holds the share of places at which both answers are right, on 256 sequences
    that are the same for all.

    Args:
        numbers_of_heads: one training for each; they divide the width.
        seeds: the runs of each training.
        steps: how many updates each run makes.
        every: number of steps between two scores.
        learning_rate: as in ``train``; a wide model wants a smaller one.
        width: as in ``TwoPlaceCopier``.
        num_layers: as in ``TwoPlaceCopier``.
        feedforward: as in ``TwoPlaceCopier``.

    Raises:
        TypeError, ValueError: as ``TwoPlaceCopier`` and ``train`` do, or if there is no number of
            heads.

    >>> done = train_with_heads([2], seeds=[0], steps=2)
    >>> done[2].losses.shape, done[2].steps_checked
    (torch.Size([1, 2]), (2,))
    """
    unseen = copy_batch(torch.Generator().manual_seed(TEST_SEED), batch=256)
    return {
        num_heads: train(
            lambda num_heads=num_heads: TwoPlaceCopier(
                num_heads, width=width, num_layers=num_layers, feedforward=feedforward
            ),
            copy_batch,
            copy_loss,
            seeds=seeds,
            steps=steps,
            learning_rate=learning_rate,
            evaluate=lambda model: copy_scores(model, *unseen).both,
            every=every,
            label=f"{num_heads} {'head' if num_heads == 1 else 'heads'}",
        )
        for num_heads in check_sequence("numbers_of_heads", numbers_of_heads)
    }


def _check_rows(token_ids: Tensor) -> None:
    __tracebackhide__ = True
    check_ids("token_ids", token_ids, "B T", TOKENS)
    if token_ids.shape[1] != LENGTH:
        raise ValueError(
            f"token_ids must be rows of {LENGTH} tokens, got shape {tuple(token_ids.shape)}"
        )


def _check_answers(answers: Tensor, token_ids: Tensor) -> None:
    __tracebackhide__ = True
    _check_rows(token_ids)
    check_ids("answers", answers, "B asked 2", TOKENS)
    expected = (len(token_ids), LENGTH - FIRST, 2)
    if answers.shape != expected:
        raise ValueError(f"answers must have shape {expected}, got shape {tuple(answers.shape)}")


def _check_model(model: object) -> None:
    __tracebackhide__ = True
    if not isinstance(model, TwoPlaceCopier):
        raise TypeError(
            f"model must be a TwoPlaceCopier, got {model!r:.40} ({type(model).__name__})"
        )

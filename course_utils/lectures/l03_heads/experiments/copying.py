"""A task for two heads: say at once what stood one place back, and what three back.

A head has one row of weights for each token, so what it brings is **one** mixture of values. Where
the weights depend on positions alone, one head with a linear readout cannot do it, at any width and
after any number of steps. Let it weigh the first token w, the second 1 − w. Where token i, then j
was read, token k scores ``w G[k, i] + (1 − w) G[k, j]`` as the second answer, plus what the two do
not change. Ask that j beats i for (i, j), and i beats j for (j, i). The sum of the two inequalities
is ``(2w − 1) (G[i, j] + G[j, i] − G[i, i] − G[j, j]) > 0``. Ask that j beats k for (i, j), and k
beats j for (i, k): the sum gives ``G[j, j] + G[k, k] > G[j, k] + G[k, j]`` for any two tokens. For
w ≥ 1/2 both cannot hold; for w ≤ 1/2 the first answer has the same trouble.

Where the weights may depend on the tokens too, w is no constant, and says something about them. One
head then learns the task, many times later than two.
"""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_utils.attention import attend
from course_utils.layers import FeedForward, MultiHeadAttention, merge_heads, split_heads
from course_utils.masks import causal_mask
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED, Training, train
from course_utils.two_heads_task import BACK, LENGTH, TOKENS, copy_batch, copy_loss

__all__ = ["CopyScores", "TwoPlaceCopier", "copy_scores", "train_copier"]

FIRST = max(BACK)  # the first place that has both answers


class TwoPlaceCopier(nn.Module):
    """Attention on tokens and learned positions, and a linear readout for the two answers.

    The number of heads changes no parameter: each layer has 4 C² weights and 4 C biases.

    Args:
        num_heads: heads in each layer, H.
        from_tokens: whether queries and keys see the tokens too, not positions alone.
        num_layers: number of attention layers.
        feedforward: whether a feed-forward network stands before the readout.
        width: model width, C.
    """

    layers: Iterable[MultiHeadAttention]

    def __init__(
        self,
        num_heads: int,
        *,
        from_tokens: bool = False,
        num_layers: int = 1,
        feedforward: bool = False,
        width: int = 32,
    ) -> None:
        super().__init__()
        self.from_tokens, self.num_heads = from_tokens, num_heads
        self.tokens = nn.Embedding(TOKENS, width)
        self.positions = nn.Parameter(torch.randn(LENGTH, width))
        layers = [MultiHeadAttention(width, num_heads) for _ in range(num_layers)]
        self.layers = nn.ModuleList(layers)  # type: ignore[assignment]
        self.feedforward = FeedForward(width, 4 * width) if feedforward else None
        self.readout = nn.Linear(width, 2 * TOKENS)

    def forward(
        self, token_ids: Int[Tensor, "B T"]
    ) -> tuple[Float[Tensor, "B asked 2 V"], list[Float[Tensor, "B H T T"]]]:
        """Return the scores of both answers from the fourth place on, and each layer's weights."""
        x, seen = self.tokens(token_ids) + self.positions, []  # (B, T, C)
        for layer in self.layers:
            matched = x if self.from_tokens else self.positions.expand_as(x)
            parts = layer.query(matched), layer.key(matched), layer.value(x)
            q, k, v = (split_heads(part, self.num_heads) for part in parts)
            mixed, weights = attend(q, k, v, may_attend=causal_mask(LENGTH))
            x = x + layer.output(merge_heads(mixed))
            seen.append(weights)
        if self.feedforward is not None:
            x = x + self.feedforward(x)
        return self.readout(x[:, FIRST:]).unflatten(-1, (2, TOKENS)), seen


class CopyScores(NamedTuple):
    """Shares of places, 0 to 1: where both answers are right, and where each of them is."""

    both: float
    one_back: float
    three_back: float


@torch.no_grad()
def copy_scores(
    model: nn.Module, token_ids: Int[Tensor, "B T"], answers: Int[Tensor, "B asked 2"]
) -> CopyScores:
    """Return how often the model's most probable answers are right."""
    right = model(token_ids)[0].argmax(dim=-1) == answers
    shares = right.all(dim=-1), *right.unbind(dim=-1)
    return CopyScores(*(share.float().mean().item() for share in shares))


def train_copier(
    num_heads: int, *, seeds: Iterable[int] = range(5), steps: int = 300, **model: bool | int
) -> Training:
    """Train a ``TwoPlaceCopier``; the data and the steps are the same for any number of heads.

    ``Training.scores`` holds the share of places at which both answers are right, on 256 sequences
    that are the same for all, every 20 steps.
    """
    unseen = copy_batch(torch.Generator().manual_seed(TEST_SEED), batch=256)
    return train(
        lambda: TwoPlaceCopier(num_heads, **model),  # type: ignore[arg-type]
        copy_batch,
        copy_loss,
        seeds=seeds,
        steps=steps,
        learning_rate=0.005,
        evaluate=lambda model: copy_scores(model, *unseen).both,
        every=20,
        label=f"{num_heads} {'head' if num_heads == 1 else 'heads'}",
    )

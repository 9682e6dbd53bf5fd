"""Mixture of depths: a router lets some tokens through a block, and the rest take the residual.

With a block ``y = block(x)``, whose own part is ``f(x) = block(x) - x``, and a router's weight
``r_t = w · x_t`` for each token, the K tokens of largest weight form a shorter sequence, in their
old order. Only they are computed, and they read one another alone:

- token t among the K: ``x_t + g_t f(kept)_t``
- any other: ``x_t``, untouched. Nothing was computed for it.

**The gate g.** Raposo et al. (2024, equation 1) take g = r, so that gradients reach the router: the
choice of the K has none. But then a layer that keeps every token is not the block it was made
from, and a weight that starts near 0 silences the block. Here ``gate="one"`` multiplies by 1, and
lets r have the gradient that it would have as a factor (a straight-through estimate): a token whose
share of f lowers the loss gets a larger weight. At capacity 1 the layer **is** the block, bit for
bit. ``gate="weight"`` is the paper's.

**The future.** Whether token t is among the K best of its sequence depends on the tokens after it.
That is fine for training, where they are known, and impossible for writing, where they are not
there yet. A small network that sees token t alone learns to foretell the choice (section 3.5, the
second of its ways), and ``routing="predicted"`` goes by it.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from course_utils.checks import (
    check_all_finite,
    check_choice,
    check_finite,
    check_instance,
    check_int,
    check_like,
    check_rank,
)
from course_utils.layers.cache import KVCache
from course_utils.layers.checks import check_tokens
from course_utils.shapes import Bool, Float, Int

__all__ = [
    "GATES",
    "ROUTINGS",
    "Kept",
    "MixtureOfDepths",
    "check_capacity",
    "kept_tokens",
    "predictor_accuracy",
    "predictor_loss",
]

GATES = ("one", "weight")
ROUTINGS = ("top_k", "predicted")


class Kept(NamedTuple):
    """What the router of one layer decided.

    Attributes:
        mask: True for each token that went through the block.
        weights: the router's weight of each token, r. No unit; only their order decides.
        predictions: the predictor's logit that the token is among the best: above 0 it says yes.
    """

    mask: Bool[Tensor, "B T"]
    weights: Float[Tensor, "B T"]
    predictions: Float[Tensor, "B T"]


class MixtureOfDepths(nn.Module):
    """A block that only part of the tokens go through, and that computes no more than that part.

    Args:
        block: takes (B, K, C) and returns the same shape, alone or first in a tuple. It has to be
            causal by itself, as ``GPT2Block`` is: the kept tokens keep their order, so its mask
            among them is right. What it knows of positions must be in x. A rotary block would
            count the kept tokens alone.
        capacity: the share of the tokens that it takes, above 0 and at most 1.
        width: model width, C.
        gate: ``"one"`` or ``"weight"``, as above.

    Raises:
        TypeError: if block is not a module, or a number of another type.
        ValueError: if the capacity is not above 0 and at most 1, the width not positive, or the
            gate unknown.

    Source: Raposo et al., "Mixture-of-depths: dynamically allocating compute in transformer-based
    language models", 2024, equation 1 and section 3.5.

    >>> from course_utils.models.gpt2 import GPT2Block, GPT2Config
    >>> block = GPT2Block(GPT2Config(width=12, num_heads=3))
    >>> x = torch.randn(2, 8, 12)
    >>> out, kept = MixtureOfDepths(block, capacity=0.25, width=12)(x)
    >>> kept.mask.sum(dim=1).tolist(), torch.equal(out[~kept.mask], x[~kept.mask])
    ([2, 2], True)
    >>> torch.equal(MixtureOfDepths(block, capacity=1, width=12)(x)[0], block(x)[0])
    True
    """

    def __init__(
        self, block: nn.Module, capacity: float | int, width: int, *, gate: str = "one"
    ) -> None:
        check_instance("block", block, nn.Module, "an nn.Module")
        capacity, width = check_capacity(capacity), check_int("width", width)
        check_choice("gate", gate, GATES)
        super().__init__()
        self.block, self.capacity, self.width, self.gate = block, capacity, width, gate
        self.router = nn.Linear(width, 1, bias=False)  # a bias would not change the order
        hidden = -(-width // 4)  # so it costs about a fiftieth of the block
        self.predictor = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: KVCache | None = None,
        *,
        routing: str = "top_k",
        weights: Float[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], Kept]:
        """Return the tokens, those kept changed by the block; and who was kept.

        Args:
            x: the tokens; with a cache the newest alone.
            cache: what earlier calls for the same sequence have left: the kept tokens' keys and
                values. It is changed.
            routing: ``"top_k"`` keeps ``kept_tokens(T, capacity)`` of each sequence, and has to
                see the whole of it. ``"predicted"`` asks the predictor, token by token; it keeps
                as many as that says, none or all included.
            weights: to choose by in the place of the router's: random ones, say, for a comparison.

        Raises:
            TypeError: for a dtype other than the weights', or what the block refuses.
            ValueError: for a wrong rank or width, no sequence, no token, a number that is NaN or
                infinite, an unknown routing, weights of another shape, a cache with ``"top_k"`` or
                with more than one sequence, or what the block refuses.
        """
        self._check(x, cache, routing, weights)
        # Through gate "one" the router's gradient is a mere estimate, which x must not follow.
        read = x if self.gate == "weight" else x.detach()
        ranks: Tensor = self.router(read).squeeze(-1) if weights is None else weights  # (B, T)
        predictions = self.predictor(x.detach()).squeeze(-1)  # it learns, and x does not notice
        if routing == "top_k":
            best = ranks.topk(kept_tokens(x.shape[1], self.capacity), dim=1).indices
            index = best.sort(dim=1).values  # (B, K), in the order of the sequence
            mask = torch.zeros_like(ranks, dtype=torch.bool).scatter(1, index, True)
            out = self._through_block(x, index, ranks, None)
        else:
            mask = predictions > 0
            counts, out = mask.sum(dim=1), x
            for count in counts.unique().tolist():  # rows that keep equally many go together
                (rows,) = torch.where(counts == count)
                index = mask[rows].nonzero()[:, 1].view(len(rows), count)
                changed = self._through_block(x[rows], index, ranks[rows], cache)
                out = out.index_copy(0, rows, changed)
        return out, Kept(mask, ranks, predictions)

    def _through_block(
        self,
        x: Float[Tensor, "B T C"],
        index: Int[Tensor, "B K"],
        weights: Float[Tensor, "B T"],
        cache: KVCache | None,
    ) -> Float[Tensor, "B T C"]:
        if index.shape[1] == 0:
            return x
        rows = index.unsqueeze(-1).expand(-1, -1, self.width)  # (B, K, C)
        kept = x.gather(1, rows)
        out = self.block(kept) if cache is None else self.block(kept, cache)
        out = out[0] if isinstance(out, tuple) else out
        r = weights.gather(1, index).unsqueeze(-1)  # (B, K, 1)
        if self.gate == "weight":
            out = kept + r * (out - kept)
        else:  # r - r is 0: it adds nothing, except its gradient
            out = out + (r - r.detach()) * (out - kept)
        return x.scatter(1, rows, out)

    def _check(
        self, x: Tensor, cache: KVCache | None, routing: str, weights: Tensor | None
    ) -> None:
        __tracebackhide__ = True
        check_tokens("x", x, self.router.weight, self.width)
        if x.shape[0] == 0:
            raise ValueError(f"x must not be empty, got shape {tuple(x.shape)}")
        # NaN has no rank among weights.
        check_all_finite("x", x)
        check_choice("routing", routing, ROUTINGS)
        if weights is not None:
            check_rank("weights", weights, "B T")
            check_like("weights", weights, "x", x)
            check_all_finite("weights", weights)
            if weights.shape != x.shape[:2]:
                raise ValueError(
                    f"weights must be one for each token of x {tuple(x.shape[:2])}, "
                    f"got shape {tuple(weights.shape)}"
                )
        if cache is not None and routing != "predicted":
            raise ValueError(
                "routing must be 'predicted' with a cache: the best of a sequence are not known "
                f"before its end, got {routing!r}"
            )
        if cache is not None and x.shape[0] > 1:
            raise ValueError(
                "x must hold one sequence with a cache, since each keeps other tokens, "
                f"got {x.shape[0]}"
            )


def check_capacity(capacity: float | int) -> float:
    """Return the capacity if it is a share of the tokens: above 0 and at most 1.

    Raises:
        TypeError: if it is not a real number.
        ValueError: if it is out of range.

    >>> check_capacity(0)
    Traceback (most recent call last):
    ValueError: capacity must be above 0 and at most 1, got 0.0
    """
    __tracebackhide__ = True
    capacity = check_finite("capacity", capacity)
    if not 0 < capacity <= 1:
        raise ValueError(f"capacity must be above 0 and at most 1, got {capacity}")
    return capacity


def kept_tokens(length: int, capacity: float | int) -> int:
    """Return how many of T tokens a layer keeps, K: ``capacity * T`` rounded up, so never none.

    Args:
        length: number of tokens, T.
        capacity: the share that is kept.

    Raises:
        TypeError, ValueError: if the length is not a positive integer, or the capacity not above 0
            and at most 1.

    >>> kept_tokens(16, 0.25), kept_tokens(7, 0.5), kept_tokens(10, 0.7), kept_tokens(3, 0.01)
    (4, 4, 7, 1)
    """
    length, capacity = check_int("length", length), check_capacity(capacity)
    # Rounded to nine digits first: a product such as 0.07 * 100 lies a little above its integer.
    return max(1, math.ceil(round(capacity * length, 9)))


def predictor_loss(kept: Kept) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, in nats, of foretelling for each token whether it is kept.

    Its gradient reaches the predictor alone. A coin costs log 2 = 0.693.

    Args:
        kept: from a pass with ``routing="top_k"``, whose choice is the truth to learn.

    Raises:
        TypeError: if kept is not a Kept.

    Source: Raposo et al., 2024, section 3.5.

    >>> mask, unsure = torch.tensor([[True, False]]), torch.zeros(1, 2)
    >>> round(predictor_loss(Kept(mask, unsure, unsure)).item(), 3)
    0.693
    """
    check_instance("kept", kept, Kept, "a Kept")
    target = kept.mask.to(kept.predictions.dtype)
    return binary_cross_entropy_with_logits(kept.predictions, target)


def predictor_accuracy(kept: Kept) -> float:
    """Return the share of tokens for which the predictor says what the router did, 0 to 1.

    One that knows nothing can still get max(capacity, 1 - capacity), by the same answer for all.

    Args:
        kept: from a pass with ``routing="top_k"``.

    Raises:
        TypeError: if kept is not a Kept.

    >>> mask, says = torch.tensor([[True, False]]), torch.tensor([[3.0, 2.0]])
    >>> predictor_accuracy(Kept(mask, says, says))
    0.5
    """
    check_instance("kept", kept, Kept, "a Kept")
    return ((kept.predictions > 0) == kept.mask).float().mean().item()

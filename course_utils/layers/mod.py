"""Mixture of depths: a router sends some tokens through a block, and the others skip it.

Take a block ``y = block(x)`` with the residual part ``f(x) = block(x) - x``, and a router weight
``r_t = w · x_t`` for each token. The K tokens with the largest weights form a shorter sequence, in
their original order. Only they are computed, and they attend only to each other:

- token t among the K: ``x_t + g_t f(kept)_t``
- every other token: ``x_t``, unchanged. Nothing is computed for it.

**The gate g.** The choice of the K has no gradient. Raposo et al. (2024, equation 1) take g = r, so
that the router gets one. But then a layer that keeps every token differs from the original block,
and a weight near 0 switches the block off. Here ``gate="one"`` multiplies by 1, and gives r the
gradient that it would have as a factor (a straight-through estimate). With capacity 1 the layer
**is** the block, bit for bit. ``gate="weight"`` is the paper's.

**The future.** Whether token t is among the K best depends on the tokens after it. They are known
in training, but not when generating. So a small network that sees only token t learns to predict
the routing (section 3.5, its second method), and ``routing="predicted"`` uses it.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from course_utils.checks import check_choice, check_int
from course_utils.formats import round_up
from course_utils.layers.cache import KVCache, whole_step
from course_utils.shapes import Bool, Float, Int

__all__ = [
    "GATES",
    "ROUTINGS",
    "MixtureOfDepths",
    "RoutingDecision",
    "kept_tokens",
    "predictor_loss",
]

GATES = ("one", "weight")
ROUTINGS = ("top_k", "predicted")


class RoutingDecision(NamedTuple):
    """What the router of one layer decided.

    Attributes:
        mask: True for each token that went through the block.
        weights: the router's weight of each token, r; only their order matters.
        predictions: the predictor's logit that the token is kept; above 0 means yes.
    """

    mask: Bool[Tensor, "B T"]
    weights: Float[Tensor, "B T"]
    predictions: Float[Tensor, "B T"]


class MixtureOfDepths(nn.Module):
    """A block that computes only some of the tokens.

    Args:
        block: takes (B, K, C) and returns the same shape, by itself or first in a tuple. It must be
            causal, as ``GPT2Block`` is: the kept tokens keep their order, so its mask is right for
            them. Positions must be part of x: a rotary block would count only the kept tokens.
        capacity: the share of the tokens that it computes, above 0 and at most 1.
        width: model width, C.
        gate: ``"one"`` or ``"weight"``, as above.

    Raises:
        ValueError: if the gate is unknown, or at the first call the capacity not in (0, 1].

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
        check_choice("gate", gate, GATES)
        width = check_int("width", width)
        super().__init__()
        self.block, self.capacity, self.width, self.gate = block, capacity, width, gate
        self.router = nn.Linear(width, 1, bias=False)  # a bias would not change the order
        hidden = -(-width // 4)  # about a fiftieth of the block's cost
        self.predictor = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    @whole_step
    def forward(
        self,
        x: Float[Tensor, "B T C"],
        cache: KVCache | None = None,
        *,
        routing: str = "top_k",
        weights: Float[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], RoutingDecision]:
        """Return all tokens, of which the block has changed those kept, and the routing decision.

        Args:
            x: the tokens; with a cache only the newest.
            cache: keys and values of the kept tokens before x, of one sequence. It is changed.
            routing: ``"top_k"`` keeps ``kept_tokens(T, capacity)`` of each whole sequence.
                ``"predicted"`` asks the predictor, token by token, and keeps any number of them.
            weights: used instead of the router's weights, for example random ones to compare with.

        Raises:
            ValueError: if the routing is unknown, or a cache comes with "top_k" or two sequences.
        """
        self._check(x, cache, routing)
        # With gate "one" the router's gradient is only an estimate, which must not reach x.
        read = x if self.gate == "weight" else x.detach()
        ranks: Tensor = self.router(read).squeeze(-1) if weights is None else weights  # (B, T)
        predictions = self.predictor(x.detach()).squeeze(-1)  # its loss must not change x
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
        return out, RoutingDecision(mask, ranks, predictions)

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
        # Under autocast the block, or the weights given, may have another dtype than x.
        return x.scatter(1, rows, out.to(x.dtype))

    def _check(self, x: Tensor, cache: KVCache | None, routing: str) -> None:
        __tracebackhide__ = True
        check_choice("routing", routing, ROUTINGS)
        if cache is not None and routing != "predicted":
            raise ValueError(
                "routing must be 'predicted' with a cache: the best of a sequence are not known "
                f"before its end, got {routing!r}"
            )
        if cache is not None and x.shape[0] > 1:
            raise ValueError(
                f"x must be one sequence with a cache: each keeps other tokens, got {x.shape[0]}"
            )


def kept_tokens(length: int, capacity: float | int) -> int:
    """Return how many of T tokens a layer keeps, K: ``capacity * T`` rounded up.

    Args:
        length: number of tokens, T.
        capacity: the share that is kept.

    Raises:
        ValueError: if the capacity is not above 0 and at most 1.

    >>> kept_tokens(16, 0.25), kept_tokens(7, 0.5), kept_tokens(10, 0.7), kept_tokens(3, 0.01)
    (4, 4, 7, 1)
    """
    if not 0 < capacity <= 1:
        raise ValueError(f"capacity must be above 0 and at most 1, got {capacity}")
    return max(1, round_up(capacity * length))


def predictor_loss(decision: RoutingDecision) -> Float[Tensor, ""]:
    """Return the mean cross-entropy, in nats, of predicting for each token whether it is kept.

    Its gradient reaches only the predictor. A coin costs log 2 = 0.693.

    Args:
        decision: from a pass with ``routing="top_k"``, whose choice is the target.

    Source: Raposo et al., 2024, section 3.5.

    >>> mask, unsure = torch.tensor([[True, False]]), torch.zeros(1, 2)
    >>> round(predictor_loss(RoutingDecision(mask, unsure, unsure)).item(), 3)
    0.693
    """
    target = decision.mask.to(decision.predictions.dtype)
    return binary_cross_entropy_with_logits(decision.predictions, target)

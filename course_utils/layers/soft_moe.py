"""A soft mixture of experts: every expert computes weighted means of all tokens.

Each expert has a few slots. A slot is a weighted mean of all tokens of a sequence. The expert
computes its slots, and each token gets a weighted mean of all results. No token is dropped, the
load is always even, and everything has a gradient. The price: a slot depends on the whole sequence,
including later tokens, so a model that generates text cannot use the layer.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_utils.checks import check_int
from course_utils.layers.moe import make_expert
from course_utils.shapes import Float

__all__ = ["SoftMixtureOfExperts", "SoftRouting"]


class SoftRouting(NamedTuple):
    """The two tables of weights of each sequence. The slots of one expert are adjacent.

    Attributes:
        dispatch: the share of each token in each slot; sums to 1 over the tokens.
        combine: the share of each slot in each token's output; sums to 1 over the slots.
    """

    dispatch: Float[Tensor, "B T slots"]
    combine: Float[Tensor, "B T slots"]


class SoftMixtureOfExperts(nn.Module):
    """``out = combine @ experts(dispatch^T @ x)``, both weights from the scores ``x Phi``.

    - ``dispatch = softmax over tokens of x Phi``, (T, slots)
    - slot s is ``sum_t dispatch[t, s] x[t]``; expert i computes its own slots
    - ``combine = softmax over slots of x Phi``, and token t gets ``sum_s combine[t, s] y[s]``

    The cost depends on the number of slots, not of tokens: T slots in all cost as much as k = 1.
    Unlike the paper in wide models, the scores are not normalised.

    Args:
        width: model width, C.
        hidden: width inside each expert, F.
        num_experts: number of experts.
        slots: slots of each expert.
        activation: as in ``MixtureOfExperts``.

    Attributes:
        phi: the slots' vectors (C, num_experts * slots), learned.

    Source: Puigcerver et al., "From sparse to soft mixtures of experts", 2023, equations 1 to 3.

    >>> layer = SoftMixtureOfExperts(width=6, hidden=24, num_experts=5, slots=2)
    >>> out, routing = layer(torch.randn(3, 7, 6))
    >>> tuple(out.shape), tuple(routing.dispatch.shape)
    ((3, 7, 6), (3, 7, 10))
    """

    def __init__(
        self, width: int, hidden: int, num_experts: int, slots: int, *, activation: str = "gelu"
    ) -> None:
        width, slots = check_int("width", width), check_int("slots", slots)
        num_experts = check_int("num_experts", num_experts)
        experts = [make_expert(width, hidden, activation) for _ in range(num_experts)]
        super().__init__()
        self.slots = slots
        self.experts = nn.ModuleList(experts)
        self.phi = nn.Parameter(torch.randn(width, num_experts * slots) / width**0.5)

    def forward(self, x: Float[Tensor, "B T C"]) -> tuple[Float[Tensor, "B T C"], SoftRouting]:
        """Return the tokens' new vectors, and both tables of weights."""
        scores = x @ self.phi  # (B, T, slots)
        routing = SoftRouting(dispatch=scores.softmax(dim=1), combine=scores.softmax(dim=2))
        inputs = (routing.dispatch.transpose(1, 2) @ x).split(self.slots, dim=1)
        outputs = [expert(own) for expert, own in zip(self.experts, inputs, strict=True)]
        return routing.combine @ torch.cat(outputs, dim=1), routing

"""A soft mixture of experts: no token chooses, every expert reads blends of all tokens.

Each expert has a few slots. A slot holds a weighted mean of all tokens of a sequence, the expert
computes its slots, and each token leaves with a weighted mean of all slots. Nothing is dropped, no
load can be uneven, and everything has a gradient. The price: a slot reads the whole sequence, later
tokens included, so the layer can not stand in a model that writes from left to right.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from course_utils.checks import check_int
from course_utils.layers.checks import check_tokens
from course_utils.layers.moe import make_expert
from course_utils.shapes import Float

__all__ = ["SoftMixtureOfExperts", "SoftRouting"]


class SoftRouting(NamedTuple):
    """Who reads what, and who gets what, in each sequence. Slots are counted expert by expert.

    Attributes:
        dispatch: how much of each token goes into each slot; over the tokens it sums to 1.
        combine: how much of each slot each token gets; over the slots it sums to 1.
    """

    dispatch: Float[Tensor, "B T slots"]
    combine: Float[Tensor, "B T slots"]


class SoftMixtureOfExperts(nn.Module):
    """``out = combine @ experts(dispatch^T @ x)``, both weights from the scores ``x Phi``.

    - ``dispatch = softmax over tokens of x Phi``, (T, slots)
    - slot s holds ``sum_t dispatch[t, s] x[t]``; expert i computes its own slots
    - ``combine = softmax over slots of x Phi``, and token t gets ``sum_s combine[t, s] y[s]``

    What it costs is set by the slots, not by the tokens: as many passes through an expert as there
    are slots. T slots in all cost as much as k = 1. The scores are not normalised here, as the
    paper does in wide models.

    Args:
        width: model width, C.
        hidden: width inside each expert, F.
        num_experts: number of experts.
        slots: slots of each expert.
        activation: as in ``MixtureOfExperts``.

    Attributes:
        phi: the slots' vectors (C, num_experts * slots), learned.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, or the activation unknown.

    Source: Puigcerver et al., "From sparse to soft mixtures of experts", 2023, equations 1 to 3.

    >>> layer = SoftMixtureOfExperts(width=6, hidden=24, num_experts=5, slots=2)
    >>> out, routing = layer(torch.randn(3, 7, 6))
    >>> tuple(out.shape), tuple(routing.dispatch.shape)
    ((3, 7, 6), (3, 7, 10))
    """

    def __init__(
        self, width: int, hidden: int, num_experts: int, slots: int, *, activation: str = "gelu"
    ) -> None:
        num_experts, slots = check_int("num_experts", num_experts), check_int("slots", slots)
        experts = [make_expert(width, hidden, activation) for _ in range(num_experts)]
        super().__init__()
        self.width, self.slots = width, slots
        self.experts = nn.ModuleList(experts)
        self.phi = nn.Parameter(torch.randn(width, num_experts * slots) / width**0.5)

    def forward(self, x: Float[Tensor, "B T C"]) -> tuple[Float[Tensor, "B T C"], SoftRouting]:
        """Return the tokens' new vectors, and both tables of weights.

        Raises:
            TypeError: if x has another dtype than the weights.
            ValueError: for a wrong rank, width or device, or no token.
        """
        check_tokens("x", x, self.phi, self.width)
        scores = x @ self.phi  # (B, T, slots)
        routing = SoftRouting(dispatch=scores.softmax(dim=1), combine=scores.softmax(dim=2))
        inputs = (routing.dispatch.transpose(1, 2) @ x).split(self.slots, dim=1)
        outputs = [expert(own) for expert, own in zip(self.experts, inputs, strict=True)]
        return routing.combine @ torch.cat(outputs, dim=1), routing

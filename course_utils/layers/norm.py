"""Layer normalisation, written out."""

import torch
from torch import Tensor, nn

from course_utils.checks import check_int
from course_utils.shapes import Float

__all__ = ["LayerNorm"]


class LayerNorm(nn.Module):
    """Bring each vector to mean 0 and variance 1, then scale and shift each coordinate.

    ``weight * (x - mean) / sqrt(variance + eps) + bias``, with the mean and the variance of one
    vector. The variance divides by C, not C - 1, and eps is inside the root. No other token of the
    sequence or the batch matters. 16-bit inputs are computed in 32 bits: the square of 300 is too
    large for float16.

    Args:
        width: size of the vectors, C.
        eps: prevents a division by zero where all numbers of a vector are equal.

    Source: Ba, Kiros, Hinton, "Layer normalization", 2016, equations 3 and 4.

    >>> LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        width = check_int("width", width)
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Return the normalised vectors."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        centred = wide - wide.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        out = self.weight * centred / (variance + self.eps).sqrt() + self.bias
        return out.to(x.dtype)

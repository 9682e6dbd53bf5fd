"""Layer normalisation, written out."""

import torch
from torch import Tensor, nn

from course_utils.checks import check_int, check_positive
from course_utils.layers.checks import check_vectors
from course_utils.shapes import Float

__all__ = ["LayerNorm"]


class LayerNorm(nn.Module):
    """Bring each vector to mean 0 and variance 1, then scale and shift each coordinate.

    ``weight * (x - mean) / sqrt(variance + eps) + bias``, with the mean and the variance of the
    one vector. The variance divides by C, not C - 1, and eps stands inside the root. Each token is
    treated alone: no other token of the sequence or the batch has a part in it. Numbers of 16 bits
    are computed with in 32: the square of 300 is too large for float16.

    Args:
        width: size of the vectors, C.
        eps: keeps a vector of equal numbers from a division by zero.

    Raises:
        TypeError, ValueError: if width is not a positive integer, or eps not finite and positive.

    Source: Ba, Kiros, Hinton, "Layer normalization", 2016, equations 3 and 4.

    >>> LayerNorm(4)(torch.tensor([[1.0, 2.0, 3.0, 4.0]])).detach()
    tensor([[-1.3416, -0.4472,  0.4472,  1.3416]])
    """

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        width = check_int("width", width)
        check_positive("eps", eps)
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Float[Tensor, "*batch C"]) -> Float[Tensor, "*batch C"]:
        """Return the normalised vectors.

        Raises:
            TypeError: if x has another dtype than the weights.
            ValueError: if x has another width or device.
        """
        check_vectors("x", x, self.weight, len(self.weight))
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        centred = wide - wide.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        out = self.weight * centred / (variance + self.eps).sqrt() + self.bias
        return out.to(x.dtype)

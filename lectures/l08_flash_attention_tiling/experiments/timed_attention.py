"""Attention on a CPU in forms that differ in one thing: fresh memory, tiles, who multiplies."""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.kernels import flash_attend
from course_utils.shapes import Float


def attend_in_place(
    q: Float[Tensor, "B H T D"], k: Float[Tensor, "B H S D"]
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return the naive form for such inputs: every call writes the whole matrix into one memory.

    >>> q, k, v = torch.randn(3, 1, 2, 5, 4)
    >>> attention = attend_in_place(q, k)
    >>> expected = torch.softmax(q @ k.mT / 2, dim=-1) @ v
    >>> torch.allclose(attention(q, k, v), expected, atol=1e-6)
    True
    """
    scores, out = q.new_empty(*q.shape[:3], k.shape[2]), torch.empty_like(q)

    def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        torch.matmul(q, k.mT, out=scores).mul_(q.shape[-1] ** -0.5)
        scores.sub_(scores.amax(dim=-1, keepdim=True)).exp_()
        return torch.matmul(scores, v, out=out).div_(scores.sum(dim=-1, keepdim=True))

    return attention


def tiles_with_torch_products(q: Tensor, k: Tensor, v: Tensor) -> Tensor | tuple[Tensor, Tensor]:
    """``flash_attend`` with torch's own matrix products, as the naive form has them.

    Where oneDNN multiplies tiles faster, ``flash_attend`` takes it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of a setting that only Intel's GPUs have
        with torch.backends.mkldnn.flags(enabled=False):
            return flash_attend(q, k, v)

"""Splitting each token's vector into heads, and merging the heads again."""

from typing import NamedTuple

from torch import Tensor

from course_utils.checks import check_divides, check_rank
from course_utils.shapes import Float

__all__ = ["AttentionTrace", "merge_heads", "split_heads"]


class AttentionTrace(NamedTuple):
    """What the heads of one layer did.

    Attributes:
        weights: the attention weights. A row sums to 1, or is zero if nothing may be attended to.
        queries: the queries before the scale, after any rotation by position.
        keys: the keys after any rotation, including those from the cache.
    """

    weights: Float[Tensor, "B H T S"]
    queries: Float[Tensor, "B H T D"]
    keys: Float[Tensor, "B H S D"]


def split_heads(x: Float[Tensor, "B T C"], num_heads: int) -> Float[Tensor, "B H T D"]:
    """Split each token's vector into one piece of D = C / H numbers for each head.

    ``out[b, h, t, d] = x[b, t, h * D + d]``. The axis of heads comes before that of tokens, so that
    each head attends by itself. ``x.view(B, H, T, D)`` has the same shape, but mixes the tokens.

    Args:
        x: the tokens' vectors.
        num_heads: number of heads, H; it divides C.

    Returns:
        A view of x: nothing is copied.

    Raises:
        ValueError: if x has not three axes, or the heads do not divide C.

    Source: Vaswani et al., "Attention is all you need", 2017, section 3.2.2.

    >>> import torch
    >>> split_heads(torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]]), num_heads=2)
    tensor([[[[1., 2.],
              [5., 6.]],
    <BLANKLINE>
             [[3., 4.],
              [7., 8.]]]])
    """
    check_rank("x", x, "B T C")
    check_divides("num_heads", num_heads, "the width of x, C", x.shape[-1])
    B, T, C = x.shape
    return x.view(B, T, num_heads, C // num_heads).transpose(1, 2)


def merge_heads(x: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T C"]:
    """Join the heads' pieces into one vector per token: the inverse of ``split_heads``.

    Args:
        x: one vector per head and token.

    >>> import torch
    >>> x = torch.randn(2, 5, 12)
    >>> torch.equal(merge_heads(split_heads(x, num_heads=3)), x)
    True
    """
    return x.transpose(1, 2).flatten(2)

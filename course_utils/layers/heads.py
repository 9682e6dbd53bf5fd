"""One vector per token, or one short vector per token and head: there and back."""

from typing import NamedTuple

from torch import Tensor

from course_utils.checks import check_divides, check_floating, check_not_empty, check_rank
from course_utils.shapes import Float

__all__ = ["AttentionTrace", "merge_heads", "split_heads"]


class AttentionTrace(NamedTuple):
    """What the heads of one layer did.

    Attributes:
        weights: the attention weights. A row sums to 1, or is zero if nothing may be attended to.
        queries: the queries as they met the keys: turned by their position if the layer turns
            them, before the scale.
        keys: the keys likewise, those from the cache included.
    """

    weights: Float[Tensor, "B H T S"]
    queries: Float[Tensor, "B H T D"]
    keys: Float[Tensor, "B H S D"]


def split_heads(x: Float[Tensor, "B T C"], num_heads: int) -> Float[Tensor, "B H T D"]:
    """Cut each token's vector into one piece of D = C / H numbers for each head.

    ``out[b, h, t, d] = x[b, t, h * D + d]``. Heads come before tokens, so that each head attends
    as if it were alone. A plain ``x.view(B, H, T, D)`` has the same shape, and mixes the tokens.

    Args:
        x: the tokens' vectors.
        num_heads: number of heads, H; it divides C.

    Returns:
        A view of x: nothing is copied.

    Raises:
        TypeError: if x is not a floating-point tensor, or num_heads not an integer.
        ValueError: if x has a wrong rank or is empty, or the heads do not divide C.

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
    check_floating("x", x)
    check_not_empty("x", x, axes=2)
    check_divides("num_heads", num_heads, "the width of x, C", x.shape[-1])
    B, T, C = x.shape
    return x.view(B, T, num_heads, C // num_heads).transpose(1, 2)


def merge_heads(x: Float[Tensor, "B H T D"]) -> Float[Tensor, "B T C"]:
    """Join the heads' pieces to one vector per token again: the inverse of ``split_heads``.

    Args:
        x: one vector per head and token.

    Raises:
        TypeError: if x is not a floating-point tensor.
        ValueError: if x has a wrong rank or is empty.

    >>> import torch
    >>> x = torch.randn(2, 5, 12)
    >>> torch.equal(merge_heads(split_heads(x, num_heads=3)), x)
    True
    """
    check_rank("x", x, "B H T D")
    check_floating("x", x)
    check_not_empty("x", x, axes=3)
    return x.transpose(1, 2).flatten(2)

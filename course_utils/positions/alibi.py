"""ALiBi: attention with linear biases. The farther a key, the lower its score."""

import torch
from torch import Tensor

from course_utils.checks import check_int
from course_utils.shapes import Float

__all__ = ["alibi_bias", "alibi_slopes"]


def alibi_slopes(H: int) -> Float[Tensor, " H"]:
    """Return the slope of each head: how much a score falls for each token of distance.

    For H a power of two ``slope_h = 2^(-8 h / H)`` with h = 1 to H: a geometric sequence down to
    1/256, so some heads attend to near tokens and some to far ones. For another H, the slopes of
    the next lower power of two come first, then every second slope of the next higher one.

    Args:
        H: number of heads.

    Returns:
        The slopes, in torch's default dtype.

    Source: Press et al., "Train short, test long", 2022, section 3, and its code for other H.

    >>> alibi_slopes(3).tolist()
    [0.0625, 0.00390625, 0.25]
    """
    H = check_int("H", H)
    lower = 2 ** (H.bit_length() - 1)  # the largest power of two that is at most H
    slopes = [2 ** (-8 * h / lower) for h in range(1, lower + 1)]
    between = [2 ** (-4 * h / lower) for h in range(1, 2 * lower + 1, 2)]
    return torch.tensor([*slopes, *between[: H - lower]])


def alibi_bias(H: int, T: int, S: int) -> Float[Tensor, "H T S"]:
    """Return what ALiBi adds to the scores: ``-slope * distance``, for each head.

    As in ``causal_mask``, the last query has the position of the last key: query t is at S - T + t,
    and its distance to key s is ``|S - T + t - s|``. ALiBi was made for causal models: give
    ``attend`` the causal mask as well.

    Args:
        H: number of heads.
        T: number of queries.
        S: number of keys.

    Returns:
        The bias, in torch's default dtype; ``.to(q)`` brings it to the dtype and device of q.

    Source: Press et al., "Train short, test long", 2022, section 3.

    >>> print(alibi_bias(1, 2, 3) * 256)
    tensor([[[-1., -0., -1.],
             [-2., -1., -0.]]])
    """
    slopes = alibi_slopes(H)
    queries = torch.arange(S - T, S)[:, None]
    distance = (queries - torch.arange(S)).abs()  # (T, S)
    return -slopes[:, None, None] * distance

"""How low the rank of a matrix nearly is: singular values, and the nearest matrix of rank r.

Numbers that were measured or trained give a matrix of full rank always. What can be asked is how
unequal its singular values are: whether a few of them hold most of it.
"""

import torch
from torch import Tensor

from course_utils.attention import effective_tokens
from course_utils.checks import check_int, check_values
from course_utils.shapes import Float

__all__ = ["effective_rank", "energy_share", "nearest_of_rank"]


def effective_rank(matrix: Float[Tensor, "*batch rows columns"]) -> Float[Tensor, "*batch"]:
    """Return how many directions a matrix effectively has: ``exp(-sum of p ln p)``.

    p are the shares of the singular values in their sum. A matrix with n equal ones and no others
    has n, one with a single one has 1, the zero matrix 0.

    Args:
        matrix: finite numbers.

    Raises:
        TypeError: if it is no floating-point tensor.
        ValueError: if it is empty, not finite, or has no two axes.

    Source: Roy, Vetterli, "The effective rank", 2007, definition 1.

    >>> print(f"{effective_rank(torch.eye(7)):.3f} {effective_rank(torch.ones(7, 5)):.3f}")
    7.000 1.000
    """
    check_values("matrix", matrix, "rows columns", exactly=False)
    values = torch.linalg.svdvals(matrix)
    total = values.sum(dim=-1, keepdim=True)
    return effective_tokens(values / total.where(total > 0, 1.0))


def energy_share(
    matrix: Float[Tensor, "*batch rows columns"], rank: int
) -> Float[Tensor, "*batch"]:
    """Return which share of a matrix its nearest one of rank r holds, in squares: 0 to 1.

    ``sum of the r largest s^2 / sum of all s^2`` with the singular values s. It is 1 minus the
    squared distance of the two, as a share of the squared norm. The zero matrix has nothing to
    hold: 1.

    Args:
        matrix: finite numbers.
        rank: r, from 1 to the smaller of the matrix's sizes.

    Raises:
        TypeError: if matrix is no floating-point tensor, or rank no integer.
        ValueError: if it is empty, not finite, or has no two axes, or the rank is out of range.

    Source: Eckart, Young, "The approximation of one matrix by another of lower rank", 1936.

    >>> print(f"{energy_share(torch.eye(7), rank=2):.3f} {energy_share(torch.ones(7, 5), 2):.3f}")
    0.286 1.000
    """
    _check(matrix, rank)
    energies = torch.linalg.svdvals(matrix).square()
    total = energies.sum(dim=-1)
    share = energies[..., :rank].sum(dim=-1) / total.where(total > 0, 1.0)
    return share.where(total > 0, 1.0)


def nearest_of_rank(
    matrix: Float[Tensor, "*batch rows columns"], rank: int
) -> Float[Tensor, "*batch rows columns"]:
    """Return the matrix of rank r with the least squared distance to this one.

    The singular values beyond the r largest are set to 0.

    Args:
        matrix: finite numbers.
        rank: r, from 1 to the smaller of the matrix's sizes.

    Raises:
        TypeError, ValueError: as ``energy_share`` does.

    Source: Eckart, Young, 1936.

    >>> nearest_of_rank(torch.diag(torch.tensor([3.0, 2.0, 1.0])), rank=2).diagonal().tolist()
    [3.0, 2.0, 0.0]
    """
    _check(matrix, rank)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    return (left[..., :rank] * values[..., None, :rank]) @ right[..., :rank, :]


def _check(matrix: Tensor, rank: int) -> None:
    __tracebackhide__ = True
    check_values("matrix", matrix, "rows columns", exactly=False)
    check_int("rank", rank, maximum=min(matrix.shape[-2:]))

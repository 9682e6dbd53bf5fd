"""Ranks that are nearly low: against NumPy's decomposition, and by what the numbers promise."""

import numpy as np
import pytest
import torch

from course_utils.lectures.l07_dynamic_pruning.experiments.low_rank import (
    effective_rank,
    energy_share,
    nearest_of_rank,
)

ROWS, COLUMNS = 7, 11


def with_values(values, dtype=torch.float64):
    """A matrix with these singular values, in directions that are drawn."""
    values = torch.tensor(values, dtype=dtype)
    left = torch.linalg.qr(torch.randn(ROWS, ROWS, dtype=dtype)).Q
    right = torch.linalg.qr(torch.randn(COLUMNS, COLUMNS, dtype=dtype)).Q
    return left[:, : len(values)] * values @ right[: len(values)]


@pytest.mark.parametrize("n", [1, 3, 7])
def test_equal_values_count_each(n):
    matrix = 5 * with_values([1.0] * n)
    assert effective_rank(matrix).item() == pytest.approx(n)
    assert torch.linalg.matrix_rank(matrix) == n


def test_unequal_values_count_less_than_there_are():
    """The entropy of 1/2, 1/4, 1/4 is 1.5 ln 2."""
    assert effective_rank(with_values([2.0, 1.0, 1.0])).item() == pytest.approx(2**1.5)


def test_the_rank_does_not_depend_on_size_or_side():
    matrix = torch.randn(ROWS, COLUMNS)
    for other in (1000 * matrix, -matrix, matrix.T):
        torch.testing.assert_close(effective_rank(other), effective_rank(matrix))


def test_nothing_has_no_direction():
    nothing = torch.zeros(2, ROWS, COLUMNS)
    assert effective_rank(nothing).tolist() == [0, 0]
    assert energy_share(nothing, 3).tolist() == [1, 1]
    assert not nearest_of_rank(nothing, 3).any()


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_shares_are_those_of_numpys_values(rank):
    matrices = torch.randn(5, ROWS, COLUMNS)
    for found, matrix in zip(energy_share(matrices, rank), matrices, strict=True):
        squares = np.linalg.svd(matrix.numpy(), compute_uv=False) ** 2
        assert found.item() == pytest.approx(squares[:rank].sum() / squares.sum(), rel=1e-5)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_what_is_kept_has_the_rank_and_the_share(rank):
    matrix = torch.randn(ROWS, COLUMNS, dtype=torch.float64)
    kept = nearest_of_rank(matrix, rank)
    assert torch.linalg.matrix_rank(kept) == rank
    lost = (matrix - kept).square().sum() / matrix.square().sum()
    assert lost.item() == pytest.approx(1 - energy_share(matrix, rank).item())
    # No other of this rank is nearer: neither one beside it nor the best in drawn directions.
    for _ in range(20):
        rows = torch.randn(rank, COLUMNS, dtype=torch.float64)
        other = matrix @ torch.linalg.pinv(rows) @ rows
        assert (matrix - other).norm() > (matrix - kept).norm()


def test_with_the_full_rank_all_is_kept():
    matrix = torch.randn(3, COLUMNS, ROWS)
    torch.testing.assert_close(nearest_of_rank(matrix, 7), matrix)
    torch.testing.assert_close(energy_share(matrix, 7), torch.ones(3))

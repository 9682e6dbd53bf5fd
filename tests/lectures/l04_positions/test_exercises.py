"""Lecture 04's exercises: right answers in other words, the references against the library."""

import math

import pytest
import torch

from course_utils.lectures.l04_positions.exercises import (
    EXERCISES,
    check_moving_matrix,
    check_pairings,
    check_rotate,
)
from course_utils.positions import (
    apply_rope,
    pairing_permutation,
    rope_frequencies,
    shift_matrix,
    sinusoidal_positions,
)

ROTATE, MOVING_MATRIX, PAIRINGS = EXERCISES


def as_complex(pair, angle):
    turn = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(torch.view_as_complex(pair.contiguous()) * turn)


def as_matrices(pair, angle):
    c, s = angle.cos(), angle.sin()
    matrix = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return (matrix @ pair.unsqueeze(-1)).squeeze(-1)


def by_slices(offset, C, base):
    angle = offset * base ** (-torch.arange(0, C, 2) / C)
    A = torch.zeros(C, C)
    A[0::2, 0::2] = A[1::2, 1::2] = torch.diag(torch.cos(angle))
    A[0::2, 1::2] = torch.diag(torch.sin(angle))
    A[1::2, 0::2] = -torch.diag(torch.sin(angle))
    return A


def by_blocks(offset, C, base):
    omega = torch.exp(-math.log(base) * torch.arange(0, C, 2, dtype=torch.float64) / C)
    blocks = [[[a.cos(), a.sin()], [-a.sin(), a.cos()]] for a in offset * omega]
    return torch.block_diag(*map(torch.tensor, blocks))


def by_argsort(D):
    to_half = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])
    return to_half, to_half.argsort()


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_rotate, as_complex),
        (check_rotate, as_matrices),
        (check_moving_matrix, by_slices),
        (check_moving_matrix, by_blocks),
        (check_pairings, by_argsort),
        (check_pairings, lambda D: [order.int() for order in by_argsort(D)]),
    ],
)
def test_right_answers_pass(check, answer):
    verdict = check(answer)
    assert verdict.passed, verdict.message


def test_rope_is_this_rotation_in_every_pair():
    x, positions = torch.randn(3, 5, 14), torch.arange(5) + 11
    angles = (positions[:, None] * rope_frequencies(14)).float()
    pairs = ROTATE.reference(x.reshape(3, 5, 7, 2), angles)
    # float32 angles of at most 15 radians: an error of 1e-6 in each.
    found = apply_rope(x, positions, pairing="interleaved")
    torch.testing.assert_close(found, pairs.reshape(3, 5, 14), atol=1e-5, rtol=0)


@pytest.mark.parametrize("probe", MOVING_MATRIX.probes)
def test_matrix_moves_the_librarys_table(probe):
    offset, C, base = probe.values()
    A, table = MOVING_MATRIX.reference(**probe), sinusoidal_positions(23, C, base=base)
    for pos in range(3, 18):
        torch.testing.assert_close(A @ table[pos], table[pos + offset], atol=1e-6, rtol=0)
    torch.testing.assert_close(A, shift_matrix(offset, C, base=base))


@pytest.mark.parametrize("D", [6, 10, 14])
def test_library_has_the_same_permutation(D):
    to_half, to_interleaved = PAIRINGS.reference(D)
    assert torch.equal(to_half, pairing_permutation(D))
    assert torch.equal(torch.arange(D)[to_half][to_interleaved], torch.arange(D))


def test_permuted_weights_give_the_other_pairings_scores():
    q, k, positions = torch.randn(5, 14), torch.randn(7, 14), torch.arange(7)
    perm = PAIRINGS.reference(14)[0]

    def scores(q, k, pairing):
        turned_q = apply_rope(q, positions[-5:], pairing=pairing)
        return turned_q @ apply_rope(k, positions, pairing=pairing).T

    right = scores(q, k, "interleaved")
    torch.testing.assert_close(scores(q[:, perm], k[:, perm], "half"), right)
    assert not torch.allclose(scores(q, k, "half"), right, atol=0.1)


class TestQuizFacts:
    """The numbers that the quiz states, computed."""

    def test_the_other_pairings_scores_correlate(self):
        # Over independent coordinates of q and k, qᵀAk and qᵀBk have the correlation tr(AᵀB)/D.
        rows = torch.eye(64).unsqueeze(1)
        for distance, stated in ((1, 0.94), (7, 0.60), (20, 0.40)):
            at = torch.tensor([distance])
            A, B = (apply_rope(rows, at, pairing=p) for p in ("interleaved", "half"))
            assert ((A * B).sum() / 64).item() == pytest.approx(stated, abs=0.005)

    def test_larger_base(self):
        old, new = rope_frequencies(128), rope_frequencies(128, base=500_000.0)
        assert old[0] == new[0] == 1
        assert (old[-1] / new[-1]).item() == pytest.approx(47, abs=0.5)
        turns = [2 * math.pi / frequencies[-1].item() for frequencies in (old, new)]
        assert turns == [pytest.approx(54_410, abs=1), pytest.approx(2.56e6, rel=0.001)]

    def test_float32_angles_at_256_positions(self):
        exponents = -torch.arange(0, 64, 2) / 64
        error = 255 * 10_000.0**exponents - 255 * 10_000.0 ** exponents.double()
        assert error.abs().max() < 1e-5

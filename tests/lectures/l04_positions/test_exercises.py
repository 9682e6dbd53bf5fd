"""Lecture 04's exercises: diagnoses, and the references against the course's own positions."""

import math

import pytest
import torch

from course_utils.lectures.l04_positions.exercises.moving_matrix import SHIFT, check_moving_matrix
from course_utils.lectures.l04_positions.exercises.pairings import PAIRINGS, check_pairings
from course_utils.lectures.l04_positions.exercises.rotate import ROTATE, check_rotate
from course_utils.positions import (
    apply_rope,
    pairing_permutation,
    rope_frequencies,
    shift_matrix,
    sinusoidal_positions,
)
from tests.lectures.l04_positions.support_wrong_answers_04 import (
    WRONG_MOVING_MATRIX,
    WRONG_PAIRINGS,
    WRONG_ROTATE,
    by_math,
    joined_by_tensor,
    moved,
    right_pairings,
    right_rotate,
    row_of,
    turned,
)
from tests.teaching.support_diagnoses import diagnoses, published

LECTURE = "04_positions.ipynb"

STAGES = {
    check_rotate: (ROTATE,),
    check_moving_matrix: (SHIFT,),
    check_pairings: (PAIRINGS,),
}


def by_two_lines(pair, angle):
    x, y = pair[..., 0], pair[..., 1]
    c, s = torch.cos(angle), torch.sin(angle)
    return torch.stack([c * x - s * y, s * x + c * y], dim=-1)


def by_strided_slices(offset, C, base):
    angle = offset * base ** (-torch.arange(0, C, 2) / C)
    A = torch.zeros(C, C)
    A[0::2, 0::2] = torch.diag(torch.cos(angle))
    A[0::2, 1::2] = torch.diag(torch.sin(angle))
    A[1::2, 0::2] = -torch.diag(torch.sin(angle))
    A[1::2, 1::2] = torch.diag(torch.cos(angle))
    return A


def by_blocks(offset, C, base):
    omega = torch.exp(-math.log(base) * torch.arange(0, C, 2, dtype=torch.float64) / C)
    blocks = [[[a.cos(), a.sin()], [-a.sin(), a.cos()]] for a in offset * omega]
    return torch.block_diag(*map(torch.tensor, blocks))


def by_argsort(D):
    to_half = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])
    return to_half, to_half.argsort()


TestDiagnoses = diagnoses(
    STAGES,
    wrong={
        check_rotate: WRONG_ROTATE,
        check_moving_matrix: WRONG_MOVING_MATRIX,
        check_pairings: WRONG_PAIRINGS,
    },
    right={
        check_rotate: {
            "two lines": by_two_lines,
            "complex numbers": right_rotate,
            "matrices": turned(lambda c, s: [[c, -s], [s, c]]),
        },
        check_moving_matrix: {
            "strided slices": by_strided_slices,
            "block_diag in float64": by_blocks,
            "indices": moved(),
        },
        check_pairings: {
            "argsort": by_argsort,
            "sorting": right_pairings,
            "int32": lambda D: [order.int() for order in right_pairings(D)],
        },
    },
)

TestPublished = published(
    LECTURE,
    STAGES,
    {
        check_rotate: "rotate",
        check_moving_matrix: "moving_matrix",
        check_pairings: "pairings",
    },
)


@pytest.mark.parametrize(
    ("check", "answer", "quoted"),
    [
        (check_rotate, lambda pair, angle: right_rotate(pair, angle) * torch.nan, "is NaN"),
        (
            check_rotate,
            lambda pair, angle: right_rotate(pair, 2 * angle),
            "expected about 0.715; ratio -2.44",
        ),
        (check_rotate, lambda pair, angle: right_rotate(pair, angle).numpy(), "a torch tensor"),
        (check_rotate, lambda pair, angle: {"x": 1.0}, "you gave a dict"),
        (check_moving_matrix, lambda *inputs: moved()(*inputs) / 0, "is NaN"),
        (check_moving_matrix, lambda *inputs: 3 * moved()(*inputs), "ratio 3."),
        (check_rotate, by_math, "stops at 7 angles: `torch.tensor([...])` and `math.cos` take"),
        (check_rotate, joined_by_tensor, "join the two by `torch.stack([...], dim=-1)`"),
        (
            check_pairings,
            lambda D: [order.double() for order in right_pairings(D)],
            "`to_half` holds the right numbers, and their type is floating",
        ),
        (check_pairings, lambda D: [*map(list, right_pairings(D))], "`to_half` should be a torch"),
        (
            check_pairings,
            lambda D: (right_pairings(D)[0], {}),
            "`to_interleaved` should be a torch",
        ),
        (
            check_pairings,
            lambda D: (right_pairings(D)[0], right_pairings(D)[1].roll(1)),
            "you gave 5 for `to_interleaved` at (0,), expected about 0",
        ),
    ],
)
def test_other_wrong_answers_hear_what_and_where(check, answer, quoted):
    assert quoted in check(answer).message


class TestReferences:
    def test_a_rotation_keeps_lengths_and_adds_up(self):
        pair, angles = torch.randn(5, 7, 2), torch.randn(2, 7)
        once = ROTATE.reference(pair, angles[0])
        torch.testing.assert_close(once.norm(dim=-1), pair.norm(dim=-1))
        torch.testing.assert_close(
            ROTATE.reference(once, angles[1]), ROTATE.reference(pair, angles.sum(dim=0))
        )

    def test_rope_is_this_rotation_in_every_pair(self):
        x, positions = torch.randn(3, 5, 14), torch.arange(5) + 11
        pairs = ROTATE.reference(
            x.reshape(3, 5, 7, 2), (positions[:, None] * rope_frequencies(14)).float()
        )
        # float32 angles of at most 15 radians: an error of 1e-6 in each.
        torch.testing.assert_close(
            apply_rope(x, positions, pairing="interleaved"),
            pairs.reshape(3, 5, 14),
            atol=1e-5,
            rtol=0,
        )

    @pytest.mark.parametrize("probe", SHIFT.probes)
    def test_the_matrix_moves_the_librarys_table(self, probe):
        offset, C, base = probe.values()
        A, table = SHIFT.reference(*probe.values()), sinusoidal_positions(23, C, base=base)
        for pos in range(3, 18):
            torch.testing.assert_close(A @ table[pos], table[pos + offset], atol=1e-6, rtol=0)

    @pytest.mark.parametrize("probe", SHIFT.probes)
    def test_the_library_has_the_same_matrix_and_the_row_its_layout(self, probe):
        offset, C, base = probe.values()
        torch.testing.assert_close(
            SHIFT.reference(offset, C, base), shift_matrix(offset, C, base=base)
        )
        torch.testing.assert_close(row_of(5, C, base), sinusoidal_positions(7, C, base=base)[5])

    @pytest.mark.parametrize("D", [6, 10, 14])
    def test_the_library_has_the_same_permutation(self, D):
        to_half, to_interleaved = PAIRINGS.reference(D)
        assert torch.equal(to_half, pairing_permutation(D))
        assert torch.equal(torch.arange(D)[to_half][to_interleaved], torch.arange(D))

    def test_permuted_queries_and_keys_give_the_other_pairings_scores(self):
        q, k, positions = torch.randn(5, 14), torch.randn(7, 14), torch.arange(7)
        perm = PAIRINGS.reference(14)[0]

        def scores(q, k, pairing):
            turned_q = apply_rope(q, positions[-5:], pairing=pairing)
            return turned_q @ apply_rope(k, positions, pairing=pairing).T

        right = scores(q, k, "interleaved")
        torch.testing.assert_close(scores(q[:, perm], k[:, perm], "half"), right)
        assert not torch.allclose(scores(q, k, "half"), right, atol=0.1)

    def test_the_probes_are_not_undone_by_the_same_permutation(self):
        for probe in PAIRINGS.probes:
            there, back = PAIRINGS.reference(**probe)
            assert not torch.equal(there, back)


class TestQuiz:
    """What the explanations of the quiz state in numbers."""

    def score(self, q, k, m, n, pairing):
        turned = [apply_rope(x, torch.tensor([p]), pairing=pairing) for x, p in ((q, m), (k, n))]
        return (turned[0] * turned[1]).sum(dim=(-2, -1)) / q.shape[-1] ** 0.5

    def test_moving_both_by_a_thousand_changes_nothing(self):
        q, k = torch.randn(2, 101, 1, 64)
        near, far = (self.score(q, k, 3 + by, 10 + by, "half") for by in (0, 1000))
        torch.testing.assert_close(near, far, atol=1e-5, rtol=0)

    def test_the_other_pairings_scores_are_relative_and_have_a_correlation_of_060(self):
        q, k = torch.randn(2, 101, 1, 64)
        run = self.score(q, k, 3, 10, "half")
        torch.testing.assert_close(run, self.score(q, k, 1003, 1010, "half"), atol=1e-5, rtol=0)
        # Over independent coordinates of q and k, qᵀAk and qᵀBk have the correlation tr(AᵀB)/D.
        rows, seven = torch.eye(64).unsqueeze(1), torch.tensor([7])
        A, B = (apply_rope(rows, seven, pairing=p) for p in ("interleaved", "half"))
        assert ((A * B).sum() / 64).item() == pytest.approx(0.60, abs=0.005)

    def test_what_a_larger_base_does_to_the_first_pair_and_to_the_last(self):
        old, new = rope_frequencies(128), rope_frequencies(128, base=500_000.0)
        assert old[0] == new[0] == 1
        assert (old[-1] / new[-1]).item() == pytest.approx(47, abs=0.5)
        turns = [2 * math.pi / frequencies[-1].item() for frequencies in (old, new)]
        assert turns == [pytest.approx(54_410, abs=1), pytest.approx(2.56e6, rel=0.001)]

    def test_float32_angles_at_256_positions_are_good_to_1e_5(self):
        exponents = -torch.arange(0, 64, 2) / 64
        error = 255 * 10_000.0**exponents - 255 * 10_000.0 ** exponents.double()
        assert error.abs().max() < 1e-5

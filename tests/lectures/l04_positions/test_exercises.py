"""Lecture 04's exercises: right answers in other words, the references against the library."""

import math

import pytest
import torch

from course_utils.positions import rope_frequencies
from lectures.l04_positions.exercises import (
    EXERCISES,
    check_apply_rope,
    check_diagnose,
    three_programs,
)

ROPE, DIAGNOSE = EXERCISES


def as_complex(x, positions, base=10_000.0, pairing="half"):
    """Each pair as a complex number that is multiplied by one of length 1."""
    D = x.shape[-1]
    angles = torch.outer(positions.double(), base ** (-torch.arange(D // 2) * 2.0 / D).double())
    turn = torch.polar(torch.ones_like(angles), angles)
    order = torch.arange(D).view(2, -1).T if pairing == "half" else torch.arange(D).view(-1, 2)
    pairs = torch.view_as_complex(x.double()[..., order].contiguous())
    rotated = torch.empty_like(x)
    rotated[..., order.flatten()] = torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)
    return rotated


def as_llama(x, positions, base=10_000.0, pairing="half"):
    """`rotate_half` as in Llama's code; the other pairing by a permutation there and back."""
    D = x.shape[-1]
    if pairing == "interleaved":
        to_half = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])
        return as_llama(x[..., to_half], positions, base)[..., to_half.argsort()]
    angle = positions[:, None] * base ** -(torch.arange(0, D, 2) / D).repeat(2)
    first, second = x.chunk(2, dim=-1)
    return x * angle.cos() + torch.cat([-second, first], dim=-1) * angle.sin()


def in_loops(x, positions, base=10_000.0, pairing="half"):
    """Pair by pair, into a new tensor."""
    D, out = x.shape[-1], torch.empty_like(x)
    for t, position in enumerate(positions.tolist()):
        for i in range(D // 2):
            one, other = (i, i + D // 2) if pairing == "half" else (2 * i, 2 * i + 1)
            angle = position * base ** (-2 * i / D)
            a, b = x[..., t, one], x[..., t, other]
            out[..., t, one] = a * math.cos(angle) - b * math.sin(angle)
            out[..., t, other] = a * math.sin(angle) + b * math.cos(angle)
    return out


def of_numbers(x, *options):
    """The right numbers, but no gradient follows."""
    return in_loops(x.detach(), *options)


def test_a_part_without_gradients_does_not_pass():
    assert ROPE.stages[-1].recognise(of_numbers).name == "nothing can learn"
    assert not ROPE.judge(of_numbers).passed


def by_unit_vectors(score, D):
    """Which number the second coordinate hears of, and whether a score stays when both move."""
    unit = torch.eye(D)
    stays = all(
        abs(score(unit[i], unit[j], 7, 3) - score(unit[i], unit[j], 11, 7)) < 1e-5
        for i in range(D)
        for j in range(D)
    )
    if not stays:
        return "one wrong"
    partner = max(range(1, D), key=lambda j: abs(score(unit[0], unit[j], 7, 3)))
    return "right" if partner == 1 else "both wrong"


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (check_apply_rope, as_complex),
        (check_apply_rope, as_llama),
        (check_apply_rope, in_loops),
        (check_diagnose, by_unit_vectors),
    ],
)
def test_right_answers_pass(check, answer):
    verdict = check(answer)
    assert verdict.passed, verdict.message


def test_the_three_programs_are_what_they_are_said_to_be():
    found = {program.name: DIAGNOSE.reference(program, 14) for program in three_programs()}
    assert found == {"Ada": "both wrong", "Ben": "right", "Cleo": "one wrong"}
    q, k = torch.randn(2, 14, dtype=torch.float64)
    _, right, _ = three_programs()
    pairs = torch.view_as_complex(torch.stack([q, k]).view(2, -1, 2))
    turn = torch.exp(1j * (9 - 4) * rope_frequencies(14))
    exact = (pairs[0] * pairs[1].conj() * turn).real.sum().item()
    assert right(q, k, 9, 4) == pytest.approx(exact, abs=1e-9)

"""Exercise 2 of lecture 04: the matrix that moves a sinusoidal position by an offset."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["SHIFT", "check_moving_matrix"]

# The places of the sine and of the cosine of frequency i, among C columns.
Layout = Callable[[int, int], tuple[int, int]]


def _interleaved(i, C):
    return 2 * i, 2 * i + 1


def _halves(i, C):
    return i, i + C // 2


def _frequency(i, C, base):
    return base ** (-2 * i / C)


def _shifted_by(
    *,
    frequency: Callable[..., float] = _frequency,
    block: Callable[[float, float], list[list[float]]] = lambda c, s: [[c, s], [-s, c]],
    layout: Layout = _interleaved,
    offset_of: Callable[[int], int] = lambda offset: offset,
    base_of: Callable[[float], float] = lambda base: base,
) -> Callable[..., Any]:
    """A shift matrix that is right but for what is given."""

    def shift_matrix(offset, C, base):
        A = torch.zeros(C, C, dtype=torch.float64)
        for i in range(C // 2):
            angle = offset_of(offset) * frequency(i, C, base_of(base))
            places = layout(i, C)
            values = torch.tensor(block(math.cos(angle), math.sin(angle)), dtype=torch.float64)
            A[torch.tensor(places)[:, None], torch.tensor(places)] = values
        return A.float()

    return shift_matrix


_shift = _shifted_by()


def _position(pos, C, base):
    """PE(pos) in float64: sin and cos of pos·ω_i, one behind the other."""
    angles = [pos * _frequency(i, C, base) for i in range(C // 2)]
    both = [f(angle) for angle in angles for f in (math.sin, math.cos)]
    return torch.tensor(both, dtype=torch.float64)


def _rolled(offset, C, base):
    return torch.eye(C).roll(offset, dims=0)


# A token position, to say where a wrong matrix sends it.
POS = 3


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    offset, C, base = inputs.values()
    facts: dict[str, Any] = {
        "pos": POS,
        "there": POS + offset,
        "half": C // 2,
        "second_frequency": _frequency(1, C, base),
        "right": float(_shift(offset, C, base)[0, 1]),
    }
    if isinstance(got, torch.Tensor) and got.shape == (C, C):
        arrived = got.double() @ _position(POS, C, base)
        facts["miss"] = float((arrived - _position(POS + offset, C, base)).norm())
        facts["length"] = float(_position(POS, C, base).norm())
        facts["gave"] = float(got[0, 1])
    return facts


_AT = (
    "With offset {offset}, C = {C} and base {base} your matrix sends PE({pos}) to a point that is "
    "{miss} away from PE({there}), of length {length}. "
)

SHIFT = Exercise(
    title="The matrix that moves a position",
    difficulty=2,
    minutes=12,
    reference=_shift,
    probes=(
        {"offset": 2, "C": 6, "base": 10_000.0},
        {"offset": -3, "C": 10, "base": 100.0},
        {"offset": 5, "C": 14, "base": 7.0},
    ),
    parts=("A",),
    facts=_facts,
    # Angles in float32 are good to 1e-4 even where wrong frequencies make them large.
    tolerance=Tolerance(relative=0, absolute=1e-3),
    praise="C/2 rotations in one matrix, and the position is nowhere in it: a linear layer can "
    "learn to look `offset` tokens away, wherever it stands.",
    mistakes=(
        Mistake(
            "turns the other way",
            _shifted_by(block=lambda c, s: [[c, -s], [s, c]]),
            _AT + "Your block [[cos, −sin], [sin, cos]] turns (cos, sin). Here the sine comes "
            "first: sin(a + b) = sin a·cos b + cos a·sin b, so entry (0, 1) is +sin, {right}, and "
            "yours is {gave}. Yours moves by −offset, as the right one does when it is transposed.",
        ),
        Mistake(
            "all plus",
            _shifted_by(block=lambda c, s: [[c, s], [s, c]]),
            _AT + "Both of your sines have a plus. cos(a + b) = cos a·cos b − sin a·sin b: the "
            "lower one has a minus.",
        ),
        Mistake(
            "all minus",
            _shifted_by(block=lambda c, s: [[c, -s], [-s, c]]),
            _AT + "Both of your sines have a minus. sin(a + b) = sin a·cos b + cos a·sin b: the "
            "upper one has a plus.",
        ),
        Mistake(
            "sine and cosine exchanged",
            _shifted_by(block=lambda c, s: [[s, c], [-c, s]]),
            _AT + "Sine and cosine have changed places. Try offset 0: the matrix must be the "
            "identity, so the diagonal holds cosines.",
        ),
        Mistake(
            "cosines alone",
            _shifted_by(block=lambda c, s: [[c, 0.0], [0.0, c]]),
            _AT + "You have cosines on the diagonal and nothing beside them. sin(a + b) needs both "
            "sin a and cos a: each block has four entries.",
        ),
        Mistake(
            "half layout",
            _shifted_by(layout=_halves),
            _AT + "You pair column i with column i + C/2 = i + {half}: the layout with all sines "
            "first. Here sine and cosine alternate, so the blocks are 2×2 along the diagonal.",
        ),
        Mistake(
            "exponent i/C",
            _shifted_by(frequency=lambda i, C, base: base ** (-i / C)),
            _AT + "Your frequencies are base^(−i/C): they fall half as fast as they should. Pair i "
            "has base^(−2i/C), {second_frequency} for i = 1.",
        ),
        Mistake(
            "exponent 4i/C",
            _shifted_by(frequency=lambda i, C, base: base ** (-4 * i / C)),
            _AT + "Your frequencies are base^(−4i/C). If i already goes in steps of 2, as in "
            "`torch.arange(0, C, 2)`, it stands for 2i: divide it by C, without another 2.",
        ),
        Mistake(
            "exponent to C/2 − 1",
            _shifted_by(frequency=lambda i, C, base: base ** (-i / (C // 2 - 1))),
            _AT + "Your frequencies are base^(−i/(C/2 − 1)), so that the last is exactly 1/base. "
            "Some libraries do so; the paper has base^(−2i/C), {second_frequency} for i = 1.",
        ),
        Mistake(
            "exponent (2i + 1)/C",
            _shifted_by(frequency=lambda i, C, base: base ** (-(2 * i + 1) / C)),
            _AT + "Your frequencies are base^(−(2i + 1)/C): counting from 1, or taking the column "
            "of the cosine. The first pair has i = 0 and frequency 1.",
        ),
        Mistake(
            "frequencies that grow",
            _shifted_by(frequency=lambda i, C, base: base ** (2 * i / C)),
            _AT + "Your frequencies grow, base^(2i/C). The minus is missing: they fall from 1, and "
            "pair 1 has {second_frequency}.",
        ),
        Mistake(
            "one frequency",
            _shifted_by(frequency=lambda i, C, base: 1.0),
            _AT + "All your blocks turn alike. Pair i has its own frequency base^(−2i/C): "
            "{second_frequency} for i = 1.",
        ),
        Mistake(
            "slow pairs first",
            _shifted_by(layout=lambda i, C: _interleaved(C // 2 - 1 - i, C)),
            _AT + "Every block is right, and their order is reversed. Pair 0 turns fastest, with "
            "frequency 1, and stands at the upper left.",
        ),
        Mistake(
            "always base 10 000",
            _shifted_by(base_of=lambda base: 10_000.0),
            _AT + "Right for base 10 000 alone: you do not use `base`.",
        ),
        Mistake(
            "always one step",
            _shifted_by(offset_of=lambda offset: 1),
            _AT + "You turn each pair by its frequency once, as for offset 1. The angle is "
            "offset·ω_i.",
        ),
        Mistake(
            "the offset without its sign",
            _shifted_by(offset_of=abs),
            _AT + "Right for offsets that are not negative. Do not take the size of the offset: "
            "for {offset} the sines change sign.",
        ),
        Mistake(
            "rolls the columns",
            _rolled,
            _AT + "You move the coordinates within the vector by the offset. It is the position "
            "that moves: every coordinate stays in its place and changes its value, as its angle "
            "grows by offset·ω_i.",
        ),
        Mistake(
            "one block",
            lambda offset, C, base: _shift(offset, 2, base),
            "You return one block of 2×2. Each of the C/2 = {half} pairs has one, along the "
            "diagonal of a C×C matrix: ({C}, {C}).",
        ),
        Mistake(
            "a table instead of a matrix",
            lambda offset, C, base: _position(offset, C, base).float(),
            "You return PE({offset}), a vector of {C} numbers. Asked for is the matrix that turns "
            "PE(pos) into PE(pos + offset), for every pos.",
        ),
    ),
)


def check_moving_matrix(moving_matrix: Any) -> Verdict:
    """Judge ``moving_matrix(offset, C, base)``: A (C, C) with A @ PE(pos) = PE(pos + offset).

    PE(pos) holds sin(pos·ω_i) in column 2i and cos(pos·ω_i) in column 2i + 1, with
    ω_i = base^(−2i/C) for i = 0 … C/2 − 1 (Vaswani et al. 2017, section 3.5).

    >>> check_moving_matrix(...).started
    False
    """
    return SHIFT.check(moving_matrix)

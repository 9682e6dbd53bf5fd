"""Exercise 2 of lecture 04: the matrix that moves a sinusoidal position by an offset."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["MOVING_MATRIX"]


def _frequency(i, C, base):
    return base ** (-2 * i / C)


def _shifted_by(
    *,
    frequency: Callable[..., float] = _frequency,
    block: Callable[[float, float], list[list[float]]] = lambda c, s: [[c, s], [-s, c]],
    columns: Callable[[int, int], list[int]] = lambda i, C: [2 * i, 2 * i + 1],
) -> Callable[..., Any]:
    """A shift matrix that is right but for what is given, for pair i of C columns."""

    def shift_matrix(offset, C, base):
        A = torch.zeros(C, C, dtype=torch.float64)
        for i in range(C // 2):
            angle = offset * frequency(i, C, base)
            at = torch.tensor(columns(i, C))
            values = torch.tensor(block(math.cos(angle), math.sin(angle)), dtype=torch.float64)
            A[at[:, None], at] = values
        return A.float()

    return shift_matrix


_shift = _shifted_by()


def _position(pos, C, base):
    """PE(pos) in float64: sin and cos of pos·ω_i, one behind the other."""
    angles = [pos * _frequency(i, C, base) for i in range(C // 2)]
    both = [f(angle) for angle in angles for f in (math.sin, math.cos)]
    return torch.tensor(both, dtype=torch.float64)


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

MOVING_MATRIX = Exercise(
    title="The matrix that moves a position",
    function="moving_matrix",
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
            "sine and cosine exchanged",
            _shifted_by(block=lambda c, s: [[s, c], [-c, s]]),
            _AT + "Sine and cosine have changed places. Try offset 0: the matrix must be the "
            "identity, so the diagonal holds cosines.",
        ),
        Mistake(
            "half layout",
            _shifted_by(columns=lambda i, C: [i, i + C // 2]),
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
            "frequencies that grow",
            _shifted_by(frequency=lambda i, C, base: base ** (2 * i / C)),
            _AT + "Your frequencies grow, base^(2i/C). The minus is missing: they fall from 1, and "
            "pair 1 has {second_frequency}.",
        ),
        Mistake(
            "always base 10 000",
            lambda offset, C, base: _shift(offset, C, 10_000.0),
            _AT + "Right for base 10 000 alone: you do not use `base`.",
        ),
        Mistake(
            "rolls the columns",
            lambda offset, C, base: torch.eye(C).roll(offset, dims=0),
            _AT + "You move the coordinates within the vector by the offset. It is the position "
            "that moves: every coordinate stays in its place and changes its value, as its angle "
            "grows by offset·ω_i.",
        ),
        Mistake(
            "a table instead of a matrix",
            lambda offset, C, base: _position(offset, C, base).float(),
            "You return PE({offset}), a vector of {C} numbers. Asked for is the matrix that turns "
            "PE(pos) into PE(pos + offset), for every pos.",
        ),
    ),
)

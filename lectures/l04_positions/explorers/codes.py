"""Three ways to write down a position, and how far the codes of two positions are apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Slider

POSITIONS, DIGITS = 64, 6
NUMBER, BINARY, WAVES = "one number", "binary digits", "waves"
START = {"code": WAVES, "m": 7, "n": 8}


@dataclass(frozen=True)
class CodesState:
    """`apart` (64,) is the distance from the code of position m to that of every position."""

    apart: np.ndarray
    code: str
    m: int
    n: int


def codes(code: str) -> np.ndarray:
    """The code of every position, (64, numbers); the waves are pairs (cos, sin), fastest first."""
    positions = np.arange(POSITIONS)[:, None]
    if code == NUMBER:
        return positions.astype(float)
    powers = 2.0 ** np.arange(DIGITS)
    if code == BINARY:
        return positions // powers % 2
    angles = positions / powers
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(POSITIONS, -1)


class PositionCodes(Explorer):
    """A way to write positions, two positions → the table of codes, distances from the first."""

    title = "How would you write down a position?"
    inputs = {
        "code": Choice(
            "position written as", (NUMBER, BINARY, WAVES), START["code"], in_picture=True
        ),
        "m": Slider("first position", 0, POSITIONS - 1, START["m"], in_picture=True),
        "n": Slider("second position", 0, POSITIONS - 1, START["n"], in_picture=True),
    }
    presets = {
        "number: 7 and 57": {"code": NUMBER, "m": 7, "n": 57},
        "binary: 7 and 8": {**START, "code": BINARY},
        "binary: 7 and 15": {"code": BINARY, "m": 7, "n": 15},
        "waves: 7 and 8": START,
        "waves: 31 and 32": {"code": WAVES, "m": 31, "n": 32},
    }
    view = "codes.js"
    reading = (
        "Above, each column is the code of one position, 0 to 63, and each row one number of the "
        "code: light is 0 and dark is large, and in the waves teal is 1 and magenta −1. Below, "
        "the height of the line is how far a position's code is from the code at the round "
        "handle: the length of their difference. Drag either handle."
    )

    def compute(self, code: str, m: int, n: int) -> CodesState:
        table = codes(code)
        return CodesState(np.linalg.norm(table - table[m], axis=1), code, m, n)

    def caption(self, state: CodesState) -> str:
        m, n, apart = state.m, state.n, number(state.apart[state.n], 2)
        if state.code == NUMBER:
            return f"As numbers, the codes of [q:{m}] and [k:{n}] are [b:{apart}] apart."
        if state.code == BINARY:
            differ = (m ^ n).bit_count()
            digits = "digit differs" if differ == 1 else "digits differ"
            return (
                f"In binary, [q:{m}] is [q:{m:06b}] and [k:{n}] is [k:{n:06b}]: "
                f"{differ} {digits}, and the codes are [b:{apart}] apart."
            )
        return (
            f"As waves, the codes of [q:{m}] and [k:{n}] are [b:{apart}] apart, like those of "
            f"any two positions at distance {abs(m - n)}."
        )

"""The controls of an explorer, as plain declarations.

One line says what the browser draws, which values `set` accepts, and what a test sweeps. No widget
is made here: `spec()` goes to the browser, whose native inputs are drawn by kit/controls.js.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from random import Random
from typing import Any, Protocol

import numpy as np

from course_utils.explorers.captions import number

POINT_STEPS = 5  # a sweep tries so many values along each axis of a point


class Input(Protocol):
    """What the engine asks of a control's declaration."""

    @property
    def label(self) -> str:
        """The words above the control; also its accessible name."""
        ...

    @property
    def default(self) -> Any:
        """The value at the start."""
        ...

    def check(self, name: str, value: Any) -> Any:
        """The value as the browser has it; TypeError or ValueError for one out of range."""
        ...

    def spec(self) -> dict[str, Any]:
        """What the browser is told about the control."""
        ...

    def sweep(self) -> list[Any]:
        """Values that a test tries one by one: both ends and some between."""
        ...

    def sample(self, random: Random) -> Any:
        """One allowed value at random."""
        ...


@dataclass(frozen=True)
class Slider:
    """A number between two ends. Whole ends and step give whole numbers.

    Attributes:
        label: the words above it.
        minimum, maximum, default, step: what it can be.
        unit: written behind the value, for example "tokens".
        fine: where values are fine and beyond which they grow by powers: the rail is linear up
            to about this value and logarithmic after it. 0 for a linear rail.
        colour: "query", "key" or "value", where the number belongs to one of them.
        in_picture: the picture has a handle of its own, so no rail is drawn.

    >>> Slider("head width d_k", 1, 9, 3, step=2).sweep()
    [1, 3, 5, 7, 9]
    """

    label: str
    minimum: int | float
    maximum: int | float
    default: int | float
    step: int | float = 1
    unit: str = ""
    fine: int | float = 0
    colour: str = ""
    in_picture: bool = False

    @property
    def _whole(self) -> bool:
        return all(isinstance(end, int) for end in (self.minimum, self.maximum, self.step))

    @property
    def _digits(self) -> int:
        return 0 if self._whole else max(0, math.ceil(-math.log10(self.step) - 1e-9))

    @property
    def _count(self) -> int:
        # The last step that still fits; a thousandth of a step covers the rounding of 0.1.
        return math.floor((self.maximum - self.minimum) / self.step + 1e-3) + 1

    def _at(self, index: int) -> int | float:
        value = self.minimum + index * self.step
        return value if self._whole else round(value, 10)

    def positions(self) -> list[int | float]:
        """Every value that the slider can have, in order."""
        return [self._at(index) for index in range(self._count)]

    def check(self, name: str, value: Any) -> int | float:
        kind, words = (Integral, "a whole number") if self._whole else (Real, "a number")
        if isinstance(value, bool) or not isinstance(value, kind):
            raise TypeError(f"{name} must be {words}, got {value!r}")
        if not self.minimum <= float(value) <= self.maximum:
            ends = f"{number(self.minimum, self._digits)} to {number(self.maximum, self._digits)}"
            raise ValueError(f"{name} must be {ends}, got {value!r}")
        return round(float(value)) if self._whole else float(value)

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "slider",
            "label": self.label,
            "min": self.minimum,
            "max": self.maximum,
            "step": self.step,
            "digits": self._digits,
            "unit": self.unit,
            "fine": self.fine,
            "colour": self.colour,
            "in_picture": self.in_picture,
        }

    def sweep(self) -> list[Any]:
        last = self._count - 1
        return [self._at(i) for i in sorted({0, last // 4, last // 2, 3 * last // 4, last})]

    def sample(self, random: Random) -> Any:
        return self._at(random.randrange(self._count))


@dataclass(frozen=True)
class Steps:
    """A slider over listed values, numbers or texts, such as powers of two."""

    label: str
    values: Sequence[Any]
    default: Any
    unit: str = ""
    in_picture: bool = False

    def check(self, name: str, value: Any) -> Any:
        # True equals 1, but is not meant by it; an array has no one answer to what it equals.
        known = [one for one in self.values if isinstance(one, bool) == isinstance(value, bool)]
        if not isinstance(value, str | Real) or value not in known:
            raise ValueError(f"{name} must be one of {list(self.values)}, got {value!r}")
        return known[known.index(value)]

    def positions(self) -> list[Any]:
        """Every value in order."""
        return list(self.values)

    def spec(self) -> dict[str, Any]:
        return {
            "kind": type(self).__name__.lower(),
            "label": self.label,
            "values": list(self.values),
            "unit": self.unit,
            "in_picture": self.in_picture,
        }

    def sweep(self) -> list[Any]:
        return list(self.values)

    def sample(self, random: Random) -> Any:
        return random.choice(list(self.values))


@dataclass(frozen=True)
class Choice(Steps):
    """One of a few named things, as a drop-down list."""


@dataclass(frozen=True)
class Toggle:
    """Something that is on or off."""

    label: str
    default: bool = False
    in_picture: bool = False

    def check(self, name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False, got {value!r}")
        return value

    def positions(self) -> list[bool]:
        """Off and on."""
        return [False, True]

    def spec(self) -> dict[str, Any]:
        return {"kind": "toggle", "label": self.label, "in_picture": self.in_picture}

    def sweep(self) -> list[Any]:
        return self.positions()

    def sample(self, random: Random) -> Any:
        return random.random() < 0.5


@dataclass(frozen=True)
class Text:
    """A line of text. `examples` are what a sweep tries.

    `without_kernel` is what stands in its place where it is served, but no kernel runs.
    """

    label: str
    default: str
    examples: Sequence[str] = ("",)
    placeholder: str = ""
    longest: int = 200
    in_picture: bool = False
    without_kernel: str = ""

    def check(self, name: str, value: Any) -> str:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be text, got {type(value).__name__}")
        if len(value) > self.longest:
            raise ValueError(f"{name} must have at most {self.longest} letters, got {len(value)}")
        # No browser can be sent half of a surrogate pair.
        return value.encode("utf-8", "replace").decode("utf-8")

    def spec(self) -> dict[str, Any]:
        return {
            "kind": "text",
            "label": self.label,
            "placeholder": self.placeholder,
            "longest": self.longest,
            "without_kernel": self.without_kernel,
            "in_picture": self.in_picture,
        }

    def sweep(self) -> list[Any]:
        return [self.default, *self.examples]

    def sample(self, random: Random) -> Any:
        return random.choice(self.sweep())


@dataclass(frozen=True)
class Point:
    """A point of the plane that the picture lets the reader drag: two numbers between two ends."""

    label: str
    default: tuple[float, float]
    minimum: float = -1.0
    maximum: float = 1.0
    step: float = 0.01
    in_picture: bool = True

    def check(self, name: str, value: Any) -> list[float]:
        numbers = list(value) if isinstance(value, tuple | list) else []
        if len(numbers) != 2 or not all(isinstance(entry, Real) for entry in numbers):
            raise TypeError(f"{name} must be two numbers, got {value!r}")
        if not all(self.minimum <= float(entry) <= self.maximum for entry in numbers):
            raise ValueError(f"{name} must be {self.minimum} to {self.maximum}, got {value!r}")
        x, y = numbers
        return [float(x), float(y)]

    def spec(self) -> dict[str, Any]:
        ends = {"min": self.minimum, "max": self.maximum, "step": self.step}
        return {"kind": "point", "label": self.label, **ends, "in_picture": True}

    def sweep(self) -> list[Any]:
        side = [
            self.minimum + (self.maximum - self.minimum) * i / (POINT_STEPS - 1)
            for i in range(POINT_STEPS)
        ]
        return [[x, y] for x in side for y in side]

    def sample(self, random: Random) -> Any:
        return [random.uniform(self.minimum, self.maximum) for _ in range(2)]


@dataclass(frozen=True)
class Cells:
    """Rows of cells that the picture lets the reader paint: a text of # and . for each row.

    An array or tensor of booleans is accepted in place of the rows.

    >>> Cells("mask", ("#.", "##")).check("mask", np.eye(2, dtype=bool))
    ['#.', '.#']
    """

    label: str
    default: Sequence[str]
    in_picture: bool = True

    @property
    def _sizes(self) -> tuple[int, int]:
        return len(self.default), len(self.default[0])

    def check(self, name: str, value: Any) -> list[str]:
        height, width = self._sizes
        rows = _painted(value)
        if [len(row) for row in rows] != [width] * height or not set("".join(rows)) <= {"#", "."}:
            size = f"{height} rows of {width} cells"
            raise ValueError(f"{name} must be {size}, # or ., got {value!r}")
        return rows

    def spec(self) -> dict[str, Any]:
        return {"kind": "cells", "label": self.label, "size": len(self.default), "in_picture": True}

    def sweep(self) -> list[Any]:
        """All cells empty, all full, and the default with one cell of each row changed."""
        height, width = self._sizes
        found = [[mark * width] * height for mark in ".#"]
        for row in range(height):
            changed = [list(cells) for cells in self.default]
            column = (3 * row + 1) % width
            changed[row][column] = "." if changed[row][column] == "#" else "#"
            found.append(["".join(cells) for cells in changed])
        return [list(self.default), *found]

    def sample(self, random: Random) -> Any:
        height, width = self._sizes
        full = random.random()
        return [
            "".join("#" if random.random() < full else "." for _ in range(width))
            for _ in range(height)
        ]


def _painted(value: Any) -> list[str]:
    if isinstance(value, list | tuple) and all(isinstance(row, str) for row in value):
        return list(value)
    cells = np.asarray(value)
    if cells.dtype != bool or cells.ndim != 2:
        return []
    return ["".join("#" if cell else "." for cell in row) for row in cells]

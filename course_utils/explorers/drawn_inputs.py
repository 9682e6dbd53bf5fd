"""The controls an explorer may have, as plain descriptions that build ipywidgets.

A description knows its range, so the same line drives the widget in the notebook, the check of a
value set from code, and the test that sweeps every control to both ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from random import Random
from typing import Any, Protocol

import ipywidgets

CONTROL_WIDTH = "392px"
WIDE = "792px"
STYLE = {"description_width": "168px"}


class Input(Protocol):
    """What the engine asks of a control's description."""

    @property
    def description(self) -> str:
        """The label beside the control: words, not a letter."""
        ...

    def build(self) -> ipywidgets.ValueWidget:
        """A fresh widget at the default value."""
        ...

    def check(self, name: str, value: Any) -> None:
        """Raise TypeError or ValueError unless the control can take this value."""
        ...

    def sweep(self) -> list[Any]:
        """Values a test tries one by one: both ends and some between."""
        ...

    def sample(self, random: Random) -> Any:
        """One allowed value at random."""
        ...


def _layout(width: str = CONTROL_WIDTH) -> ipywidgets.Layout:
    # A phone-wide notebook shrinks the control instead of cutting it off.
    return ipywidgets.Layout(width=width, max_width="100%")


@dataclass(frozen=True)
class Slider:
    """A number between two ends. Whole ends and step give whole numbers.

    >>> Slider("head width d_k", 1, 9, step=2, default=3).sweep()
    [1, 3, 5, 7, 9]
    """

    description: str
    minimum: int | float
    maximum: int | float
    step: int | float
    default: int | float

    @property
    def _whole(self) -> bool:
        return all(isinstance(x, int) for x in (self.minimum, self.maximum, self.step))

    def _at(self, index: int) -> int | float:
        value = self.minimum + index * self.step
        return value if self._whole else round(value, 10)

    @property
    def _count(self) -> int:
        # The last step that still fits; a thousandth of a step covers the rounding of 0.1.
        return math.floor((self.maximum - self.minimum) / self.step + 1e-3) + 1

    def positions(self) -> tuple[int | float, ...]:
        """Every value that the slider can stand at, in order."""
        return tuple(self._at(i) for i in range(self._count))

    def build(self) -> ipywidgets.ValueWidget:
        kind = ipywidgets.IntSlider if self._whole else ipywidgets.FloatSlider
        form = {} if self._whole else {"readout_format": ".2f"}
        return kind(
            value=self.default,
            min=self.minimum,
            max=self.maximum,
            step=self.step,
            description=self.description,
            style=STYLE,
            layout=_layout(),
            **form,
        )

    def check(self, name: str, value: Any) -> None:
        kind, words = (Integral, "a whole number") if self._whole else (Real, "a number")
        if isinstance(value, bool) or not isinstance(value, kind):
            raise TypeError(f"{name} must be {words}, got {value!r}")
        if not self.minimum <= float(value) <= self.maximum:
            raise ValueError(
                f"{name} must lie between {self.minimum} and {self.maximum}, got {value!r}"
            )

    def sweep(self) -> list[Any]:
        last = self._count - 1
        return [self._at(i) for i in sorted({0, last // 4, last // 2, 3 * last // 4, last})]

    def sample(self, random: Random) -> Any:
        return self._at(random.randrange(self._count))


@dataclass(frozen=True)
class Steps:
    """A slider over listed values, numbers or texts, such as powers of two."""

    description: str
    values: Sequence[Any]
    default: Any

    def build(self) -> ipywidgets.ValueWidget:
        return ipywidgets.SelectionSlider(
            options=list(self.values),
            value=self.default,
            description=self.description,
            style=STYLE,
            layout=_layout(),
        )

    def check(self, name: str, value: Any) -> None:
        # True equals 1, but is not meant by it; an array has no one answer to what it equals.
        known = [each for each in self.values if isinstance(each, bool) == isinstance(value, bool)]
        if not isinstance(value, str | Real) or value not in known:
            raise ValueError(f"{name} must be one of {list(self.values)}, got {value!r}")

    def sweep(self) -> list[Any]:
        return list(self.values)

    def sample(self, random: Random) -> Any:
        return random.choice(list(self.values))


@dataclass(frozen=True)
class Choice(Steps):
    """One of a few named things, as a drop-down list; `wide` for names that are sentences."""

    wide: bool = False

    def build(self) -> ipywidgets.ValueWidget:
        return ipywidgets.Dropdown(
            options=list(self.values),
            value=self.default,
            description=self.description,
            style=STYLE,
            layout=_layout(WIDE if self.wide else CONTROL_WIDTH),
        )


@dataclass(frozen=True)
class FreeText:
    """A line of text that answers while it is typed. `examples` are what a sweep tries."""

    description: str
    default: str
    examples: Sequence[str] = ("",)
    placeholder: str = ""

    def build(self) -> ipywidgets.ValueWidget:
        return ipywidgets.Text(
            value=self.default,
            description=self.description,
            placeholder=self.placeholder,
            continuous_update=True,
            style=STYLE,
            layout=_layout(WIDE),
        )

    def check(self, name: str, value: Any) -> None:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be text, got {type(value).__name__}")

    def sweep(self) -> list[Any]:
        return [self.default, *self.examples]

    def sample(self, random: Random) -> Any:
        return random.choice(self.sweep())

"""One head that must bring back two tokens, and a second head for the second token."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from random import Random
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Point, Steps, Toggle

LETTERS = "ABC"
PLACES = 4  # 4 back, 3 back, 2 back, 1 back
WHOLE = 100  # percent

EVEN = [25, 25, 25, 25]
ONE_BACK = [0, 0, 0, 100]
THREE_BACK = [0, 100, 0, 0]
MIDDLE = (0.0, 0.0)
START: dict[str, Any] = {"two": False, "triangle": False, "cut_one": MIDDLE, "cut_three": MIDDLE}
CUTS: dict[str, Any] = {**START, "triangle": True}


@dataclass(frozen=True)
class Percents:
    """One head's weights on the four places in whole percent, as bars that the picture drags."""

    label: str
    default: list[int]

    def check(self, name: str, value: Any) -> list[int]:
        if not isinstance(value, Sequence) or not all(isinstance(w, Integral) for w in value):
            raise TypeError(f"{name} must be {PLACES} whole percents, got {value!r}")
        weights = [int(each) for each in value]
        if len(weights) != PLACES or min(weights) < 0 or sum(weights) != WHOLE:
            raise ValueError(f"{name} must be {PLACES} percents that sum to 100, got {value!r}")
        return weights

    def spec(self) -> dict[str, Any]:
        return {"kind": "percents", "label": self.label, "in_picture": True}

    def sweep(self) -> list[Any]:
        shared = [[0, WHOLE - first, 0, first] for first in (100, 70, 50, 30, 0)]
        return [self.default, *shared, [10, 30, 10, 50], [100, 0, 0, 0]]

    def sample(self, random: Random) -> Any:
        ends = sorted(random.randint(0, WHOLE) for _ in range(PLACES - 1))
        return [b - a for a, b in itertools.pairwise([0, *ends, WHOLE])]


class Letters(Steps):
    """A text of four letters, which are pressed in the picture."""

    def sweep(self) -> list[Any]:
        return list(self.values)[::16]


class TwoPlaces(Explorer):
    """One head's weights, dragged → where its outputs land, and what can be read from them."""

    title = "Can one head bring back two tokens at once?"
    inputs = {
        "first": Percents("weight of head 1", EVEN),
        "second": Percents("weight of head 2", THREE_BACK),
        "two": Toggle("a second head", in_picture=True),
        "triangle": Toggle("the mixtures in triangles", in_picture=True),
        "text": Letters(
            "letters of the text",
            ["".join(each) for each in itertools.product(LETTERS, repeat=PLACES)],
            "CABC",
            in_picture=True,
        ),
        "cut_one": Point("cuts for one back", MIDDLE, -1.5, 1.5),
        "cut_three": Point("cuts for three back", MIDDLE, -1.5, 1.5),
    }
    presets = {
        "even weights": {**START, "first": EVEN},
        "all on one back": {**START, "first": ONE_BACK},
        "half and half": {**START, "first": [0, 50, 0, 50]},
        "70 % and 30 %": {**CUTS, "first": [0, 30, 0, 70]},
        "cuts moved by hand": {**CUTS, "first": [0, 45, 0, 55], "cut_three": (-0.11, 0.19)},
        "two heads": {**START, "two": True, "first": ONE_BACK, "second": THREE_BACK},
    }
    view = "two_places.js"
    reading = (
        "The bars are the weights of one head. What it brings back is a mixture of the letters' "
        "values, and a linear layer has to read both answers from it. In the triangles the corners "
        "are the three values, and the purple ring is the mixture. The nine circles are the nine "
        "pairs of letters one and three back, each where its output lands, with the right answer "
        "in it; it is filled where the readout says so. A linear readout can only cut the plane by "
        "straight lines. These cuts are the ones with the lowest loss; drag the ◇ where they meet "
        "to try others. No cuts get all nine pairs right for both answers, unless there is a "
        "second head. Dots: all 81 texts."
    )

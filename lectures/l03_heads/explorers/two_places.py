"""One head that must bring back two tokens, and a second head for the second token."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from random import Random
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Point, Steps, Toggle

LETTERS = "ABC"
PLACES = 4  # 4 back, 3 back, 2 back, 1 back
ASKED = (PLACES - 1, PLACES - 3)  # where one back and three back are
WHOLE = 100  # percent
SAME = 1e-6  # scores that differ by less are a tie
# Three values of any width span a triangle, so the plane is enough to see all that can happen.
VALUES = np.array([[0.0, 1.0], [-(3**0.5) / 2, -0.5], [3**0.5 / 2, -0.5]])
TEXTS = np.array(list(itertools.product(range(len(LETTERS)), repeat=PLACES)))  # (81, 4)

EVEN = [25, 25, 25, 25]
ONE_BACK = [0, 0, 0, 100]
THREE_BACK = [0, 100, 0, 0]
MIDDLE = (0.0, 0.0)
START: dict[str, Any] = {"two": False, "cut_one": MIDDLE, "cut_three": MIDDLE}


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


@dataclass(frozen=True)
class TwoPlacesState:
    """What both answers are read from, first the one for one back, then the one for three back.

    Attributes:
        spots: where the head's output lands in the plane for each text (2, 81, 2).
        said: the letter that the readout says for each text (2, 81); −1 for a tie.
        truth: the right letters (2, 81).
        at: which of the 81 texts is written above.
        right: share of texts (2,) in which an answer is right.
        both: share in which both are.
    """

    spots: np.ndarray
    said: np.ndarray
    truth: np.ndarray
    at: int
    right: np.ndarray
    both: float


def percents_of_letters(weights: Sequence[int]) -> np.ndarray:
    """How much of a head's weight lies on each letter, for each text (81, 3), in percent."""
    is_letter = TEXTS[..., None] == np.arange(len(LETTERS))  # (81, 4, 3)
    return np.asarray((np.array(weights)[:, None] * is_letter).sum(axis=1))


def shares_at(point: Sequence[float]) -> np.ndarray:
    """A point of the plane as a mixture of the three values: shares that sum to 1."""
    return np.asarray(1 / 3 + 2 / 3 * (VALUES @ np.asarray(point, float)))


def answers(weights: Sequence[int], cut: Sequence[float]) -> np.ndarray:
    """The letter for each text (81,), −1 for a tie: a linear readout of the head's output.

    The score of a letter is its share in the output less its share where the three cuts meet.
    In the middle, these are the answers of the readout with the lowest cross-entropy: all letters
    are equally likely, so it treats them alike, and the letter with the most weight wins.
    """
    scores = percents_of_letters(weights) - WHOLE * shares_at(cut)
    best = scores.max(axis=1, keepdims=True)
    tied = (best - scores < SAME).sum(axis=1) > 1
    return np.where(tied, -1, scores.argmax(axis=1))


class TwoPlaces(Explorer):
    """One head's weights, dragged → where its outputs land, and what can be read from them."""

    title = "Can one head bring back two tokens at once?"
    inputs = {
        "first": Percents("weight of head 1", EVEN),
        "second": Percents("weight of head 2", THREE_BACK),
        "two": Toggle("a second head", in_picture=True),
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
        "70 % and 30 %": {**START, "first": [0, 30, 0, 70]},
        "cuts moved by hand": {**START, "first": [0, 45, 0, 55], "cut_three": (-0.11, 0.19)},
        "two heads": {**START, "two": True, "first": ONE_BACK, "second": THREE_BACK},
    }
    view = "two_places.js"
    reading = (
        "The corners are the values of the three tokens. A head's output is their mixture: the "
        "purple ring. The nine circles are the nine pairs of letters one and three back, each "
        "where its output lands, with the right answer in it; it is filled where the readout "
        "says so. A linear readout can only cut the plane by straight lines. These cuts are the "
        "ones with the lowest loss; drag the point where they meet to try others. No cuts get all "
        "nine pairs right for both answers, unless there is a second head. Dots: all 81 texts."
    )

    def compute(
        self, first: Any, second: Any, two: bool, text: str, cut_one: Any, cut_three: Any
    ) -> TwoPlacesState:
        heads = (first, second if two else first)
        spots = [percents_of_letters(head) / WHOLE @ VALUES for head in heads]
        said = [answers(*each) for each in zip(heads, (cut_one, cut_three), strict=True)]
        truth = TEXTS[:, list(ASKED)].T
        right = np.array(said) == truth
        return TwoPlacesState(
            spots=np.array(spots),
            said=np.array(said),
            truth=truth,
            at=list(self.inputs["text"].values).index(text),  # type: ignore[attr-defined]
            right=right.mean(axis=1),
            both=float(right.all(axis=0).mean()),
        )

    def caption(self, state: TwoPlacesState) -> str:
        one, three, both = (number(100 * each) for each in (*state.right, state.both))
        here = ", ".join(
            f"[v:{LETTERS[said]}] ({'right' if said == truth else 'wrong'})"
            if said >= 0
            else "a tie"
            for said, truth in zip(state.said[:, state.at], state.truth[:, state.at], strict=True)
        )
        return (
            f"One back is right in {one} % of texts, three back in {three} %, "
            f"both in [b:{both} %]. Here: {here}."
        )

"""Lecture 02: scores in the hand, their weights, the Jacobian, and its norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from random import Random
from typing import Any

import torch

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider

KEYS = 16
HIGHEST = 60.0
DRAWS = 20
# The draw whose norms at d_k = 16, 64 and 512 lie nearest to the medians of 10,000 rows or more.
TYPICAL = 6
WIDEST = 512
ONE_AHEAD = [2.5 if key == 6 else 0.0 for key in range(KEYS)]
ONE_HAS_WON = [7.3 if key == 6 else 0.0 for key in range(KEYS)]
TWO_COMPETE = [6.0 if key in (4, 11) else -4.0 for key in range(KEYS)]


@lru_cache(maxsize=1)
def running_scores() -> torch.Tensor:
    """q·k over the first 1, 2, ... 512 coordinates, (draws, keys, widths): always the same."""
    random = torch.Generator().manual_seed(2)
    size = (DRAWS, 1, WIDEST)
    q = torch.randn(size, generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, WIDEST), generator=random, dtype=torch.float64)
    return (q * k).cumsum(dim=-1)


def typical_scores(width: int) -> list[float]:
    """The typical draw's scores at a head width, to one decimal, as the hand can set them."""
    scores = running_scores()[TYPICAL - 1, :, width - 1]
    return [round(each, 1) for each in scores.tolist()]


@dataclass(frozen=True)
class Scores:
    """A row of scores that the picture lets the reader drag up and down."""

    label: str
    default: list[float]

    def check(self, name: str, value: Any) -> list[float]:
        if not isinstance(value, Sequence) or len(value) != len(self.default):
            raise TypeError(f"{name} must be {len(self.default)} numbers, got {value!r}")
        if not all(isinstance(each, Real) and not isinstance(each, bool) for each in value):
            raise TypeError(f"{name} must be {len(self.default)} numbers, got {value!r}")
        if not all(abs(float(each)) <= HIGHEST for each in value):
            raise ValueError(f"{name} must be −{HIGHEST:.0f} to {HIGHEST:.0f}, got {value!r}")
        return [float(each) for each in value]

    def spec(self) -> dict[str, Any]:
        ends = {"min": -HIGHEST, "max": HIGHEST, "step": 0.1}
        return {"kind": "scores", "label": self.label, **ends, "in_picture": True}

    def sweep(self) -> list[Any]:
        rising = [round(0.3 * key - 2, 1) for key in range(KEYS)]
        spread = [HIGHEST * (1 if key % 3 else -1) for key in range(KEYS)]
        alone = [HIGHEST if key == 9 else -HIGHEST for key in range(KEYS)]
        return [self.default, [0.0] * KEYS, rising, spread, alone]

    def sample(self, random: Random) -> Any:
        spread = random.choice((0.5, 3, 20))
        return [round(random.uniform(-spread, spread), 1) for _ in self.default]


def _preset(scores: list[float], temperature: float = 1.0) -> dict[str, Any]:
    return {"scores": scores, "temperature": temperature}


class SoftmaxJacobian(Explorer):
    """Scores and a temperature → weights, Jacobian, and what is left of a gradient."""

    title = "How strongly do the weights react to the scores?"
    inputs = {
        "scores": Scores("score of key", ONE_AHEAD),
        "temperature": Slider("temperature", 0.1, 16.0, 1.0, 0.1, fine=1, in_picture=True),
    }
    presets = {
        "one ahead": _preset(ONE_AHEAD),
        "one has won": _preset(ONE_HAS_WON),
        "all equal": _preset([0.0] * KEYS),
        "two compete": _preset(TWO_COMPETE),
        "d_k = 16": _preset(typical_scores(16)),
        "d_k = 64": _preset(typical_scores(64)),
        "d_k = 512": _preset(typical_scores(512)),
        "d_k = 64, divided": _preset(typical_scores(64), 8.0),
    }
    view = "softmax.js"
    reading = (
        "Drag a score, and all weights follow, because they add up to 1. The temperature divides "
        "all scores; a faint outline is a score before that. The square, the Jacobian, has a "
        "column for each score and a row for each weight: teal where the weight rises with the "
        "score, magenta where it falls. At temperature 2 a point of score counts half. Its "
        "strength is one number for all of it, the root of the sum of its squares (its norm). The "
        "temperature divides it, as it divides all slopes. The curve shows the strength at every "
        "temperature: low on the left, where the temperature is high, and on the right, where one "
        "key has everything. The buttons with d_k have the scores of a random query and random "
        "keys."
    )

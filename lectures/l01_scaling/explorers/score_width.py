"""Lecture 01: scores spread as heads grow wider, and one key takes all of the weight."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Slider, Steps, Toggle
from lectures.l01_scaling.experiments.score_variance import (
    ALL_EQUAL,
    CAUCHY,
    COINS,
    DISTRIBUTIONS,
    KEYS,
    QUERIES,
    TYPICAL,
    WIDTHS,
    ScoreLaw,
    query_sums,
    running_sums,
    score_law,
    scores_from,
)

AXIS = (
    50.0  # the axis reaches so far on both sides, and twice as far as often as that is too little
)
FINEST = 200  # bars on each side of 0, at most
PER_SPREAD = 4  # bars to a standard deviation
AS_TAUGHT = {
    "width": 64,
    "coordinates": "normal",
    "correlation": 0.0,
    "variance": 1.0,
    "mean": 0.0,
}


@dataclass(frozen=True)
class ScoreState:
    """2,000 scores in bars, what is predicted for them, and the weights of one query.

    The axis reaches from -`view` to `view`. `heights` (bars,) are relative to the tallest; the
    first bar begins at `start`, each is `step` wide. `law_mean` and `law_spread` are mean and
    standard deviation by formula, None where they do not exist; `peak` is the height of the normal
    density with these two. `scores` and `weights` (64,) belong to one query.
    """

    view: float
    start: float
    step: float
    heights: np.ndarray
    mean: float
    spread: float
    law_mean: float | None
    law_spread: float | None
    peak: float
    scores: np.ndarray
    weights: np.ndarray
    best: int
    largest: float
    width: int
    divided: bool


def axis_for(law: ScoreLaw, width: int) -> float:
    """Half the axis: it holds the mean and two standard deviations, and some of what has neither.

    >>> axis_for(ScoreLaw(0.0, 512.0), 512), axis_for(ScoreLaw(154.0, 550.0), 512)
    (50.0, 400.0)
    """
    reach = AXIS * width
    if law.mean is not None and law.variance is not None:
        reach = abs(law.mean) + 2 * math.sqrt(law.variance)
    view = AXIS
    while view < reach:
        view *= 2
    return view


def bars_for(
    law: ScoreLaw, view: float, lattice: tuple[float, float] | None
) -> tuple[float, float]:
    """Left edge of the first bar, and the width of each.

    Scores of coin flips lie on a lattice (a point of it, its gap). A bar then holds a whole number
    of points and ends midway between two: other bars would hold now more, now fewer, and draw a
    comb.
    """
    if law.mean is None or law.variance is None:
        middle, step = 0.0, view / 40
    else:
        middle, step = law.mean, max(math.sqrt(law.variance) / PER_SPREAD, view / FINEST)
    edge = middle - step / 2
    if lattice and lattice[1] > 0:
        point, gap = lattice
        edge, step = point - gap / 2, gap * max(1, math.floor(step / gap + 0.5))
    return edge - math.ceil((edge + view) / step) * step, step


def _written(value: float, digits: int) -> str:
    """A number whose digits nobody needs beyond some four."""
    if abs(value) >= 1e6:
        return f"{number(value / 1e6)} million"
    return number(value, digits if abs(value) < 100 else 0)


class ScoreWidth(Explorer):
    """Head width, division, distribution, correlation, size, mean → scores and weights."""

    title = "What happens to the weights when heads grow wider?"
    inputs = {
        "width": Steps("head width d_k", WIDTHS, 4),
        "divided": Toggle("divide by √d_k"),
        "coordinates": Choice("coordinates are", tuple(DISTRIBUTIONS), "normal"),
        "correlation": Slider("correlation ρ of q and k", -1.0, 1.0, 0.0, 0.05),
        "variance": Slider("variance σ² of each", 0.25, 4.0, 1.0, 0.25),
        "mean": Slider("mean μ of each", -1.0, 1.0, 0.0, 0.1),
        "query": Slider("which random query", 1, QUERIES, TYPICAL),
    }
    presets = {
        "d_k = 4": {**AS_TAUGHT, "width": 4},
        "d_k = 64": AS_TAUGHT,
        "d_k = 512": {**AS_TAUGHT, "width": 512},
        "coin flips": {**AS_TAUGHT, "coordinates": COINS},
        "variance 2": {**AS_TAUGHT, "variance": 2.0},
        "q and k correlated": {**AS_TAUGHT, "correlation": 0.3},
        "mean not 0": {**AS_TAUGHT, "mean": 0.5},
        "all equal": {**AS_TAUGHT, "coordinates": ALL_EQUAL},
        "infinite variance": {**AS_TAUGHT, "coordinates": CAUCHY},
    }
    view = "score_width.js"
    reading = (
        "Above: 2,000 scores of random queries and keys; the band is one standard deviation (their "
        "spread) on each side of the mean, as the proof predicts it, and the line is the normal "
        "density with that mean and spread. Drag the band's edge, or move the slider. The orange "
        "strokes are the scores of one query with its 64 keys. Below: the weights that softmax "
        "makes of these. Choose a key to find its score."
    )

    def compute(
        self,
        width: int,
        divided: bool,
        coordinates: str,
        correlation: float,
        variance: float,
        mean: float,
        query: int,
    ) -> ScoreState:
        shape = {"correlation": correlation, "variance": variance, "mean": mean}
        divisor = math.sqrt(width) if divided else 1.0
        law = score_law(coordinates, width, **shape).divided_by(divisor)
        samples = scores_from(running_sums(coordinates)[width], width, **shape) / divisor
        scores = scores_from(query_sums(coordinates, query, KEYS)[width], width, **shape) / divisor
        view = axis_for(law, width)
        lattice = None
        if coordinates == COINS and mean == 0:
            rest = math.sqrt(1 - correlation * correlation)
            most = variance * width * (correlation + rest) / divisor
            lattice = (most, 2 * variance * rest / divisor)
        start, step = bars_for(law, view, lattice)
        counts, peak = _counted(samples, law, view, start, step)
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        best = int(np.argmax(scores))
        return ScoreState(
            view=view,
            start=start,
            step=step,
            heights=counts,
            mean=float(samples.mean()),
            spread=float(samples.std()),
            law_mean=law.mean,
            law_spread=None if law.variance is None else math.sqrt(law.variance),
            peak=peak,
            scores=scores,
            weights=weights,
            best=best,
            largest=float(weights[best]),
            width=width,
            divided=divided,
        )

    def caption(self, state: ScoreState) -> str:
        how = f"Divided by √{state.width}" if state.divided else f"At d_k = {state.width}"
        measured = f"mean {_written(state.mean, 1)} and spread [b:{_written(state.spread, 2)}]"
        predicted = "nothing can be predicted"
        if state.law_mean is not None and state.law_spread is not None:
            law = f"{_written(state.law_mean, 1)} and {_written(state.law_spread, 2)}"
            predicted = f"predicted: {law}"
        return (
            f"{how}, scores have {measured} ({predicted}). The largest of {KEYS} weights is "
            f"[b:{number(state.largest, 2)}]."
        )


def _counted(
    samples: np.ndarray, law: ScoreLaw, view: float, start: float, step: float
) -> tuple[np.ndarray, float]:
    """The bars' heights, and that of the predicted density, both relative to the tallest bar."""
    count = math.ceil((view - start) / step)
    at = np.floor((samples - start) / step)
    inside = at[(at >= 0) & (at < count)].astype(int)
    counts: Any = np.bincount(inside, minlength=count)
    tallest = max(int(counts.max()), 1)
    spread = math.sqrt(law.variance or 0)
    peak = len(samples) * step / (spread * math.sqrt(2 * math.pi)) / tallest if spread else 0.0
    return counts / tallest, peak

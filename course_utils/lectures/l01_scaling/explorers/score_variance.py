"""Lecture 01: the histogram of scores, unscaled and scaled, with the density that is predicted."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import BLUE, GRID, INK, ORANGE
from course_utils.lectures.l01_scaling.experiments.score_variance import (
    ALL_EQUAL,
    DISTRIBUTIONS,
    WIDTHS,
    ScoreLaw,
    running_sums,
    sample_scores,
    score_law,
)

BINS = 81
VIEW_UNSCALED = 80.0
VIEW_SCALED = 10.0
MOST_STEPS, FEW_STEPS = 400, 5
AS_TAUGHT = {
    "width": 64,
    "distribution": "normal",
    "correlation": 0.0,
    "variance": 1.0,
    "mean": 0.0,
}


@dataclass(frozen=True)
class Histogram:
    """Scores in bins from -view to view, relative to the tallest, and the predicted curve.

    Heights are relative so that the shape stays in sight while its width grows a hundredfold.
    """

    view: float
    heights: np.ndarray
    edges: np.ndarray
    predicted: np.ndarray | None
    spread: float
    outside: float


@dataclass(frozen=True)
class ScoreState:
    """Scores and their law, before and after the division by the root of the width."""

    unscaled: Histogram
    scaled: Histogram
    law: ScoreLaw
    scaled_law: ScoreLaw


def _curve_x(view: float) -> np.ndarray:
    return np.linspace(-view, view, 601)


def bin_edges(scores: np.ndarray, view: float) -> np.ndarray:
    """Edges of about BINS equal bins from -view to view.

    Scores of coin flips lie on a lattice. A bin then holds a whole number of lattice points, with
    its edges midway between two: other bins would hold now more, now fewer, and draw a comb. Of a
    few points each has a bar of its own, so that nothing seems to lie between them.

    >>> bin_edges(np.array([-4.0, -2.0, 0.0, 2.0, 6.0]), 5.0)[:3].tolist()
    [-5.0, -3.0, -1.0]
    >>> np.round(bin_edges(np.array([-1.0, 1.0]), 2.0)[:5], 6).tolist()
    [-2.0, -1.6, -1.2, -0.8, -0.4]
    """
    width, start = 2 * view / BINS, -view
    steps = np.unique(scores.round(4))
    if 1 < len(steps) <= MOST_STEPS:
        span = steps[-1] - steps[0]
        gap = span / round(span / np.diff(steps).min())
        width = gap / 5 if len(steps) < FEW_STEPS else gap * max(1, round(width / gap))
        middle = steps[0] - min(gap, width) / 2
        start = middle - width * math.ceil((middle + view) / width)
    return start + width * np.arange(math.ceil((view - start) / width) + 1)


def fitting_view(view: float, law: ScoreLaw) -> float:
    """The view, doubled until it holds what the law predicts: the mean and 3 standard deviations.

    >>> fitting_view(10.0, ScoreLaw(0.0, 1.0)), fitting_view(10.0, ScoreLaw(23.0, 2.0))
    (10.0, 40.0)
    """
    if law.mean is None or law.variance is None:
        return view
    reach = abs(law.mean) + 3 * math.sqrt(law.variance)
    return view * 2 ** max(0, math.ceil(math.log2(reach / view))) if reach else view


def _histogram(scores: np.ndarray, law: ScoreLaw, narrowest: float) -> Histogram:
    view = fitting_view(narrowest, law)
    counts, edges = np.histogram(scores, bins=bin_edges(scores, view))
    tallest = max(int(counts.max()), 1)
    predicted = None
    if law.mean is not None and law.variance is not None and law.variance > 0:
        per_bin = len(scores) * (edges[1] - edges[0]) / tallest
        predicted = per_bin * _normal_density(_curve_x(view), law.mean, math.sqrt(law.variance))
    return Histogram(
        view=view,
        heights=counts / tallest,
        edges=edges,
        predicted=predicted,
        spread=float(scores.std()),
        outside=float((np.abs(scores) > view).mean()),
    )


def _normal_density(x: np.ndarray, mean: float, spread: float) -> np.ndarray:
    return np.exp(-0.5 * ((x - mean) / spread) ** 2) / (spread * math.sqrt(2 * math.pi))


def _beyond(state: ScoreState) -> str:
    """What the panels cannot show, where it is more than one score in two hundred."""
    panels = (("left", state.unscaled), ("right", state.scaled))
    shares = [(side, histogram.outside) for side, histogram in panels]
    parts = [f"{share:.0%} beyond the {side} panel" for side, share in shares if share >= 0.005]
    widened = state.unscaled.view > VIEW_UNSCALED or state.scaled.view > VIEW_SCALED
    words = " The panels have widened to hold the scores." if widened else ""
    return words + (f" Out of sight: {' and '.join(parts)}." if parts else "")


class ScoreVariance(DrawnExplorer):
    """Head width, distribution, correlation, variance, mean → what the scores look like."""

    title = "When does dividing by √d_k give variance 1?"
    inputs = {
        "width": Steps("head width d_k", WIDTHS, 64),
        "distribution": Choice("coordinates are", tuple(DISTRIBUTIONS), "normal"),
        "correlation": Slider("correlation ρ of q and k", -1.0, 1.0, 0.05, 0.0),
        "variance": Slider("variance σ² of each", 0.25, 4.0, 0.25, 1.0),
        "mean": Slider("mean μ of each", -1.0, 1.0, 0.1, 0.0),
    }
    scenes = {
        "as the proof assumes": AS_TAUGHT,
        "not normal, still right": {**AS_TAUGHT, "distribution": "±1 (coin flips)"},
        "variance 2": {**AS_TAUGHT, "variance": 2.0},
        "q and k correlated": {**AS_TAUGHT, "correlation": 0.3},
        "mean not 0": {**AS_TAUGHT, "mean": 0.5},
        "no variance at all": {**AS_TAUGHT, "distribution": "Cauchy (no variance)"},
        "d_k = 512": {**AS_TAUGHT, "width": 512},
        "coordinates all equal": {**AS_TAUGHT, "distribution": ALL_EQUAL},
    }
    size = (8.0, 3.5)
    frames = ("width", "correlation")

    def prepare(self) -> None:
        for name in DISTRIBUTIONS:
            running_sums(name)

    def compute(
        self, width: int, distribution: str, correlation: float, variance: float, mean: float
    ) -> ScoreState:
        shape = {"correlation": correlation, "variance": variance, "mean": mean}
        scores = sample_scores(distribution, width, **shape).numpy()
        law = score_law(distribution, width, **shape)
        scaled_law = law.divided_by(math.sqrt(width))
        return ScoreState(
            unscaled=_histogram(scores, law, VIEW_UNSCALED),
            scaled=_histogram(scores / math.sqrt(width), scaled_law, VIEW_SCALED),
            law=law,
            scaled_law=scaled_law,
        )

    def draw(self, figure: Figure, state: ScoreState) -> None:
        self._axes = left, right = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.075, right=0.985, bottom=0.15, top=0.89, wspace=0.2)
        self._left = self._draw_panel(left, r"$q \cdot k$, not divided", ORANGE)
        self._right = self._draw_panel(right, r"$q \cdot k \,/\, \sqrt{d_k}$", BLUE)
        self._band = left.axvspan(-1, 1, color=GRID, linewidth=0, zorder=0)
        left.set_ylabel("height (tallest bar = 1)")

    def _draw_panel(self, axes: Axes, title: str, colour: str):
        axes.set(title=title, xlabel="score", ylim=(0, 1.15), yticks=[0, 1])
        bars = axes.stairs([0], [-1, 1], fill=True, color=colour, alpha=0.55)
        (curve,) = axes.plot([], [], color=INK, linewidth=1.8)
        self.animate(bars, curve)
        return bars, curve

    def backdrop(self, state: ScoreState) -> Hashable:
        return state.unscaled.view, state.scaled.view

    def draw_backdrop(self, state: ScoreState) -> None:
        views = (state.unscaled.view, state.scaled.view)
        for axes, view in zip(self._axes, views, strict=True):
            axes.set_xlim(-view, view)
        self._band.set_x(-views[1])
        self._band.set_width(2 * views[1])

    def update(self, state: ScoreState) -> None:
        for panel, histogram in ((self._left, state.unscaled), (self._right, state.scaled)):
            bars, curve = panel
            bars.set_data(histogram.heights, histogram.edges)
            curve.set_visible(histogram.predicted is not None)
            if histogram.predicted is not None:
                curve.set_data(_curve_x(histogram.view), histogram.predicted)

    def caption(self, state: ScoreState) -> str:
        beyond = _beyond(state)
        spread = f"{state.unscaled.spread:.2f} before the division, {state.scaled.spread:.2f} after"
        if state.scaled_law.variance is None or state.law.variance is None:
            return (
                f"Measured standard deviation {spread}. A Cauchy coordinate has no variance, so "
                f"there is nothing to predict: a few huge products decide these numbers.{beyond}"
            )
        if state.law.variance == 0:
            return (
                f"Measured standard deviation {spread}. Each coordinate of k follows from that of "
                f"q here, and every score is {state.law.mean:.0f} before the division: no spread, "
                f"hence no curve.{beyond}"
            )
        return (
            f"Measured standard deviation {spread}. Predicted {math.sqrt(state.law.variance):.2f} "
            f"and {math.sqrt(state.scaled_law.variance):.2f}, around a mean of "
            f"{state.scaled_law.mean:.2f} after the division. The line is the normal density with "
            f"the predicted mean and variance; the grey band is the range of the right panel."
            f"{beyond}"
        )

"""Lecture 01: random directions in many dimensions are nearly orthogonal."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from matplotlib.figure import Figure

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Steps
from course_utils.explorers.style import BLUE, INK
from course_utils.lectures.l01_scaling.experiments.random_cosines import (
    WIDTHS,
    cosine_density,
    sample_cosines,
)

BINS = 80
# The density in two dimensions is infinite at ±1, so the curve stops just short.
CURVE = torch.linspace(-0.999, 0.999, 801)


@dataclass(frozen=True)
class CosineState:
    """8000 cosines in BINS bins from -1 to 1, and the exact curve, relative to the tallest bin."""

    heights: np.ndarray
    exact: np.ndarray
    variance: float
    within_ten_degrees: float
    width: int


class RandomCosines(DrawnExplorer):
    """The number of dimensions → how random directions meet."""

    title = "How do two random directions meet in d dimensions?"
    inputs = {"width": Steps("dimensions d", WIDTHS, 64)}
    scenes = {
        "a plane": {"width": 2},
        "a sphere": {"width": 3},
        "one head, d = 64": {"width": 64},
        "d = 1024": {"width": 1024},
    }
    size = (8.0, 3.3)
    frames = ("width",)

    def compute(self, width: int) -> CosineState:
        cosines = sample_cosines()[width].numpy()
        counts, edges = np.histogram(cosines, bins=BINS, range=(-1, 1))
        per_bin = len(cosines) * (edges[1] - edges[0]) / counts.max()
        return CosineState(
            heights=counts / counts.max(),
            exact=cosine_density(CURVE, width).numpy() * per_bin,
            variance=float(cosines.var()),
            within_ten_degrees=float((np.abs(cosines) < math.sin(math.radians(10))).mean()),
            width=width,
        )

    def draw(self, figure: Figure, state: CosineState) -> None:
        axes = figure.add_axes((0.075, 0.17, 0.9, 0.78))
        axes.set(xlabel="cosine of the angle", ylabel="height (tallest bar = 1)")
        axes.set(xlim=(-1, 1), ylim=(0, 1.15), yticks=[0, 1])
        edges = np.linspace(-1, 1, BINS + 1)
        self._bars = axes.stairs(np.zeros(BINS), edges, fill=True, color=BLUE, alpha=0.55)
        (self._curve,) = axes.plot(CURVE, CURVE, color=INK, linewidth=1.8)
        self.animate(self._bars, self._curve)

    def update(self, state: CosineState) -> None:
        self._bars.set_data(state.heights)
        self._curve.set_ydata(state.exact)

    def caption(self, state: CosineState) -> str:
        return (
            f"In {state.width} dimensions the cosine of 8000 random pairs has variance "
            f"{state.variance:.4f}; the formula says 1/d = {1 / state.width:.4f}. "
            f"{state.within_ten_degrees:.0%} of the pairs are within 10 degrees of a right angle. "
            "The line is the exact density, proportional to (1\u00a0−\u00a0x²)^((d−3)/2)."
        )

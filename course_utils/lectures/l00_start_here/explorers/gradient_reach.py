"""Lecture 00: how much of a layer's last state still depends on an input t steps back."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from course_utils.explorers.draw import end_label
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Slider, Steps
from course_utils.explorers.style import BLUE, ORANGE, PURPLE, TEAL
from course_utils.lectures.l00_start_here.experiments.gradient_reach import (
    KINDS,
    gradient_by_distance,
)

WIDTHS = (8, 16, 32, 64, 128)
LENGTH = 64
FLOOR = 1e-28
NAMES = {"rnn": "vanilla RNN", "lstm": "LSTM", "gru": "GRU", "attention": "attention"}
LOOKS = {
    "rnn": (ORANGE, ":"),
    "lstm": (TEAL, "--"),
    "gru": (PURPLE, "-."),
    "attention": (BLUE, "-"),
}


@dataclass(frozen=True)
class ReachState:
    """The share of the gradient by distance, for each kind of layer."""

    shares: dict[str, np.ndarray]
    distance: int
    width: int


def _shares(width: int) -> dict[str, np.ndarray]:
    return {kind: gradient_by_distance(kind, width=width, length=LENGTH).numpy() for kind in KINDS}


def _label_heights(shares: dict[str, np.ndarray]) -> dict[str, float]:
    """Where each curve is named: at its end, but LSTM and GRU, which end close by, kept apart."""
    heights = {kind: max(float(share[-1]), FLOOR) for kind, share in shares.items()}
    low, high = sorted(("lstm", "gru"), key=heights.__getitem__)
    return {**heights, low: heights[low] / 10, high: heights[high] * 10}


class GradientReach(DrawnExplorer):
    """Distance and width → what is left of the gradient, for four layers."""

    title = "How much of the last state's gradient reaches an input t steps back?"
    inputs = {
        "distance": Slider("steps back t", 0, LENGTH - 1, 1, 32),
        "width": Steps("hidden width C", WIDTHS, 32),
    }
    scenes = {
        "one step": {"distance": 1, "width": 32},
        "a sentence ago": {"distance": 20, "width": 32},
        "a paragraph ago": {"distance": 63, "width": 32},
        "wider does not help": {"distance": 63, "width": 128},
    }
    size = (8.0, 3.8)
    frames = ("distance", "width")

    def prepare(self) -> None:
        for width in WIDTHS:
            _shares(width)

    def compute(self, distance: int, width: int) -> ReachState:
        return ReachState(_shares(width), distance, width)

    def draw(self, figure: Figure, state: ReachState) -> None:
        axes = figure.add_axes((0.11, 0.15, 0.735, 0.8))
        axes.set(yscale="log", xlim=(0, LENGTH - 1), ylim=(FLOOR, 3), xlabel="steps back t")
        axes.set_ylabel("share of the gradient")
        axes.grid(axis="y")
        self._curves, self._dots, self._labels = {}, {}, {}
        for kind in KINDS:
            colour, style = LOOKS[kind]
            (self._curves[kind],) = axes.plot([], [], color=colour, linestyle=style)
            (self._dots[kind],) = axes.plot([], [], "o", color=colour, markersize=8)
            self._labels[kind] = end_label(axes, LENGTH - 1, 1.0, NAMES[kind], colour)
        self._mark = axes.axvline(0, color="#999999", linewidth=1)
        self.animate(self._mark, *self._curves.values(), *self._dots.values())

    def backdrop(self, state: ReachState) -> Hashable:
        return state.width

    def draw_backdrop(self, state: ReachState) -> None:
        for kind, height in _label_heights(state.shares).items():
            self._labels[kind].xy = (LENGTH - 1, height)

    def update(self, state: ReachState) -> None:
        steps = np.arange(LENGTH)
        for kind, share in state.shares.items():
            self._curves[kind].set_data(steps, share)
            self._dots[kind].set_data([state.distance], [share[state.distance]])
        self._mark.set_xdata([state.distance, state.distance])

    def caption(self, state: ReachState) -> str:
        at = {kind: share[state.distance] for kind, share in state.shares.items()}
        named = ", ".join(f"{NAMES[kind]} {_rounded(value)}" for kind, value in at.items())
        return (
            f"{state.distance} steps back, width {state.width}, fresh layers: {named}. "
            "A share is the size of the gradient with respect to one input, divided by the sum of "
            f"all {LENGTH} sizes (median of five layers); an even spread would be {1 / LENGTH:.3f}."
        )


def _rounded(share: float) -> str:
    """Two digits where they are stable, and only the power of ten below one in a thousand."""
    return f"{share:.3f}" if share >= 1e-3 else f"about 1e{round(np.log10(share))}"

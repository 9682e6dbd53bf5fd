"""The explorers of the lecture; docs/writing-an-explorer.md explains this one line by line."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps
from course_utils.explorers.style import BLUE


@dataclass(frozen=True)
class SoftmaxState:
    """The weights (S,) at one temperature."""

    weights: np.ndarray
    temperature: float


class SoftmaxTemperature(Explorer):
    """Weights over evenly spaced scores, from -2 to 2."""

    title = "How sharp is a softmax?"
    inputs = {
        "temperature": Slider("temperature", 0.1, 5.0, 0.1, 1.0),
        "count": Steps("number of scores", (2, 5, 11), 5),
    }
    scenes = {
        "nearly one word": {"temperature": 0.1},
        "as trained": {"temperature": 1.0},
        "nearly even": {"temperature": 5.0},
    }
    size = (6.0, 2.8)
    frames = ("temperature", "count")

    def compute(self, temperature: float, count: int) -> SoftmaxState:
        weights = np.exp(np.linspace(-2, 2, count) / temperature)
        return SoftmaxState(weights / weights.sum(), temperature)

    def draw(self, figure: Figure, state: SoftmaxState) -> None:
        self.axes = figure.add_axes((0.12, 0.2, 0.85, 0.75), ylim=(0, 1))
        self.axes.set(xlabel="score", ylabel="weight")
        (self.line,) = self.axes.plot([], [], "o-", color=BLUE)
        self.animate(self.line)

    def update(self, state: SoftmaxState) -> None:
        self.line.set_data(range(len(state.weights)), state.weights)

    def caption(self, state: SoftmaxState) -> str:
        return (
            f"At temperature {state.temperature:.1f} the largest of {len(state.weights)} weights "
            f"is {state.weights[-1]:.3f}."
        )

    def backdrop(self, state: SoftmaxState) -> Hashable:
        return len(state.weights)

    def draw_backdrop(self, state: SoftmaxState) -> None:
        count = len(state.weights)
        self.axes.set(xlim=(-0.5, count - 0.5), xticks=range(count))


explore_softmax_temperature = SoftmaxTemperature

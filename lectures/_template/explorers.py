"""The explorers of the lecture; docs/writing-an-explorer.md explains this one line by line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps


@dataclass(frozen=True)
class SoftmaxState:
    """The weights (S,) at one temperature."""

    weights: np.ndarray
    temperature: float


class SoftmaxTemperature(Explorer):
    """Weights over evenly spaced scores, from -2 to 2."""

    title = "How sharp is a softmax?"
    inputs = {
        "temperature": Slider("temperature", 0.1, 5.0, 1.0, step=0.1),
        "count": Steps("number of scores", (2, 5, 11), 5),
    }
    presets = {
        "nearly one word": {"temperature": 0.1},
        "as trained": {"temperature": 1.0},
        "nearly even": {"temperature": 5.0},
    }
    view = "softmax.js"
    reading = "Each bar is the weight of one score. The scores are evenly spaced from −2 to 2."

    def compute(self, temperature: float, count: int) -> SoftmaxState:
        weights = np.exp(np.linspace(-2, 2, count) / temperature)
        return SoftmaxState(weights / weights.sum(), temperature)

    def caption(self, state: SoftmaxState) -> str:
        return (
            f"At temperature {state.temperature:.1f} the largest of {len(state.weights)} weights "
            f"is [b:{state.weights[-1]:.3f}]."
        )


explore_softmax_temperature = SoftmaxTemperature

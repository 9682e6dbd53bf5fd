"""The figures of the lecture: picture and words in one."""

from __future__ import annotations

import numpy as np

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import BLUE, new_figure


def draw_entropies(temperatures: np.ndarray, entropies: np.ndarray) -> AnnotatedFigure:
    """The entropy of the weights against the temperature."""
    figure = new_figure(6.0, 2.8)
    axes = figure.add_axes((0.12, 0.2, 0.85, 0.75))
    axes.plot(temperatures, entropies, color=BLUE)
    axes.set(xlabel="temperature", ylabel="entropy in nats", ylim=(0, None))
    caption = (
        f"The entropy of the weights rises with the temperature, from {entropies[0]:.2f} nats at "
        f"{temperatures[0]:g} to {entropies[-1]:.2f} at {temperatures[-1]:g}."
    )
    return AnnotatedFigure(figure, caption)

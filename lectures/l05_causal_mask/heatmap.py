"""Lecture 05: a heat map of weights or gradients in which an exact zero stays apart."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_utils.explorers.draw import heat_map, mute_axes
from course_utils.explorers.style import MAGENTA, MAGNITUDE_MAP

FLOOR = 1e-3  # shares below it have the palest blue; 0 is white
LOW = np.log10(FLOOR) - 0.6  # would be white: what is not 0 must not look like it


def draw_shares(axes: Axes, shares: np.ndarray, leaks: np.ndarray) -> None:
    """Shares (T, S) of a row's sum on a logarithmic scale, and which of them are leaks."""
    height = (np.log10(shares.clip(min=FLOOR)) - LOW) / (0 - LOW)
    colours = MAGNITUDE_MAP(height)
    colours[shares == 0] = to_rgba("white")
    colours[leaks] = to_rgba(MAGENTA)
    axes.imshow(colours, interpolation="nearest", aspect="auto")


def grid_lines(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Lines between the squares of a (size, size) map and around them, as one line with gaps."""
    edges = (np.arange(size + 1) - 0.5).repeat(3)
    ends = np.tile([-0.5, size - 0.5, np.nan], size + 1)
    return np.concatenate([ends, edges]), np.concatenate([edges, ends])


def draw_scale(figure: Figure, left: float, bottom: float, height: float) -> None:
    """The colours of `draw_shares` as a strip, placed by shares of the figure."""
    scale = figure.add_axes((left, bottom, 0.013, height))
    ramp = np.linspace(0.0, np.log10(FLOOR), 64)[:, None]
    heat_map(scale, ramp, low=LOW, high=0.0, extent=(0, 1, 0, 3))
    mute_axes(scale)
    scale.set_ylim(0, 3)
    scale.yaxis.tick_right()
    scale.set_yticks([0, 1, 2, 3], ["0.001", "0.01", "0.1", "1"])
    scale.tick_params(length=0, pad=2)
    scale.set_title("share", loc="left")

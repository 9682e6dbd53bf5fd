"""Lecture 05: a heat map of weights or gradients in which an exact zero stays apart."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_utils.explorers.draw import HeatMap, mute_axes
from course_utils.explorers.style import MAGENTA

FLOOR = 1e-3  # shares below it have the palest blue; 0 is white
LOW = np.log10(FLOOR) - 0.6  # would be white: what is not 0 must not look like it
# Colours of squares that show no number: exactly zero, and must not be there.
ZERO, LEAK = 0, 1
MARKS = ("#ffffff", MAGENTA)


class MaskedHeatMap(HeatMap):
    """Shares of a row on a logarithmic scale; exact zeros stay apart."""

    def __init__(self, axes: Axes) -> None:
        super().__init__(axes, low=LOW, high=0.0)
        colours = np.array([to_rgba(mark) for mark in MARKS])
        self._table = self._table.copy()
        self._table[: len(MARKS)] = (255 * colours).round().astype(np.uint8).view(np.uint32)[:, 0]

    def set_shares(self, shares: np.ndarray, leaks: np.ndarray) -> None:
        """Show shares (T, S) of each row's sum, and which of them must not be there."""
        self.set_data(np.log10(shares.clip(min=FLOOR)))
        levels = np.where(shares == 0, ZERO, self._levels.clip(min=len(MARKS)))
        self._levels = np.where(leaks, LEAK, levels).astype(np.uint8)
        self.stale = True


def grid_lines(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Lines between the squares of a (size, size) map and around them, as one line with gaps."""
    edges = (np.arange(size + 1) - 0.5).repeat(3)
    ends = np.tile([-0.5, size - 0.5, np.nan], size + 1)
    return np.concatenate([ends, edges]), np.concatenate([edges, ends])


def draw_scale(figure: Figure, left: float, bottom: float, height: float) -> None:
    """The colours of a `MaskedHeatMap` as a strip, placed by shares of the figure."""
    scale = figure.add_axes((left, bottom, 0.013, height))
    ramp = HeatMap(scale, low=LOW, high=0.0)
    ramp.set_data(np.linspace(0.0, np.log10(FLOOR), 64)[:, None])
    mute_axes(scale)
    scale.set_ylim(0, 3)
    scale.yaxis.tick_right()
    scale.set_yticks([0, 1, 2, 3], ["0.001", "0.01", "0.1", "1"])
    scale.tick_params(length=0, pad=2)
    scale.set_title("share", fontsize=11, loc="left")

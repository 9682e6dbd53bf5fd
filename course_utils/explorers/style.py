"""Colours, type sizes and the one way to make a figure.

The palette is Okabe and Ito's, chosen to survive colour blindness; magnitudes use cividis,
signed quantities a diverging map centred on zero. Text is sized for the back of a room.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.figure import Figure

INK = "#1b1b1b"
MUTED = "#6b6b6b"
GRID = "#d9d9d9"
BLUE = "#0072B2"
ORANGE = "#D55E00"
YELLOW = "#E69F00"
SKY = "#56B4E9"
PURPLE = "#8F4B8A"
SERIES = (BLUE, ORANGE, PURPLE, YELLOW, SKY)

MAGNITUDE_MAP = "cividis"
SIGNED_MAP = "PuOr_r"
DPI = 100

RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same glyphs everywhere
    "font.size": 12,
    "axes.titlesize": 13,
    "axes.labelsize": 12,
    "xtick.labelsize": 11,
    "ytick.labelsize": 11,
    "legend.fontsize": 11,
    "legend.frameon": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": False,
    "grid.color": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 2.2,
    "figure.facecolor": "white",  # opaque: the picture stays legible on a dark theme
    "savefig.facecolor": "white",
    "axes.prop_cycle": cycler(color=SERIES),
}


# matplotlib's settings are one for the process: two threads that draw take turns.
DRAWING = RLock()


@contextmanager
def course_style() -> Iterator[None]:
    """Draw with the course's type sizes and colours, and leave matplotlib's own untouched.

    Only what is changed is put back: ``rc_context`` copies all 300 settings, which takes three
    times as long, twice for each move of a slider.
    """
    settings = matplotlib.rcParams
    with DRAWING:
        before = {name: settings[name] for name in RC}
        settings.update(RC)
        try:
            yield
        finally:
            settings.update(before)


def new_figure(width: float = 8.0, height: float = 4.0) -> Figure:
    """An empty figure in the course's style; sizes in inches at 100 dots per inch.

    It is never registered with pyplot, so nothing shows it twice and nothing leaks.

    >>> new_figure(8, 3).get_size_inches().tolist()
    [8.0, 3.0]
    """
    with course_style():
        return Figure(figsize=(width, height), dpi=DPI)

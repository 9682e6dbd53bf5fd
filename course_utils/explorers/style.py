"""Colours, type sizes and the one way to make a figure.

The colours are those of the explorers' kit.css: blue for queries, orange for keys, purple for
values; teal and magenta for whatever else needs a colour. Weights go from white to deep blue,
signed numbers from magenta through white to teal. A point is 1.39 pixels of the page: text is 12 to
14 pixels high, as in the explorers, and lines are 2 wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

import matplotlib
from cycler import cycler
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

INK = "#1a2230"
MUTED = "#566072"
GRID = "#dfe3ea"
BLUE = "#0b63c4"
ORANGE = "#bd4b00"
PURPLE = "#7a35b0"
TEAL = "#00857c"
MAGENTA = "#b3206b"
SERIES = (BLUE, ORANGE, PURPLE, TEAL, MAGENTA)

MAGNITUDE_MAP = LinearSegmentedColormap.from_list("weights", ["#ffffff", "#5a9bd8", "#08306b"])
SIGNED_MAP = LinearSegmentedColormap.from_list("signed", [MAGENTA, "#ffffff", TEAL])
DPI = 100

RC: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],  # ships with matplotlib: the same glyphs everywhere
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.8,
    "grid.color": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "figure.facecolor": "white",  # opaque: legible on a dark page that does not turn it dark
    "savefig.facecolor": "white",
    "axes.prop_cycle": cycler(color=SERIES),
}

# Of the session, not of a figure.
NOT_OURS = {"backend", "backend_fallback", "date.epoch", "interactive", "toolbar"}
# Whatever a reader has set (dark_background, image.origin, text.usetex …), a figure looks the same.
SETTINGS = {
    name: value for name, value in matplotlib.rcParamsDefault.items() if name not in NOT_OURS
} | RC

# matplotlib has one set of settings for the whole process, so two threads must not draw at once.
DRAW_LOCK = RLock()


@contextmanager
def course_style() -> Iterator[None]:
    """Draw with the course's type sizes and colours over matplotlib's defaults.

    The reader's own settings are there again afterwards. Only those that differ are changed:
    ``rc_context`` copies all 300, which takes three times as long.
    """
    settings: Any = matplotlib.rcParams
    with DRAW_LOCK:
        before = {name: settings[name] for name, ours in SETTINGS.items() if settings[name] != ours}
        settings.update({name: SETTINGS[name] for name in before})
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

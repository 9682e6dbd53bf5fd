"""Drawing functions and artists that lectures share: axes and arrays in, no model known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Annotation

from course_utils.explorers.style import DPI, MAGNITUDE_MAP, MUTED

LARGEST_FONT, CLOSEST = 9.0, 10.0  # of token labels: font size and distance, in points


def heat_map(
    axes: Axes,
    matrix: np.ndarray,
    *,
    low: float = 0.0,
    high: float = 1.0,
    extent: tuple[float, float, float, float] | None = None,
) -> None:
    """A (rows, columns) matrix as coloured squares, the first row on top."""
    axes.imshow(
        matrix, vmin=low, vmax=high, cmap=MAGNITUDE_MAP, interpolation="nearest", aspect="auto",
        extent=extent,
    )  # fmt: skip


def drawable(text: str) -> str:
    """The text with each character that the figure's font lacks replaced by a box.

    >>> drawable("tea 茶")
    'tea □'
    """
    known = _drawable_letters()
    return "".join(letter if ord(letter) in known else "□" for letter in text)


@lru_cache(maxsize=1)
def _drawable_letters() -> frozenset[int]:
    return frozenset(get_font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap())


def label_tokens(
    axes: Axes, tokens: Sequence[str], *, rows: bool = True, columns: bool = True
) -> None:
    """Write tokens beside the rows and above the columns of a heat map.

    Labels are as large as the rows allow; where even the smallest would touch, every second or
    third is written. Mathematics is switched off in them, so that a dollar sign is a dollar sign.
    """
    if rows:
        places, size = label_places(axes.bbox.height, len(tokens))
        axes.set_yticks(places, [drawable(tokens[i]) for i in places], fontsize=size)
    if columns:
        places, size = label_places(axes.bbox.width, len(tokens))
        axes.xaxis.tick_top()
        axes.set_xticks(places, [drawable(tokens[i]) for i in places], fontsize=size, rotation=90)
    for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
        label.set_parse_math(False)
    axes.tick_params(length=0)


def label_places(pixels: float, count: int) -> tuple[list[int], float]:
    """Which of `count` rows over so many pixels to label, and the font size in points.

    >>> label_places(367, 16)
    ([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], 9.0)
    >>> places, size = label_places(367, 64)
    >>> places[:3], round(size, 1)
    ([0, 3, 6], 9.0)
    """
    points = pixels * 72 / DPI / count
    step = max(1, math.ceil(CLOSEST / points))
    return list(range(0, count, step)), min(LARGEST_FONT, 0.8 * points * step)


def mute_axes(axes: Axes) -> None:
    """Leave of an axes its drawing area alone: no ticks, no frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def end_label(axes: Axes, x: float, y: float, text: str, colour: str = MUTED) -> Annotation:
    """Name a curve at its end, so that no legend has to be looked up."""
    return axes.annotate(
        text, (x, y), (6, 0), textcoords="offset points", color=colour, va="center"
    )

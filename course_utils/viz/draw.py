"""Drawing functions and artists that lectures share: axes and arrays in, no model known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.text import Annotation

from course_utils.viz.style import BLUE, INK, MAGNITUDE_MAP, MUTED, ORANGE

FONT_STEPS = ((18, 11.0), (26, 9.0), (40, 7.0), (64, 6.0))
ARC_POINTS = 25


class HeatMap(Artist):
    """A matrix as coloured squares that fill their axes, one unit per row and column.

    An `imshow` of this size takes 7 ms per event, nearly all of it resampling. Here each pixel
    looks its square up and takes its colour from a table of 256, in a small part of a millisecond.
    """

    def __init__(
        self, axes: Axes, *, low: float = 0.0, high: float = 1.0, colormap: str = MAGNITUDE_MAP
    ) -> None:
        super().__init__()
        self._area = axes
        self._low, self._high = low, high
        table = matplotlib.colormaps[colormap](np.arange(256), bytes=True)
        self._table = table.view(np.uint32)[:, 0]  # a whole colour is one number
        self._levels = np.zeros((1, 1), np.uint8)
        axes.add_artist(self)

    def set_data(self, matrix: np.ndarray) -> None:
        """Show this (rows, columns) matrix; values beyond low and high take the end colours."""
        share = (matrix - self._low) / (self._high - self._low)
        self._levels = np.clip(share * 255, 0, 255).astype(np.uint8)
        self.stale = True

    def draw(self, renderer: RendererBase) -> None:
        """Paint the squares over the area of the axes, the first row on top."""
        left, bottom, right, top = (round(edge) for edge in self._area.bbox.extents)
        rows, columns = self._levels.shape
        row = np.arange(top - bottom)[::-1] * rows // (top - bottom)  # Agg paints upwards
        column = np.arange(right - left) * columns // (right - left)
        pixels = self._table[self._levels].take(column, axis=1).take(row, axis=0)
        rgba = pixels.view(np.uint8).reshape(*pixels.shape, 4)
        renderer.draw_image(renderer.new_gc(), left, bottom, rgba)


class Arcs:
    """Curves from each reading word to the words it reads, left of a column of words.

    Row i reads row j: the curve's width and opacity say how much. Blue reads an earlier word,
    orange a later one; a curve that starts and ends at one word is a small loop.
    """

    def __init__(self, axes: Axes, *, threshold: float) -> None:
        self.threshold = threshold
        self.artist = LineCollection([], capstyle="round")
        axes.add_collection(self.artist, autolim=False)

    def set_data(self, weights: np.ndarray, row: int | None = None) -> int:
        """Draw the weights above the threshold, of one row or of all; returns how many."""
        shown = weights > self.threshold
        if row is not None:
            shown &= np.arange(len(weights))[:, None] == row
        reader, read = np.nonzero(shown)
        strength = weights[reader, read]
        self.artist.set_segments(list(arc_segments(reader, read, len(weights))))
        colours = np.where((read > reader)[:, None], _rgb(ORANGE), _rgb(BLUE))
        self.artist.set_color(list(np.column_stack([colours, 0.25 + 0.75 * strength])))
        self.artist.set_linewidth(list(0.8 + 4.0 * strength))
        return len(reader)


def arc_segments(reader: np.ndarray, read: np.ndarray, count: int) -> np.ndarray:
    """Half ellipses between rows, as (arcs, points, 2), in x from -1 (far) to 0 (at the words).

    >>> (arc_segments(np.array([0]), np.array([4]), 5)[0, [0, 12, 24]].round(2) + 0).tolist()
    [[0.0, 0.0], [-0.91, 2.0], [0.0, 4.0]]
    """
    angle = np.linspace(0.0, np.pi, ARC_POINTS)
    reach = np.abs(reader - read)
    # A word that reads itself gets a loop as tall as a third of a row.
    half_height = np.where(reach == 0, -0.3, (read - reader) / 2)
    depth = 0.07 + 0.84 * reach / max(count - 1, 1)
    x = -depth[:, None] * np.sin(angle)
    y = ((reader + read) / 2)[:, None] - half_height[:, None] * np.cos(angle)
    return np.stack([x, y], axis=-1)


def _rgb(colour: str) -> np.ndarray:
    return np.array(to_rgb(colour))


def label_size(count: int) -> float:
    """A font size at which `count` labels fit beside a heat map, in points."""
    return next((size for limit, size in FONT_STEPS if count <= limit), FONT_STEPS[-1][1])


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

    Mathematics is switched off in the labels, so that a dollar sign is a dollar sign. Beyond
    40 tokens every other label is left out: closer ones cannot be read.
    """
    step = 1 if len(tokens) <= 40 else 2
    places = list(range(0, len(tokens), step))
    words = [drawable(tokens[i]) for i in places]
    size = label_size(len(tokens))
    if rows:
        axes.set_yticks(places, words, fontsize=size)
    if columns:
        axes.xaxis.tick_top()
        axes.set_xticks(places, words, fontsize=size, rotation=90)
    for label in (*axes.get_yticklabels(), *axes.get_xticklabels()):
        label.set_parse_math(False)
    axes.tick_params(length=0)


def draw_weights(
    axes: Axes,
    weights: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    digits: int = 2,
) -> Axes:
    """A small weight matrix with a number in each square; row = reading word.

    Raises:
        ValueError: when the labels do not fit the matrix.
    """
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights must have one row per row label and one column per column label "
            f"({len(rows)}, {len(columns)}); got shape {weights.shape}"
        )
    axes.imshow(weights, vmin=0, vmax=1, cmap=MAGNITUDE_MAP)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xticks(range(len(columns)), columns)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    for (row, column), weight in np.ndenumerate(weights):
        colour = INK if weight > 0.55 else "white"
        axes.text(column, row, f"{weight:.{digits}f}", ha="center", va="center", color=colour)
    return axes


def mute_axes(axes: Axes) -> None:
    """Leave of an axes its drawing area alone: no ticks, no frame."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def end_label(axes: Axes, x: float, y: float, text: str, colour: str = MUTED) -> Annotation:
    """Name a curve at its end, so that no legend has to be looked up."""
    return axes.annotate(
        text, (x, y), (6, 0), textcoords="offset points", color=colour, va="center", fontsize=11
    )

"""Tensors as blocks of numbered, coloured squares, fast enough to follow a slider.

Writing is the slow part of a picture, and two tensors have up to 400 digits. So each kind of
square, digit and all, is painted once and copied to its places from then on; and so is each line
of text. Sizes in pixels are those of a page; a sharp picture has `scale` times as many.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, findfont, get_font

from course_utils.explorers.draw import mute_axes
from course_utils.explorers.style import BLUE, DPI, INK, MAGENTA, ORANGE, PURPLE, TEAL

COLOURS = (BLUE, TEAL, PURPLE, MAGENTA, ORANGE, "#8a8a8a")
PALEST = 0.55  # share of white in the last shade
LARGEST, GAP, TITLE = 44, 14, 20  # pixels: a square, between blocks, a line above a block
TITLE_SIZE = 10.0
SMALLEST_WITH_DIGIT, SMALL, LARGE = 14, 10.0, 13.0  # pixels; points of a digit


class Blocks(Artist):
    """A tensor of three axes as one block of squares for each place on the first axis."""

    def __init__(
        self, axes: Axes, *, height: int = 0, largest: int = LARGEST, digits: bool = True
    ) -> None:
        """Squares in blocks, or in one row of a given height; sizes in pixels."""
        super().__init__()
        mute_axes(axes)
        self._area, self._height, self._largest, self._digits = axes, height, largest, digits
        self._shown: tuple[np.ndarray, np.ndarray, int, Sequence[str]] | None = None
        axes.add_artist(self)

    def set_data(
        self, values: np.ndarray, shades: np.ndarray, count: int, titles: Sequence[str]
    ) -> None:
        """Show these whole numbers (blocks, rows, columns), one colour each.

        Args:
            values: the digit and the colour of each square.
            shades: which of the `count` shades of its colour it has.
            count: how many shades there are.
            titles: one above each block, or none at all.
        """
        self._shown = values, shades, count, titles
        self.stale = True

    def draw(self, renderer: RendererBase) -> None:
        """Paint from the upper left corner of the axes."""
        if not self.get_visible() or self._shown is None:
            return
        left, top = round(self._area.bbox.x0), round(self._area.bbox.y1)
        upwards = np.ascontiguousarray(self._painted(_scale_of(self._area))[::-1])  # as Agg paints
        renderer.draw_image(renderer.new_gc(), left, top - len(upwards), upwards)

    def _painted(self, scale: int) -> np.ndarray:
        assert self._shown is not None
        values, shades, count, titles = self._shown
        width, height = (round(side / scale) for side in self._area.bbox.size)
        if self._height:
            wide = min(self._largest, width // values.size)
            tiles = _tiles(wide, self._height, count, self._digits, scale)
            return _together(tiles, values.reshape(1, -1), shades.reshape(1, -1))
        across, side = block_grid(values.shape, TITLE * bool(titles), width, height)
        side = min(side, self._largest)
        parts = _together(_tiles(side, side, count, self._digits, scale), values, shades)
        return paint_blocks(parts, titles, across, width, height, scale)


def _scale_of(axes: Axes) -> int:
    figure = axes.get_figure(root=True)
    assert figure is not None
    return round(figure.dpi / DPI)


class TextLine(Artist):
    """A line of text that changes, in the upper left corner of its axes.

    Matplotlib lays a text out anew at each drawing, which takes longer than all the rest of the
    picture. Here each line is painted once and kept.
    """

    def __init__(self, axes: Axes, size: float) -> None:
        super().__init__()
        mute_axes(axes)
        self._area, self._size, self._text = axes, size, " "
        axes.add_artist(self)

    def set_text(self, text: str) -> None:
        """Show this line."""
        self._text = text
        self.stale = True

    def draw(self, renderer: RendererBase) -> None:
        """Paint the line, and cut it at the right edge of the axes."""
        left, _, right, top = (round(edge) for edge in self._area.bbox.extents)
        mask = _letters(self._text, self._size * _scale_of(self._area))[:, : right - left]
        upwards = np.zeros((*mask.shape, 4), np.uint8)
        upwards[..., :3] = (255 * np.array(to_rgb(INK))).round()
        upwards[..., 3] = mask[::-1]  # Agg paints upwards
        renderer.draw_image(renderer.new_gc(), left, top - len(mask), upwards)


def paint_blocks(
    parts: np.ndarray,
    titles: Sequence[str],
    across: int,
    width: int,
    height: int,
    scale: int = 1,
) -> np.ndarray:
    """Pictures (blocks, high, wide, 4) in reading order on a white sheet, `across` to a line."""
    title, gap = scale * TITLE * bool(titles), scale * GAP
    sheet = np.full((scale * height, scale * width, 4), 255, np.uint8)
    for index, part in enumerate(parts):
        down, right = divmod(index, across)
        high, wide, _ = part.shape
        top, left = down * (high + title + gap) + title, right * (wide + gap)
        sheet[top : top + high, left : left + wide] = part
        if titles:
            size = scale * TITLE_SIZE
            _write(sheet, titles[index], left + wide / 2, top - title / 2, size, INK)
    return sheet


def block_grid(shape: tuple[int, ...], title: int, width: int, height: int) -> tuple[int, int]:
    """How many blocks stand side by side, and the side of a square in pixels: the largest."""
    blocks, rows, columns = shape
    best = (1, 0)
    for down in range(1, blocks + 1):
        across = math.ceil(blocks / down)
        side = min(
            LARGEST,
            (width - GAP * (across - 1)) // (across * columns),
            (height - GAP * (down - 1) - title * down) // (down * rows),
        )
        if side > best[1]:  # of equals the one with fewer lines of blocks
            best = across, side
    return best


def _together(tiles: np.ndarray, values: np.ndarray, shades: np.ndarray) -> np.ndarray:
    """The picture (..., rows * high, columns * wide, 4) of squares (..., rows, columns)."""
    chosen = tiles[values, shades]  # (..., rows, columns, high, wide, 4)
    *blocks, rows, columns, high, wide, _ = chosen.shape
    return chosen.swapaxes(-4, -3).reshape(*blocks, rows * high, columns * wide, 4)


@lru_cache(maxsize=128)
def _tiles(wide: int, high: int, count: int, digits: bool, scale: int) -> np.ndarray:
    """Every kind of square, (colour, shade, high, wide, 4), with a white line around each."""
    made = np.full((len(COLOURS), count, scale * high, scale * wide, 4), 255, np.uint8)
    for value, colour in enumerate(COLOURS):
        for shade in range(count):
            tile = made[value, shade]
            white = PALEST * shade / max(count - 1, 1)
            rgb = (1 - white) * np.array(to_rgb(colour)) + white
            tile[:-scale, :-scale, :3] = (255 * rgb).round()
            if digits and min(wide, high) >= SMALLEST_WITH_DIGIT:
                dark = rgb @ [0.2126, 0.7152, 0.0722] < 0.45
                ink = "white" if dark else INK
                size = scale * (LARGE if min(wide, high) > 30 else SMALL)
                x, y = (scale * (side - 1) / 2 for side in (wide, high))
                _write(tile, str(value), x, y, size, ink)
    return made


def _write(sheet: np.ndarray, text: str, x: float, y: float, size: float, ink: str) -> None:
    """Write a text about a point, x to the right and y down; what lies beyond the edge is cut."""
    mask = _letters(text, size)
    top, left = max(0, round(y - mask.shape[0] / 2)), max(0, round(x - mask.shape[1] / 2))
    there = sheet[top : top + mask.shape[0], left : left + mask.shape[1], :3]
    cover = mask[: there.shape[0], : there.shape[1], None] / 255
    there[:] = (cover * 255 * np.array(to_rgb(ink)) + (1 - cover) * there).round()


@lru_cache(maxsize=4096)
def _letters(text: str, size: float) -> np.ndarray:
    """How far each pixel is covered by a text, 0 to 255, in matplotlib's own font."""
    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    font.set_size(size, DPI)
    font.set_text(text)
    font.draw_glyphs_to_bitmap(antialiased=True)
    return np.array(font.get_image())

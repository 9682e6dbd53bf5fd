"""A figure that redraws only what moves: blitting on an Agg canvas, PNG at compression level 1.

Drawing a whole figure costs tens of milliseconds, most of it text. So the still part is drawn
once and kept as pixels; per event the pixels are copied back, the moving artists are drawn over
them, and the result is encoded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from course_utils.explorers.png import encode_png
from course_utils.explorers.style import course_style

BACKDROPS_KEPT = 12
SHARP = 2  # pixels of the screen for each of the page's


class BlitPicture:
    """Still pixels, by backdrop key, and the artists that move over them.

    Args:
        figure: a figure whose axes are laid out already; layout never runs per event.
        moving: the artists that change. They are drawn last, in order of their zorder.
    """

    def __init__(self, figure: Figure, moving: list[Artist]) -> None:
        self._figure = figure
        self._canvas = FigureCanvasAgg(figure)
        self._moving = sorted(moving, key=lambda artist: artist.get_zorder())
        self._backdrops: OrderedDict[Hashable, object] = OrderedDict()
        for artist in self._moving:
            artist.set_animated(True)

    def png(self, backdrop: Hashable = None, *, fresh: bool = False) -> bytes:
        """The picture now. `fresh` draws the still part again even where its pixels are kept."""
        with course_style():
            if fresh or backdrop not in self._backdrops:
                self._canvas.draw()
                self._keep(backdrop, self._canvas.copy_from_bbox(self._figure.bbox))
            self._backdrops.move_to_end(backdrop)
            self._canvas.restore_region(self._backdrops[backdrop])
            return self._with_what_moves()

    def sharp_png(self) -> bytes:
        """The picture now, all of it drawn anew with twice as many pixels to a side."""
        with course_style(), twice_as_many_pixels(self._figure):
            self._canvas.draw()
            return self._with_what_moves()

    def _with_what_moves(self) -> bytes:
        for artist in self._moving:
            (artist.axes or self._figure).draw_artist(artist)
        return encode_png(np.asarray(self._canvas.buffer_rgba()))

    def _keep(self, backdrop: Hashable, pixels: object) -> None:
        self._backdrops[backdrop] = pixels
        while len(self._backdrops) > BACKDROPS_KEPT:
            self._backdrops.popitem(last=False)


@contextmanager
def twice_as_many_pixels(figure: Figure) -> Iterator[None]:
    """Draw a figure inside the block for a screen that has two pixels for each of the page's."""
    dpi = figure.dpi
    figure.dpi = SHARP * dpi
    try:
        yield
    finally:
        figure.dpi = dpi

"""Show a static figure with its caption."""

from __future__ import annotations

import base64
import html
import io
from dataclasses import dataclass

import numpy as np
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from course_utils.explorers.style import course_style

# At most 68 letters to a line: the unit is the width of a zero, and most letters are narrower.
CAPTION_STYLE = "max-width: 56ch; margin: 2px 0 12px; font-size: 15px; line-height: 1.45"
SHARP = 2

__all__ = ["AnnotatedFigure", "show"]


@dataclass(frozen=True)
class AnnotatedFigure:
    """A picture and its caption: what a ``draw_`` function returns and :func:`show` displays.

    The caption is the alternative text too, so a reader who cannot see the picture, and
    one who can, read the same sentence.
    """

    figure: Figure
    caption: str


def show(picture: AnnotatedFigure) -> None:
    """Display a figure, sharp on any screen, and its caption under it.

    JupyterLab reads no alternative text, so the caption is an output of its own, too. JupyterLab
    marks the image as one that needs a light background; the course's extension
    (tools/setup/lab-extension) turns an image with that mark dark in a dark theme.
    """
    width, height = (round(side) for side in picture.figure.bbox.bounds[2:])
    png = base64.b64encode(sharp_png(picture.figure)).decode("ascii")
    caption = picture.caption
    on_page = {"width": width, "height": height, "alt": caption}
    bundle = {"image/png": png, "text/plain": f"figure: {caption}"}
    display(bundle, metadata={"image/png": on_page, "needs_background": "light"}, raw=True)
    paragraph = f'<p style="{CAPTION_STYLE}">{html.escape(caption)}</p>'
    display({"text/html": paragraph, "text/plain": caption}, raw=True)


def sharp_png(figure: Figure) -> bytes:
    """A figure as PNG, with two pixels to a side for each of the page's."""
    dpi, encoded = figure.dpi, io.BytesIO()
    with course_style():
        figure.dpi = SHARP * dpi
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        figure.dpi = dpi
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]
    Image.fromarray(pixels).save(encoded, "PNG", optimize=True)
    return encoded.getvalue()

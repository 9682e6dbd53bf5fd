"""Show a static figure with its caption."""

from __future__ import annotations

import base64
import html
import io
import re
from dataclasses import dataclass

import numpy as np
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from course_utils.explorers.style import course_style

# At most 68 letters to a line: the unit is the width of a zero, and most letters are narrower.
CAPTION_STYLE = "max-width: 56ch; margin: 2px 0 12px; font-size: 15px; line-height: 1.45"
FOLD_STYLE = "margin: -8px 0 12px; font-size: 14.5px; line-height: 1.45"
SHARP = 2
MOST_WORDS = 25


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
    display({"text/html": caption_html(caption), "text/plain": caption}, raw=True)


def caption_html(caption: str) -> str:
    """A caption as HTML: what the picture is, and folded under it the rest, mostly its numbers.

    >>> re.findall(r">([^<]+)<", caption_html("Two losses, at the end: " + "0.12, " * 25))[:2]
    ['Two losses, at the end.', 'In numbers']
    """
    first, rest = folded(caption)
    sentence = re.sub(":$", ".", first) if rest else first
    paragraph = f'<p style="{CAPTION_STYLE}">{html.escape(sentence)}</p>'
    if not rest:
        return paragraph
    return (
        f'{paragraph}<details style="{FOLD_STYLE}"><summary>In numbers</summary>'
        f'<p style="{CAPTION_STYLE}">{html.escape(rest)}</p></details>'
    )


def folded(caption: str) -> tuple[str, str]:
    """The first sentences of a caption, up to 25 words, and the rest.

    Where one sentence is longer, what follows its colon is the rest.
    """
    for mark in (r"(?<=[.?]) ", r"(?<=:) "):
        parts = re.split(mark, caption)
        for count in range(len(parts), 0, -1):
            first, rest = " ".join(parts[:count]), " ".join(parts[count:])
            if len(first.split()) <= MOST_WORDS:
                return first, rest
    return caption, ""


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

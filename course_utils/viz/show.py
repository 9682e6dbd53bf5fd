"""Show a static figure with its words."""

from __future__ import annotations

import base64
import html

import numpy as np
from IPython.display import display
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from course_utils.checks import check_text
from course_utils.viz.png import encode_png
from course_utils.viz.style import course_style


def show(figure: Figure, *, alt: str) -> None:
    """Display a figure, and its alternative text under it as the caption.

    Neither JupyterLab nor nbconvert reads an image's alt metadata, so the words are an output of
    their own: a reader who cannot see the picture, and one who can, read the same sentence.

    Raises:
        ValueError: when `alt` is empty.
        TypeError: when `figure` is not a matplotlib Figure, or `alt` not a string.
    """
    if not isinstance(figure, Figure):
        raise TypeError(f"figure must be a matplotlib Figure; got {type(figure).__name__}")
    if not check_text("alt", alt).strip():
        raise ValueError("alt must say in words what the figure shows; got an empty text")
    with course_style():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        png = base64.b64encode(encode_png(np.asarray(canvas.buffer_rgba()))).decode("ascii")
    display({"image/png": png, "text/plain": f"figure: {alt}"}, raw=True)
    display({"text/html": f"<small>{html.escape(alt)}</small>", "text/plain": alt}, raw=True)

"""Static figures of lecture 09."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    GRID,
    MUTED,
    ORANGE,
    PURPLE,
    TEAL,
    course_style,
    new_figure,
)

HEADS, TOKENS, WINDOW = 4, 12, 4
LAYERS = ("all heads", "shared heads", "a window", "a thin vector", "a state")


def _box(axes: Axes, x: float, y: float, height: float, colour: str, width: float = 0.8) -> None:
    axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor="none"))


def _head(axes: Axes, token: int, head: int) -> None:
    """A key and a value of one head."""
    _box(axes, token, 2 * head, 0.9, ORANGE)
    _box(axes, token, 2 * head + 0.95, 0.9, PURPLE)


def _keep(axes: Axes, layer: str) -> None:
    """What a layer keeps of all tokens."""
    if layer == "a state":
        for row in range(4):
            for column in range(4):
                _box(axes, 3.5 + 1.25 * column, 1.25 * row, 1.15, TEAL, width=1.15)
        return
    for token in range(TOKENS):
        if layer == "a thin vector":
            _box(axes, token, 0, 1.9, TEAL)
        elif layer == "a window" and token < TOKENS - WINDOW:
            _box(axes, token, 0, 2 * HEADS - 0.15, GRID)
        else:
            for head in range(1 if layer == "shared heads" else HEADS):
                _head(axes, token, head)


def draw_kept() -> AnnotatedFigure:
    """What five kinds of layers keep of a text of twelve tokens."""
    figure = new_figure(8.0, 2.1)
    with course_style():
        grid = figure.subplots(1, len(LAYERS))
        figure.subplots_adjust(left=0.01, right=0.99, bottom=0.16, top=0.87, wspace=0.12)
        for axes, layer in zip(grid, LAYERS, strict=True):
            axes.set(xlim=(-0.4, TOKENS + 0.2), ylim=(-0.2, 2 * HEADS + 0.2), title=layer)
            axes.axis("off")
            _keep(axes, layer)
            words = "the same, however long" if layer == "a state" else "12 tokens →"
            axes.text(TOKENS / 2, -0.5, words, ha="center", va="top", color=MUTED, fontsize=9)
    return AnnotatedFigure(
        figure,
        "What a layer keeps of 12 tokens: keys and values of 4 heads, of 1 head, of the last 4 "
        "tokens, a thin vector for each token, or one state for all.",
    )

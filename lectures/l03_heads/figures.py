"""Static figures of lecture 03."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle

from course_utils.explorers.draw import end_label, label_tokens, mute_axes
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGENTA,
    MAGNITUDE_MAP,
    MUTED,
    ORANGE,
    PURPLE,
    TEAL,
    course_style,
    new_figure,
)

DASHES = ("-", "--", "-.")
BROWN = "#7a5b00"
COLOURS = (MAGENTA, TEAL, INK)  # none of them a query, a key or a value
NUMBERED = 5  # heads whose silence changes most have their number
APART = 0.075  # of the axis from 0 to 1, between two names of curves
LETTER = 0.11  # inches, a wide one of a token's label


def draw_heads(
    heads: int,  # H; those between the second and the last are dots
    width: int,  # C; a head has C / H numbers
) -> AnnotatedFigure:
    """The flow of numbers through a layer of heads: three of them, from the vectors x to W_O."""
    D = width // heads
    figure = new_figure(9.0, 4.1)
    with course_style():
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, 99), ylim=(0, 41))
        mute_axes(axes)
        _box(axes, 2, 13, 9, 14, MUTED, "x", f"{width}")
        for y, name, colour in ((27, "$W_Q$", BLUE), (16.5, "$W_K$", ORANGE), (6, "$W_V$", PURPLE)):
            _arrow(axes, 11.3, 20, 16, y + 3.5)
            _box(axes, 16.5, y, 7, 7, colour, name, "")
        axes.plot((24, 24.5, 24.5, 24), (34, 34, 6, 6), color=MUTED, linewidth=1.0)
        for row, (name, y) in enumerate((("0", 29), ("1", 17.5), (f"{heads - 1}", 3))):
            _arrow(axes, 24.5, 20, 28.5, y + 3.5)
            for place, (part, colour) in enumerate(zip("qkv", (BLUE, ORANGE, PURPLE), strict=True)):
                _box(axes, 29 + 3.6 * place, y, 3, 7, colour, part, "")
            _arrow(axes, 40.5, y + 3.5, 43.5, y + 3.5)
            _box(axes, 44, y, 7, 7, INK, "weights", "", size=8)
            _arrow(axes, 51.5, y + 3.5, 54.5, y + 3.5)
            _box(axes, 55, y, 3.4, 7, PURPLE, "", "")
            axes.text(47.5, y + 7.9, f"head {name}", color=MUTED, ha="center", fontsize=8.5)
            _arrow(axes, 59, y + 3.5, 64.5, 20)
            left = 65 + 3.4 * (row + (row == 2))
            _box(axes, left, 13, 3.4, 14, PURPLE, name, "")
        for x, y in ((47.5, 13.6), (73.5, 20)):
            axes.text(x, y, "⋮" if x < 50 else "…", ha="center", va="center", color=MUTED)
        axes.text(30.5, 38.2, f"{D} numbers each", ha="left", color=MUTED, fontsize=8.5)
        axes.text(56.7, 38.2, f"{D}", ha="center", color=MUTED, fontsize=8.5)
        axes.text(71.8, 28.2, f"side by side: {width}", ha="center", color=MUTED, fontsize=8.5)
        _arrow(axes, 79, 20, 81, 20)
        _box(axes, 81.5, 16.5, 7, 7, INK, "$W_O$", "")
        axes.plot((6.5, 6.5, 93), (12.6, 1.2, 1.2), color=MUTED, linewidth=1.0)
        axes.text(93, 20, "+", ha="center", va="center", fontsize=16)
        _arrow(axes, 89, 20, 91.5, 20)
        _arrow(axes, 93, 1.2, 93, 17.8)
        _arrow(axes, 94.5, 20, 98.5, 20)
        axes.text(88, 2.0, "x itself", ha="center", color=MUTED, fontsize=8.5)
    return AnnotatedFigure(
        figure,
        f"A layer of {heads} heads. x, {width} numbers for each token, goes through three "
        f"matrices. Each head takes its own {D} columns as q, k and v, computes its own table of "
        f"weights, and brings back {D} numbers for each token. Side by side these are {width} "
        "again; the matrix W_O mixes them, and the result is added to x.",
    )


def draw_runs(
    curves: Mapping[str, Sequence[float]],  # model → its share, from before the first step on
    every: int,  # steps from one number to the next
    levels: Mapping[str, float],  # what it takes to reach a share → that share, dotted
) -> AnnotatedFigure:
    """Share of places with both answers right, one line for each model, with a dot at its end."""
    figure = new_figure(8.0, 3.8)
    last = every * (max(len(curve) for curve in curves.values()) - 1)
    labels: list[float] = []  # how high the names of curves are
    with course_style():
        axes = figure.add_axes((0.08, 0.15, 0.68, 0.8))
        axes.set(xlabel="training steps (square root)", ylabel="share of positions with both right")
        axes.set(ylim=(0, 1.02))
        # Curves rise within the first hundreds of steps.
        axes.set_xscale("function", functions=(np.sqrt, np.square))
        axes.set_xlim(0, last)
        axes.set_xticks([each * last for each in (0, 0.02, 0.1, 0.2, 0.4, 0.6, 0.8, 1)])
        for name, level in levels.items():
            axes.axhline(level, color=MUTED, linewidth=1.2, linestyle=":", zorder=0)
            axes.annotate(
                name, (0.995, level), (0, 3), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right", va="bottom", color=MUTED,
            )  # fmt: skip
        drawn = [*zip(curves.items(), (*COLOURS, BROWN), strict=False)]
        # From the highest end down, so that names stand in the order of their curves.
        for (name, curve), colour in sorted(drawn, key=lambda each: -each[0][1][-1]):
            steps = every * np.arange(len(curve))
            axes.plot(steps, curve, color=colour, linewidth=1.6)
            axes.plot(steps[-1], curve[-1], "o", color=colour, clip_on=False)
            height = curve[-1]
            while any(abs(height - other) < APART - 1e-9 for other in labels):
                height -= APART / 4
            labels.append(height)
            end_label(axes, float(last), height, name, colour)
    parts = [
        f"{name}, after {every * (len(curve) - 1):,} steps {curve[-1]:.2f}"
        for name, curve in curves.items()
    ]
    lines = [f" Dotted, {name}: {level:.3g}." for name, level in levels.items()]
    return AnnotatedFigure(figure, f"Share of both right: {'; '.join(parts)}.{''.join(lines)}")


def draw_alignment(
    weights: np.ndarray, source: Sequence[str], target: Sequence[str]
) -> AnnotatedFigure:
    """Cross-attention weights: a row for each token written, a column for each of the source."""
    rows, columns = weights.shape
    side = min(0.31, 4.6 / rows, 6.0 / columns)
    left, above = (0.45 + LETTER * max(map(len, tokens)) for tokens in (target, source))
    wide, high = max(left + side * columns + 0.1, 3.6), above + side * rows + 0.1
    figure = new_figure(wide, high)
    with course_style():
        area = (left / wide, 0.1 / high, side * columns / wide, side * rows / high)
        axes = figure.add_axes(area)
        axes.imshow(weights, vmin=0, vmax=1, cmap=MAGNITUDE_MAP, aspect="auto")
        label_tokens(axes, target, columns=False)
        label_tokens(axes, source, rows=False)
        axes.set_ylabel("written")
        axes.set_xlabel("source", labelpad=8)
        axes.xaxis.set_label_position("top")
        axes.spines[:].set_visible(False)
    most = [
        f"“{token}” attends to “{source[row.argmax()]}” ({row.max():.2f})"
        for token, row in zip(target, weights, strict=True)
    ]
    return AnnotatedFigure(figure, f"Cross-attention weights: {', '.join(most)}.")


def draw_pruning(
    changes: np.ndarray,  # (layers, heads), positive
    marked: Sequence[tuple[int, int]],  # (layer, head) of those to frame and number too
    title: str,  # what the numbers measure
) -> AnnotatedFigure:
    """What the silence of each head changes: layers × heads, the largest with their numbers."""
    layers, heads = changes.shape
    figure = new_figure(8.0, 0.47 * layers + 1.35)
    most = np.argsort(changes, axis=None)[::-1][:NUMBERED]
    numbered = {divmod(int(each), heads) for each in most}
    with course_style():
        low = 0.75 / figure.get_figheight()
        axes = figure.add_axes((0.08, low, 0.9, 1 - 0.42 / figure.get_figheight() - low))
        axes.imshow(changes, vmin=0, vmax=changes.max(), cmap=MAGNITUDE_MAP, aspect="auto")
        for layer, head in sorted(numbered | set(marked)):
            share = changes[layer, head] / changes.max()
            axes.text(
                head, layer, f"{changes[layer, head]:.3f}", ha="center", va="center",
                color=INK if share < 0.45 else "white",
            )  # fmt: skip
        axes.set_xticks(np.arange(heads - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(layers - 1) + 0.5, minor=True)
        axes.grid(which="minor", color=GRID, linewidth=1)
        for layer, head in marked:
            corner = (head - 0.5, layer - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=MAGENTA, linewidth=3))
        axes.set(xlabel="head", ylabel="layer", xticks=range(heads), yticks=range(layers))
        names = f"the {NUMBERED} largest and the framed head in numbers"
        axes.set_title(f"{title}: the stronger the colour, the larger; {names}", loc="left")
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
    layer, head = np.unravel_index(int(changes.argmax()), changes.shape)
    ranks = [
        f" Layer {at}, head {which}: {changes[at, which]:.4f}, rank "
        f"{1 + int((changes > changes[at, which]).sum())} of {changes.size}."
        for at, which in marked
    ]
    caption = (
        f"{title} when one of {changes.size} heads is silent: median {np.median(changes):.4f}, "
        f"largest {changes.max():.4f} (layer {layer}, head {head}).{''.join(ranks)}"
    )
    return AnnotatedFigure(figure, caption)


def _box(
    axes: Axes, x: float, y: float, width: float, height: float, colour: str, name: str,
    below: str, size: float = 10,
) -> None:  # fmt: skip
    """A rounded box with a name in it, and a word below."""
    shape = FancyBboxPatch(
        (x + 0.3, y + 0.3), width - 0.6, height - 0.6, boxstyle="round,pad=0.3,rounding_size=0.6",
        facecolor=f"{colour}22", edgecolor=colour, linewidth=1.3,
    )  # fmt: skip
    axes.add_patch(shape)
    middle = x + width / 2
    axes.text(middle, y + height / 2, name, ha="center", va="center", color=colour, fontsize=size)
    if below:
        axes.text(middle, y + height + 1.2, below, ha="center", color=MUTED, fontsize=8.5)


def _arrow(axes: Axes, x0: float, y0: float, x1: float, y1: float) -> None:
    style = {"arrowstyle": "-|>", "color": MUTED, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x1, y1), (x0, y0), arrowprops=style)


def _heads(count: int) -> str:
    return f"{count} heads" if count > 1 else "1 head"

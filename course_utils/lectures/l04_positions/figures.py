"""Static figures of lecture 04."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from course_utils.explorers.labels import spread_out
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGENTA,
    MUTED,
    ORANGE,
    PURPLE,
    SIGNED_MAP,
    TEAL,
    course_style,
    new_figure,
)

__all__ = ["draw_extrapolation", "draw_relative_scores", "draw_sinusoids"]

LOOKS = (
    (BLUE, "o", "-"),
    (ORANGE, "s", "--"),
    (PURPLE, "D", "-."),
    (TEAL, "^", ":"),
    (MAGENTA, "v", (0, (5, 1))),
    (INK, "P", (0, (3, 1, 1, 1))),
    (MUTED, "X", (0, (1, 1))),
)
LABEL_GAP = 0.062  # between labels, as a share of the axis: a line of 11 points


# Extrapolation


def draw_extrapolation(
    results: Mapping[str, np.ndarray], lengths: np.ndarray, trained_length: int
) -> AnnotatedFigure:
    """Share of right answers over the length of the text, one line a scheme, with a band.

    The line is the mean of the seeds, the band reaches from the worst to the best.

    Args:
        results: name of a scheme → (seeds, lengths) shares of right answers, at most seven.
        lengths: (lengths,) tokens, rising.
        trained_length: the longest text in training, one of the lengths.
    """
    figure = new_figure(8.0, 4.3)
    with course_style():
        axes = figure.add_axes((0.105, 0.14, 0.6, 0.83))
        axes.set(xscale="log", ylim=(-0.03, 1.06), xlabel="length of the text, tokens")
        axes.set(ylabel="share of right answers", yticks=[0, 0.25, 0.5, 0.75, 1])
        axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
        axes.minorticks_off()
        axes.set_xlim(lengths[0] / 1.08, lengths[-1] * 1.04)
        axes.axvline(trained_length, color=GRID, linewidth=5, zorder=0)
        axes.text(trained_length * 1.03, 0.0, "trained up to here", color=MUTED, fontsize=11)
        for table, (colour, marker, style) in zip(results.values(), LOOKS, strict=False):
            axes.fill_between(
                lengths, table.min(0), table.max(0), color=colour, alpha=0.15, linewidth=0
            )
            axes.plot(
                lengths, table.mean(0), linestyle=style, marker=marker, color=colour, markersize=7
            )
        _name_ends(axes, {name: float(table.mean(0)[-1]) for name, table in results.items()})
    trained = int(np.flatnonzero(lengths == trained_length)[0])
    parts = [
        f"{name} {table[:, trained].mean():.2f} → {table[:, -1].mean():.2f} "
        f"({table[:, -1].min():.2f} to {table[:, -1].max():.2f})"
        for name, table in results.items()
    ]
    words = (
        f"Share of right answers, mean of {len(next(iter(results.values())))} seeds with a band "
        f"from the worst to the best, after training on texts of up to {trained_length} tokens. "
        f"From {trained_length:,.0f} to {lengths[-1]:,.0f} tokens: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, words)


def _name_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """Names right of the curves, at their ends or as near as the others leave room."""
    low, high = axes.get_ylim()
    shares = (np.array(list(ends.values())) - low) / (high - low)
    heights = spread_out(shares, LABEL_GAP)
    for name, share, height, look in zip(ends, shares, heights, LOOKS, strict=False):
        axes.plot(
            [1.0, 1.05], [share, height], color=look[0], linewidth=2, transform=axes.transAxes,
            clip_on=False,
        )  # fmt: skip
        axes.text(1.06, height, name, va="center", fontsize=11, transform=axes.transAxes)


# The sinusoidal table


def draw_sinusoids(table: np.ndarray) -> AnnotatedFigure:
    """The table of sinusoidal positions: one row a position, one column a coordinate.

    Args:
        table: (positions, columns) numbers from -1 to 1, sines and cosines in turn.
    """
    figure = new_figure(8.0, 3.9)
    with course_style():
        axes = figure.add_axes((0.085, 0.15, 0.79, 0.73))
        image = axes.imshow(
            table, vmin=-1, vmax=1, cmap=SIGNED_MAP, aspect="auto", interpolation="nearest"
        )
        axes.set(xlabel="column: sin, cos, sin, cos, …", ylabel="position")
        axes.set_title("fast pairs", loc="left")
        axes.set_title("slow pairs", loc="right")
        _scale(figure, image, (0.895, 0.15, 0.018, 0.73))
    changes = (np.diff(np.sign(table[:, 1::2]), axis=0) != 0).sum(0)
    words = (
        f"The sinusoidal table of {table.shape[0]} positions and {table.shape[1]} columns, purple "
        f"for −1, orange for 1. The first cosine changes its sign {changes[0]} times, the last "
        f"{changes[-1]} times."
    )
    return AnnotatedFigure(figure, words)


def _scale(figure: Figure, image: AxesImage, where: tuple[float, float, float, float]) -> None:
    bar = figure.colorbar(image, cax=figure.add_axes(where))
    bar.outline.set_visible(False)
    low, high = image.get_clim()
    bar.set_ticks([low, 0, high], labels=[f"{end:.2g}".replace("-", "−") for end in (low, 0, high)])


# Scores over both positions


def draw_relative_scores(tables: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """Scores of one query at every position with one key at every position, side by side.

    Where only the distance counts, each diagonal has one colour.

    Args:
        tables: name → (positions, positions) scores, row m = the query's position; three tables.
    """
    figure = new_figure(8.0, 4.1)
    reach = max(float(np.abs(table).max()) for table in tables.values())
    width = 0.262
    with course_style():
        for index, (name, table) in enumerate(tables.items()):
            axes = figure.add_axes((0.075 + index * (width + 0.02), 0.15, width - 0.02, 0.74))
            image = axes.imshow(
                table, vmin=-reach, vmax=reach, cmap=SIGNED_MAP, interpolation="nearest"
            )
            axes.set(xlabel="key's position n", title=name, yticks=axes.get_yticks())
            axes.set(xlim=(-0.5, len(table) - 0.5), ylim=(len(table) - 0.5, -0.5))
            if index == 0:
                axes.set_ylabel("query's position m")
                _scale(figure, image, (0.915, 0.2, 0.016, 0.64))
            else:
                axes.tick_params(labelleft=False)
    parts = [f"{name}: {_diagonal_spread(table):.2g}" for name, table in tables.items()]
    words = (
        "Scores of one query at position m with one key at position n. Within a diagonal, where "
        f"m − n is the same, the largest and the smallest differ by at most: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, words)


def _diagonal_spread(table: np.ndarray) -> float:
    size = len(table)
    return max(float(np.ptp(table.diagonal(offset))) for offset in range(1 - size, size))

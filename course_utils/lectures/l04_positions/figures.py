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
ROWS = 64  # positions that a panel of the sinusoidal table shows
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
        axes.text(trained_length * 1.03, 0.0, "trained up to here", color=MUTED)
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
    caption = (
        f"Share of right answers, mean of {len(next(iter(results.values())))} seeds with a band "
        f"from the worst to the best, after training on texts of up to {trained_length} tokens. "
        f"From {trained_length:,.0f} to {lengths[-1]:,.0f} tokens: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


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
        axes.text(1.06, height, name, va="center", transform=axes.transAxes)


# The sinusoidal table


def draw_sinusoids(table: np.ndarray) -> AnnotatedFigure:
    """The table of sinusoidal positions, one column a coordinate, each half at its own pace.

    The fast half of the columns is shown at the first 64 positions, the slow half at 64 positions
    spread over all of them: close together its numbers hardly change.

    Args:
        table: (positions, columns) numbers from -1 to 1, sines and cosines in turn.
    """
    half, step = table.shape[1] // 4 * 2, max(1, len(table) // ROWS)
    spread = f"every {step}th position" if step > 1 else "every position"
    panels = (
        (table[:ROWS, :half], 0, 1, "fast pairs, every position"),
        (table[::step, half:], half, step, f"slow pairs, {spread}"),
    )
    figure = new_figure(8.0, 3.7)
    with course_style():
        for index, (part, first, each, title) in enumerate(panels):
            axes = figure.add_axes((0.075 + 0.445 * index, 0.155, 0.365, 0.735))
            right, bottom = first + part.shape[1] - 0.5, (len(part) - 0.5) * each
            image = axes.imshow(
                part, vmin=-1, vmax=1, cmap=SIGNED_MAP, aspect="auto", interpolation="nearest",
                extent=(first - 0.5, right, bottom, -0.5 * each),
            )  # fmt: skip
            axes.set(xlabel="column: sin, cos, sin, cos, …")
            axes.set_title(title, loc="left")
            ticks = [row * each for row in range(0, len(part), 16)]
            axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
            if index == 0:
                axes.set_ylabel("position")
        _scale(figure, image, (0.905, 0.155, 0.018, 0.735))
    changes = (np.diff(np.sign(table[:, 1::2]), axis=0) != 0).sum(0)
    early = (np.diff(np.sign(table[:ROWS, 1])) != 0).sum()
    caption = (
        f"The sinusoidal table, magenta for −1, teal for 1. Left, the fast pairs at the first "
        f"{min(ROWS, len(table))} positions: the first cosine changes its sign {early} times. "
        f"Right, the slow pairs over all {len(table):,} positions, where the last cosine changes "
        f"its sign {changes[-1]} times."
    )
    return AnnotatedFigure(figure, caption)


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
    figure = new_figure(8.0, 2.95)
    reach = max(float(np.abs(table).max()) for table in tables.values())
    width = 0.262
    with course_style():
        for index, (name, table) in enumerate(tables.items()):
            axes = figure.add_axes((0.075 + index * (width + 0.02), 0.17, width - 0.02, 0.7))
            image = axes.imshow(
                table, vmin=-reach, vmax=reach, cmap=SIGNED_MAP, interpolation="nearest"
            )
            axes.set(xlabel="key's position n", title=name, yticks=axes.get_yticks())
            axes.set(xlim=(-0.5, len(table) - 0.5), ylim=(len(table) - 0.5, -0.5))
            if index == 0:
                axes.set_ylabel("query's position m")
                _scale(figure, image, (0.915, 0.19, 0.016, 0.66))
            else:
                axes.tick_params(labelleft=False)
    parts = [f"{name}: {_diagonal_spread(table):.2g}" for name, table in tables.items()]
    caption = (
        "Scores of one query at position m with one key at position n. Within a diagonal, where "
        f"m − n is the same, the largest and the smallest differ by at most: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def _diagonal_spread(table: np.ndarray) -> float:
    size = len(table)
    return max(float(np.ptp(table.diagonal(offset))) for offset in range(1 - size, size))

"""Static figures of lecture 04."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.checks import check_finite, check_int
from course_utils.explorers.checks import (
    check_array,
    check_named,
    check_positive,
    check_same_shape,
    check_square,
)
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    SIGNED_MAP,
    SKY,
    YELLOW,
    course_style,
    new_figure,
)

LOOKS = (
    (BLUE, "o", "-"),
    (ORANGE, "s", "--"),
    (PURPLE, "D", "-."),
    (YELLOW, "^", ":"),
    (SKY, "v", (0, (5, 1))),
    (INK, "P", (0, (3, 1, 1, 1))),
    (MUTED, "X", (0, (1, 1))),
)
LABEL_GAP = 0.062  # between labels, as a share of the axis: a line of 11 points


# Extrapolation


def draw_extrapolation(
    results: Mapping[str, np.ndarray], lengths: np.ndarray, trained_length: int
) -> Figure:
    """Share of right answers over the length of the text, one line a scheme, with a band.

    The line is the mean of the seeds, the band reaches from the worst to the best.

    Args:
        results: name of a scheme → (seeds, lengths) shares of right answers, at most seven.
        lengths: (lengths,) tokens, rising.
        trained_length: the longest text in training.

    Raises:
        TypeError, ValueError: when the tables are not shares from 0 to 1 with one column a length,
            there are more than seven, the lengths do not rise, or the trained length is not a
            positive integer.
    """
    _check_extrapolation(results, lengths, trained_length)
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
    return figure


def _name_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """Names right of the curves, at their ends or as near as the others leave room."""
    low, high = axes.get_ylim()
    shares = (np.array(list(ends.values())) - low) / (high - low)
    heights = spread_out(shares, LABEL_GAP)
    for (name, _), share, height, look in zip(ends.items(), shares, heights, LOOKS, strict=False):
        axes.plot(
            [1.0, 1.05], [share, height], color=look[0], linewidth=2, transform=axes.transAxes,
            clip_on=False,
        )  # fmt: skip
        axes.text(1.06, height, name, va="center", fontsize=11, transform=axes.transAxes)


def spread_out(places: np.ndarray, gap: float) -> np.ndarray:
    """Places moved as little as it takes to stand `gap` apart, in the same order, within 0 to 1.

    Places that are too close form a group that spreads evenly about its mean.

    Raises:
        TypeError, ValueError: when the places are not finite numbers (N,), the gap is not
            positive, or so many do not fit into 0 to 1.

    >>> spread_out(np.array([0.5, 0.52, 0.9]), 0.1).round(2).tolist()
    [0.46, 0.56, 0.9]
    """
    check_array("places", places, "N")
    if check_finite("gap", gap) <= 0:
        raise ValueError(f"gap must be positive; got {gap}")
    if (len(places) - 1) * gap > 1:
        raise ValueError(f"gap must leave room for {len(places)} places in 0 to 1; got {gap}")
    order = np.argsort(places, kind="stable")
    groups = [[float(places[index])] for index in order]
    centres = [_centre(group, gap) for group in groups]
    at = 0
    while at + 1 < len(groups):
        room = (len(groups[at]) + len(groups[at + 1])) / 2 * gap
        if centres[at + 1] - centres[at] >= room - 1e-12:
            at += 1
            continue
        groups[at] += groups.pop(at + 1)
        centres.pop(at + 1)
        centres[at] = _centre(groups[at], gap)
        at = max(at - 1, 0)
    spread = [
        centre + gap * (index - (len(group) - 1) / 2)
        for group, centre in zip(groups, centres, strict=True)
        for index in range(len(group))
    ]
    result = np.empty(len(places))
    result[order] = spread
    return result


def _centre(group: list[float], gap: float) -> float:
    half = gap * (len(group) - 1) / 2
    return min(max(sum(group) / len(group), half), 1 - half)


def describe_extrapolation(
    results: Mapping[str, np.ndarray], lengths: np.ndarray, trained_length: int
) -> str:
    """The words of `draw_extrapolation`, which refuses the same input."""
    _check_extrapolation(results, lengths, trained_length)
    seeds = len(next(iter(results.values())))
    known = np.flatnonzero(lengths <= trained_length)
    at = int(known[-1]) if len(known) else 0
    parts = [
        f"{name} {table[:, at].mean():.2f} → {table[:, -1].mean():.2f} "
        f"({table[:, -1].min():.2f} to {table[:, -1].max():.2f})"
        for name, table in results.items()
    ]
    return (
        f"Share of right answers, mean of {seeds} seeds with a band from the worst to the best, "
        f"after training on texts of up to {trained_length} tokens. From {lengths[at]:,.0f} to "
        f"{lengths[-1]:,.0f} tokens: {'; '.join(parts)}."
    )


def _check_extrapolation(
    results: Mapping[str, np.ndarray], lengths: np.ndarray, trained_length: int
) -> None:
    check_named("results", results)
    if len(results) > len(LOOKS):
        raise ValueError(f"results must hold at most {len(LOOKS)} schemes; got {len(results)}")
    check_array("lengths", lengths, "lengths")
    check_positive("lengths", lengths)
    if not (np.diff(lengths) > 0).all():
        raise ValueError(f"lengths must rise; got {lengths.tolist()}")
    check_int("trained_length", trained_length)
    for name, table in results.items():
        check_array(f"results[{name!r}]", table, "seeds lengths")
        check_same_shape(f"results[{name!r}][0]", table[0], "lengths", lengths)
        if table.min() < 0 or table.max() > 1:
            raise ValueError(
                f"results[{name!r}] must be shares from 0 to 1; "
                f"got {table.min():.3g} to {table.max():.3g}"
            )


# The sinusoidal table


def draw_sinusoids(table: np.ndarray) -> Figure:
    """The table of sinusoidal positions: one row a position, one column a coordinate.

    Args:
        table: (positions, columns) numbers from -1 to 1, an even number of columns.

    Raises:
        TypeError, ValueError: when it is no such table.
    """
    _check_sinusoids(table)
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
    return figure


def _scale(figure: Figure, image, where: tuple[float, float, float, float]) -> None:
    bar = figure.colorbar(image, cax=figure.add_axes(where))
    bar.outline.set_visible(False)
    low, high = image.get_clim()
    bar.set_ticks([low, 0, high], labels=[f"{end:.2g}".replace("-", "−") for end in (low, 0, high)])


def describe_sinusoids(table: np.ndarray) -> str:
    """The words of `draw_sinusoids`, which refuses the same input."""
    _check_sinusoids(table)
    changes = (np.diff(np.sign(table[:, 1::2]), axis=0) != 0).sum(0)
    return (
        f"The sinusoidal table of {table.shape[0]} positions and {table.shape[1]} columns, purple "
        f"for −1, orange for 1. The first cosine changes its sign {changes[0]} times, the last "
        f"{changes[-1]} times."
    )


def _check_sinusoids(table: np.ndarray) -> None:
    check_array("table", table, "positions columns")
    if table.shape[1] % 2:
        raise ValueError(f"table must have an even number of columns; got shape {table.shape}")
    if np.abs(table).max() > 1 + 1e-6:
        raise ValueError(f"table must lie within −1 to 1; got {np.abs(table).max():.3g}")


# Scores over both positions


def draw_relative_scores(tables: Mapping[str, np.ndarray]) -> Figure:
    """Scores of one query at every place with one key at every place, side by side.

    Where only the distance counts, each diagonal has one colour.

    Args:
        tables: name → (places, places) scores, row m = the query's place; two or three tables.

    Raises:
        TypeError, ValueError: when they are not two or three square tables of one shape.
    """
    _check_scores(tables)
    figure = new_figure(8.0, 4.1)
    reach = max(float(np.abs(table).max()) for table in tables.values()) or 1.0
    count = len(tables)
    width = 0.415 if count == 2 else 0.262
    with course_style():
        image = None
        for index, (name, table) in enumerate(tables.items()):
            axes = figure.add_axes((0.075 + index * (width + 0.02), 0.15, width - 0.02, 0.74))
            image = axes.imshow(
                table, vmin=-reach, vmax=reach, cmap=SIGNED_MAP, interpolation="nearest"
            )
            axes.set(xlabel="key's position n", title=name, yticks=axes.get_yticks())
            axes.set(xlim=(-0.5, len(table) - 0.5), ylim=(len(table) - 0.5, -0.5))
            if index == 0:
                axes.set_ylabel("query's position m")
            else:
                axes.tick_params(labelleft=False)
        _scale(figure, image, (0.915, 0.2, 0.016, 0.64))
    return figure


def describe_relative_scores(tables: Mapping[str, np.ndarray]) -> str:
    """The words of `draw_relative_scores`, which refuses the same input."""
    _check_scores(tables)
    parts = [f"{name}: {_diagonal_spread(table):.2g}" for name, table in tables.items()]
    return (
        "Scores of one query at position m with one key at position n. Within a diagonal, where "
        f"m − n is the same, the largest and the smallest differ by at most: {'; '.join(parts)}."
    )


def _diagonal_spread(table: np.ndarray) -> float:
    size = len(table)
    return max(float(np.ptp(table.diagonal(offset))) for offset in range(1 - size, size))


def _check_scores(tables: Mapping[str, np.ndarray]) -> None:
    check_named("tables", tables)
    if not 2 <= len(tables) <= 3:
        raise ValueError(f"tables must be two or three, to be compared; got {len(tables)}")
    first = next(iter(tables))
    for name, table in tables.items():
        check_square(f"tables[{name!r}]", table)
        check_same_shape(f"tables[{name!r}]", table, f"tables[{first!r}]", tables[first])

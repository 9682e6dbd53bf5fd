"""Static figures of lecture 04."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

LOOKS = (
    (BLUE, "o", "-"),
    (ORANGE, "s", "--"),
    (PURPLE, "D", "-."),
    (TEAL, "^", ":"),
    (MAGENTA, "v", (0, (5, 1))),
    (INK, "P", (0, (3, 1, 1, 1))),
    (MUTED, "X", (0, (1, 1))),
)
LABEL_GAP = 0.07  # between labels, as a share of the axis: a line of 11 points


# Beyond the training length


def draw_extrapolation(
    # test → scheme → share of right answers at each length; two tests of at most seven schemes
    tests: Mapping[str, Mapping[str, Sequence[float]]],
    lengths: Sequence[int],  # numbers of notes, rising
    trained_length: int,  # one of the lengths
) -> AnnotatedFigure:
    """Share of right answers over the length of the text, a panel each test, a line each scheme."""
    figure = new_figure(8.0, 3.9)
    with course_style():
        for index, (test, results) in enumerate(tests.items()):
            axes = figure.add_axes((0.075 + 0.475 * index, 0.135, 0.29, 0.775))
            axes.set_title(test, loc="left", pad=8)
            axes.set(xscale="log", ylim=(0, 1.03), xlabel="notes in the list")
            axes.set(yticks=[0, 0.25, 0.5, 0.75, 1])
            if index == 0:
                axes.set_ylabel("share of right answers")
            else:
                axes.tick_params(labelleft=False)
            axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
            axes.minorticks_off()
            axes.set_xlim(lengths[0] / 1.12, lengths[-1] * 1.05)
            axes.axvline(trained_length, color=GRID, linewidth=5, zorder=0)
            axes.text(trained_length * 1.06, 0.02, "trained", color=MUTED)
            for shares, (colour, marker, style) in zip(results.values(), LOOKS, strict=False):
                axes.plot(
                    lengths, shares, linestyle=style, marker=marker, color=colour, markersize=5.5
                )
            _name_ends(axes, {name: shares[-1] for name, shares in results.items()})
    parts = []
    for test, results in tests.items():
        ends = [f"{name} {shares[-1]:.2f}" for name, shares in results.items()]
        parts.append(f"{test}: {', '.join(ends)}")
    trained = lengths.index(trained_length)
    begin = [shares[trained] for shares in next(iter(tests.values())).values()]
    caption = (
        f"Share of right answers. At {trained_length} notes, the length of training, the schemes "
        f"have {min(begin):.2f} to {max(begin):.2f}. At {lengths[-1]} notes, {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def _name_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """Names right of the curves, at their ends or as near as the others leave room."""
    low, high = axes.get_ylim()
    shares = (np.array(list(ends.values())) - low) / (high - low)
    heights = spread_out(shares, LABEL_GAP)
    for name, share, height, look in zip(ends, shares, heights, LOOKS, strict=False):
        axes.plot(
            [1.0, 1.07], [share, height], color=look[0], linewidth=2, transform=axes.transAxes,
            clip_on=False,
        )  # fmt: skip
        axes.text(1.09, height, name, va="center", transform=axes.transAxes)


def _scale(figure: Figure, image: AxesImage, where: tuple[float, float, float, float]) -> None:
    bar = figure.colorbar(image, cax=figure.add_axes(where))
    bar.outline.set_visible(False)
    low, high = image.get_clim()
    bar.set_ticks([low, 0, high], labels=[f"{end:.2g}".replace("-", "−") for end in (low, 0, high)])


# What a pair adds to a score


def draw_cosines(
    pairs: Mapping[str, np.ndarray],  # name → cosines at distance 0, 1, …; at most seven
    trained: int,  # the largest distance in training
) -> AnnotatedFigure:
    """What pairs add to the score over the distance, if query and key start together."""
    figure = new_figure(8.0, 2.4)
    parts = []
    with course_style():
        axes = figure.add_axes((0.075, 0.22, 0.8, 0.64))
        longest = max(map(len, pairs.values())) - 1
        axes.axvspan(0, trained, color=GRID, zorder=0)
        axes.text(trained * 1.06, 1.06, "trained", color=MUTED, ha="right")
        for (name, cosines), (colour, _, style) in zip(pairs.items(), LOOKS, strict=False):
            axes.plot(cosines, color=colour, linestyle=style)
            axes.text(1.01 * longest, cosines[-1], name, va="center")
            low, lowest = cosines[: trained + 1].min(), cosines.min()
            parts.append(f"{name} down to {low:.2f}, beyond it to {lowest:.2f}".replace("-", "−"))
        axes.set(xlim=(0, longest), ylim=(-1.05, 1.05), yticks=[-1, 0, 1])
        axes.set(xlabel="distance m − n", ylabel="cosine")
    caption = (
        "Cosine between a query and a key that start together, over their distance. In training, "
        f"up to distance {trained}: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


# Scores over both positions


def draw_relative_scores(
    tables: Mapping[str, np.ndarray],  # name → scores, row m for the query's position; three tables
) -> AnnotatedFigure:
    """Scores of one query at every position with one key at every position, side by side.

    Where only the distance counts, each diagonal has one colour.
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
    spreads = {name: _diagonal_spread(table) for name, table in tables.items()}
    # How far rounding goes depends on the processor.
    parts = [
        f"{name}, by {spread:.2g}" if spread > 1e-3 else f"{name}, by less than 0.001"
        for name, spread in spreads.items()
    ]
    caption = (
        "Scores of one query at position m with one key at position n. Within a diagonal, where "
        f"m − n is the same, the largest and the smallest differ: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def _diagonal_spread(table: np.ndarray) -> float:
    size = len(table)
    return max(float(np.ptp(table.diagonal(offset))) for offset in range(1 - size, size))

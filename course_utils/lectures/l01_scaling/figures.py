"""Static figures of lecture 01."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import BLUE, GRID, INK, MUTED, ORANGE, course_style, new_figure

DIAGONAL = np.ones(3) / np.sqrt(3)
ACROSS = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])


def draw_norms(clouds: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """Vectors in three dimensions, seen along (1, 1, 1) and from the side.

    Args:
        clouds: name → (N, 3) vectors, three clouds, all made from the same N originals.
    """
    figure = new_figure(8.0, 4.0)
    with course_style():
        top, side = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.07, right=0.98, bottom=0.15, top=0.9, wspace=0.22)
        looks = (("o", MUTED, 0.5, 14), ("s", BLUE, 0.9, 16), ("^", ORANGE, 0.9, 18))
        for (name, points), (marker, colour, alpha, size) in zip(
            clouds.items(), looks, strict=True
        ):
            look = {"marker": marker, "color": colour, "alpha": alpha, "s": size, "label": name}
            across, along = points @ ACROSS.T, points @ DIAGONAL
            top.scatter(*across.T, linewidths=0, **look)
            side.scatter(np.linalg.norm(across, axis=1), along, linewidths=0, **look)
        top.set(title="seen along (1, 1, 1)", aspect="equal", xlim=(-3.2, 3.2), ylim=(-3.2, 3.2))
        side.set(title="seen from the side", aspect="equal", xlim=(0, 4.2), ylim=(-3.2, 3.2))
        side.set(xlabel="distance from the axis", ylabel="along (1, 1, 1)")
        top.set(xlabel="across, first direction", ylabel="across, second direction")
        side.legend(loc="lower right", handletextpad=0.2, borderaxespad=0)
    return AnnotatedFigure(figure, _words_of_norms(clouds))


def _words_of_norms(clouds: Mapping[str, np.ndarray]) -> str:
    """Lengths, and how far each cloud reaches along (1, 1, 1)."""
    count = len(next(iter(clouds.values())))
    parts = []
    for name, points in clouds.items():
        length, along = np.linalg.norm(points, axis=1), np.abs(points @ DIAGONAL)
        # LayerNorm's ε shortens a vector of nearly equal coordinates by a few thousandths.
        one = np.ptp(length) < 0.01 * length.mean()
        lengths = f"all of length {np.median(length):.2f}" if one else "of many lengths"
        normal = "in the plane perpendicular to (1, 1, 1)"
        flat = normal if along.max() < 0.005 else "in every direction"
        parts.append(f"{name}: {lengths}, {flat}")
    return f"The same {count} vectors, seen along (1, 1, 1) and from the side. {'; '.join(parts)}."


def draw_lengths(lengths: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """Lengths of several families of vectors, each divided by its own mean, as strips of dots."""
    figure = new_figure(8.0, 0.62 * len(lengths) + 1.0)
    with course_style():
        axes = figure.add_axes(
            (0.27, 0.8 / figure.get_figheight(), 0.71, 0.97 - 0.8 / figure.get_figheight())
        )
        for row, values in enumerate(lengths.values()):
            colour = BLUE if np.ptp(values / values.mean()) < 1e-3 else ORANGE
            axes.plot(
                values / values.mean(), np.full(len(values), row), "|", color=colour, markersize=17
            )
        axes.set_yticks(range(len(lengths)), list(lengths))
        axes.set(ylim=(len(lengths) - 0.5, -0.5), xlabel="length, divided by the mean length")
        axes.tick_params(axis="y", length=0)
        axes.axvline(1, color=GRID, zorder=0)
    ratios = ", ".join(
        f"{name} {values.max() / values.min():.2f}" for name, values in lengths.items()
    )
    words = f"Each stroke is one token's vector. Longest over shortest: {ratios}."
    return AnnotatedFigure(figure, words)


def draw_head_spreads(
    before: np.ndarray, after: np.ndarray, fresh: np.ndarray, width: int
) -> AnnotatedFigure:
    """Standard deviation of the scores of every head, before and after the division by √width.

    Args:
        before: (layers, heads), the standard deviation of q·k.
        after: the same of q·k / √width.
        fresh: the same as `after`, in an untrained encoder of the same shape.
        width: the heads' width, for the two lines that the proof predicts.
    """
    figure = new_figure(8.0, 4.3)
    with course_style():
        axes = figure.add_axes((0.09, 0.13, 0.71, 0.84))
        for table, colour, marker in (
            (before, ORANGE, "o"),
            (after, BLUE, "s"),
            (fresh, MUTED, "D"),
        ):
            _draw_heads(axes, table, colour, marker)
        for level, colour, words in (
            (np.sqrt(width), ORANGE, "q·k, trained\n" + rf"line: $\sqrt{{{width}}}$"),
            (1.0, BLUE, "divided, trained\nline: 1"),
            (np.median(fresh), MUTED, "divided, fresh"),
        ):
            if colour != MUTED:
                axes.axhline(level, color=colour, linestyle="--", linewidth=1.4)
            axes.annotate(
                words,
                (1.015, level),
                xycoords=("axes fraction", "data"),
                color=colour,
                va="center",
                fontsize=11,
            )
        axes.set(
            yscale="log",
            xlabel="layer (12 heads each, sorted)",
            ylabel="standard deviation of the scores",
        )
        axes.set_xticks(range(len(before)))
        axes.set_yticks([0.2, 0.5, 1, 2, 5, 10, 20, 50], ["0.2", "0.5", *"125", "10", "20", "50"])
        axes.minorticks_off()
        axes.tick_params(axis="x", length=0)
        axes.yaxis.label.set_color(INK)
    return AnnotatedFigure(figure, _words_of_spreads(after, fresh))


def _draw_heads(axes: Axes, table: np.ndarray, colour: str, marker: str) -> None:
    layers, heads = table.shape
    offset = np.linspace(-0.32, 0.32, heads)
    for layer in range(layers):
        ranked = np.sort(table[layer])
        axes.plot(layer + offset, ranked, marker, color=colour, markersize=5, alpha=0.85)


def _words_of_spreads(after: np.ndarray, fresh: np.ndarray) -> str:
    layer, head = np.unravel_index(int(after.argmax()), after.shape)
    return (
        f"Standard deviation of the scores of each of {after.size} heads by layer, sorted within a "
        f"layer. Trained and divided they run from {after.min():.2f} to {after.max():.1f} (layer "
        f"{layer}, head {head}), with median {np.median(after):.2f}; {int((after > 1).sum())} lie "
        f"above 1. A fresh encoder of the same shape has {fresh.min():.2f} to {fresh.max():.2f}."
    )

"""Static figures of lecture 01."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

from course_utils.explorers.draw import drawable
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGENTA,
    MUTED,
    ORANGE,
    TEAL,
    course_style,
    new_figure,
)

DIAGONAL = np.ones(3) / np.sqrt(3)
ACROSS = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]]) / np.sqrt([[2.0], [6.0]])


BINS = 80
TALLEST = 1.35  # of a panel, in units of the density's height at a right angle or at ±0.9


def cosine_density(x: np.ndarray, width: int) -> np.ndarray:
    """The density of the cosine of two random directions in `width` dimensions.

        Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) (1 - x^2)^((d-3)/2)

    In two dimensions it grows without bound at ±1, in three it is flat.
    """
    log_norm = math.lgamma(width / 2) - math.lgamma((width - 1) / 2) - 0.5 * math.log(math.pi)
    return math.exp(log_norm) * (1 - np.square(x)) ** ((width - 3) / 2)


WALKS = 30  # of all walks, as many as are drawn


def draw_walks(
    walks: np.ndarray,  # (walks, steps), each score after 1, 2, 3 … products
) -> AnnotatedFigure:
    """Running sums of products, and how far they spread, with the curve ±√n."""
    steps = np.arange(walks.shape[1] + 1)
    stops = [int(n) for n in 4.0 ** np.arange(1, 9) if n <= walks.shape[1]]
    spreads = [walks[:, n - 1].std() for n in stops]
    reach = 3.2 * math.sqrt(steps[-1])
    figure = new_figure(8.0, 3.5)
    with course_style():
        axes = figure.add_axes((0.09, 0.15, 0.77, 0.83))
        drawn = np.pad(walks[:WALKS], ((0, 0), (1, 0)))
        axes.plot(steps, drawn.T, color=MUTED, linewidth=0.7, alpha=0.35)
        one = drawn[np.abs(drawn[:, -1]).argmin()]  # room for its name
        axes.plot(steps, one, color=ORANGE, linewidth=1.4)
        for side in (-1, 1):
            axes.plot(steps, side * np.sqrt(steps), color=TEAL, linewidth=2)
            axes.plot(stops, side * np.array(spreads), "o", color=TEAL, markersize=6)
        edge = {"xycoords": ("axes fraction", "data"), "va": "center"}
        axes.annotate("√n", (1.015, math.sqrt(steps[-1])), color=TEAL, **edge)
        axes.annotate("−√n", (1.015, -math.sqrt(steps[-1])), color=TEAL, **edge)
        axes.annotate("one score", (1.015, one[-1]), color=ORANGE, **edge)
        axes.set(xlim=(0, steps[-1]), ylim=(-reach, reach), xticks=stops)
        axes.set(xlabel="n, the number of products added so far", ylabel="sum so far")
    found = ", ".join(f"{spread:.1f}" for spread in spreads)
    return AnnotatedFigure(
        figure,
        f"Scores as walks: each of the {len(drawn)} lines adds one random product at a time. Dots: "
        f"the standard deviation of {len(walks):,} such sums after {', '.join(map(str, stops))} "
        f"products, {found}. The curve is ±√n.",
    )


def draw_random_cosines(
    cosines: Mapping[int, np.ndarray],  # dimensions → (N,) cosines of pairs
) -> AnnotatedFigure:
    """Cosines of random directions as histograms, a row for each dimension, on one axis."""
    figure = new_figure(8.0, 0.56 * len(cosines) + 0.75)
    x = np.linspace(-0.999, 0.999, 1999)
    level = math.sin(math.radians(5))  # the cosine at five degrees from a right angle
    parts = []
    with course_style():
        rows = figure.subplots(len(cosines), 1, sharex=True, squeeze=False)[:, 0]
        height = figure.get_figheight()
        figure.subplots_adjust(left=0.19, right=0.8, bottom=0.62 / height, top=0.99, hspace=0.16)
        for axes, (width, values) in zip(rows, cosines.items(), strict=True):
            counts, edges = np.histogram(values, bins=BINS, range=(-1, 1), density=True)
            exact = cosine_density(x, width)
            top = TALLEST * max(cosine_density(np.array([0.0, 0.9]), width))
            axes.stairs(counts, edges, fill=True, color=TEAL, alpha=0.4)
            axes.plot(x, exact, color=INK, linewidth=1.6)
            axes.set(xlim=(-1, 1), ylim=(0, top), yticks=[], xticks=[-1, -0.5, 0, 0.5, 1])
            axes.spines["left"].set_visible(False)
            axes.tick_params(axis="x", length=0)
            label = {"xycoords": "axes fraction", "va": "center", "fontsize": 12}
            axes.annotate(f"{width} dimensions", (-0.02, 0.52), ha="right", **label)
            spread = f"spread {values.std():.3f}"
            axes.annotate(f"{spread}\n1/√{width} = {width**-0.5:.3f}", (1.02, 0.4), **label)
            near = (np.abs(values) < level).mean()
            axes.axvspan(-level, level, color=ORANGE, alpha=0.3, linewidth=0, zorder=0)
            axes.annotate(
                f"{near:.0%} in the band", (-0.02, 0.12), ha="right", color=ORANGE,
                xycoords="axes fraction", va="center",
            )  # fmt: skip
            parts.append(f"{width}: spread {values.std():.3f}, {near:.0%}")
        rows[-1].set_xlabel(
            "cosine of the angle between two random directions; band: within 5° of a right angle"
        )
    count = len(next(iter(cosines.values())))
    caption = (
        f"Cosines of {count:,} random pairs by the number of dimensions d. The line is the exact "
        "density, proportional to (1\u00a0−\u00a0x²)^((d−3)/2); each row has its own height. "
        "Standard deviation, and share of pairs within 5 degrees of a right angle: "
        f"{'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def draw_norms(
    clouds: Mapping[str, np.ndarray],  # name → (N, 3); three clouds, made from the same N originals
) -> AnnotatedFigure:
    """Vectors in three dimensions, a panel for each cloud, all seen from the same side."""
    figure = new_figure(8.0, 3.35)
    reach = 1.02 * max(np.abs(points).max() for points in clouds.values())
    with course_style():
        for place, ((name, points), colour) in enumerate(
            zip(clouds.items(), (MUTED, TEAL, MAGENTA), strict=True)
        ):
            rectangle = (0.005 + 0.333 * place, 0.0, 0.325, 0.93)
            axes: Any = figure.add_axes(rectangle, projection="3d", computed_zorder=False)
            axes.set_proj_type("ortho")
            axes.view_init(elev=16, azim=-22)
            _draw_guides(axes, points, reach)
            axes.scatter(*points.T, color=colour, s=16, alpha=0.75, linewidths=0, depthshade=False)
            axes.set(xlim=(-reach, reach), ylim=(-reach, reach), zlim=(-reach, reach))
            axes.set_box_aspect((1, 1, 1), zoom=1.65)
            axes.set_axis_off()
            figure.text(0.167 + 0.333 * place, 0.945, name, ha="center", color=colour)
    return AnnotatedFigure(figure, _caption_of_norms(clouds))


def _draw_guides(axes: Any, points: np.ndarray, reach: float) -> None:
    """The line along (1, 1, 1), the circle across it, or the sphere: what all points lie on."""
    turn = np.linspace(0, 2 * np.pi, 121)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1) @ ACROSS
    length = np.linalg.norm(points, axis=1)
    one_length = bool(np.ptp(length) < 0.01 * length.mean())
    ends = np.outer([-reach, reach], DIAGONAL)
    axes.plot(*ends.T, color=MUTED, linewidth=1.2, linestyle="--")
    axes.text(*(1.05 * reach * DIAGONAL), "(1, 1, 1)", color=MUTED, ha="center", va="bottom")
    if one_length and np.abs(points @ DIAGONAL).max() < 0.05:
        axes.plot(*(np.median(length) * ring).T, color=INK, linewidth=1)
        disc = Poly3DCollection([np.median(length) * ring], facecolor=GRID, alpha=0.6)
        axes.add_collection3d(disc)
    elif one_length:
        for height in (-0.8, -0.4, 0.0, 0.4, 0.8):
            band = np.sqrt(1 - height**2) * ring + height * DIAGONAL
            axes.plot(*band.T, color=MUTED, linewidth=0.7, alpha=0.5)


def _caption_of_norms(clouds: Mapping[str, np.ndarray]) -> str:
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
    return f"The same {count} vectors, in three panels. {'; '.join(parts)}."


def draw_lengths(
    lengths: Mapping[str, np.ndarray],  # name → (T,), one for each token
    # names for the shortest and the longest vector of each row
    tokens: Sequence[str] | None = None,
) -> AnnotatedFigure:
    """Lengths of several families of vectors, each divided by its own mean, as strips of dots."""
    figure = new_figure(8.0, 0.72 * len(lengths) + 1.0)
    height = figure.get_figheight()
    with course_style():
        axes = figure.add_axes((0.22, 0.72 / height, 0.76, 0.99 - 0.72 / height))
        for row, (name, values) in enumerate(lengths.items()):
            relative = values / values.mean()
            colour = {"q": BLUE, "k": ORANGE}.get(name[0], TEAL)
            axes.plot(relative, np.full(len(values), row), "|", color=colour, markersize=17)
            if tokens is not None and np.ptp(relative) > 0.01:
                for at in (int(relative.argmin()), int(relative.argmax())):
                    axes.annotate(
                        drawable(tokens[at]), (relative[at], row), (0, 11), color=colour,
                        textcoords="offset points", ha="center", va="bottom",
                    )  # fmt: skip
        axes.set_yticks(range(len(lengths)), list(lengths))
        axes.set(ylim=(len(lengths) - 0.5, -0.6), xlabel="length, divided by the mean length")
        axes.margins(x=0.06)
        axes.tick_params(axis="y", length=0)
        axes.axvline(1, color=GRID, zorder=0)
    ratios = ", ".join(
        f"{name} {values.max() / values.min():.2f}" for name, values in lengths.items()
    )
    caption = f"Each stroke is one token's vector. Longest over shortest: {ratios}."
    if tokens is not None:
        name, values = max(lengths.items(), key=lambda each: each[1].max() / each[1].min())
        caption += (
            f" In the row {name}, the longest is that of “{tokens[int(values.argmax())]}”, the "
            f"shortest that of “{tokens[int(values.argmin())]}”."
        )
    return AnnotatedFigure(figure, caption)


def draw_head_spreads(
    trained: np.ndarray,  # (layers, heads), of q·k / √d_k
    fresh: np.ndarray,  # the same, untrained
) -> AnnotatedFigure:
    """Standard deviation of the divided scores of every head."""
    figure = new_figure(8.0, 3.9)
    with course_style():
        axes = figure.add_axes((0.09, 0.14, 0.76, 0.83))
        axes.axhline(1, color=INK, linestyle="--", linewidth=1.4)
        axes.annotate(
            "1, for q and k\nof variance 1",
            (1.015, 1),
            xycoords=("axes fraction", "data"),
            va="center",
        )
        for table, colour, marker, label in (
            (trained, TEAL, "s", "trained"),
            (fresh, MAGENTA, "D", "untrained"),
        ):
            _draw_heads(axes, table, colour, marker)
            axes.annotate(
                label, (1.015, float(np.median(table))), xycoords=("axes fraction", "data"),
                color=colour, va="center",
            )  # fmt: skip
        layer, head = np.unravel_index(int(trained.argmax()), trained.shape)
        axes.annotate(
            f"layer {layer}, head {head}: {trained.max():.0f}",
            (float(layer) + 0.32, float(trained.max())), (9, 0),
            textcoords="offset points", va="center", color=TEAL,
        )  # fmt: skip
        axes.set(
            yscale="log",
            xlabel="layer (12 heads each, sorted)",
            ylabel="standard deviation (log scale)",
        )
        axes.set_xticks(range(len(trained)))
        axes.set_yticks([0.2, 0.5, 1, 2, 5, 10], ["0.2", "0.5", *"125", "10"])
        axes.minorticks_off()
        axes.tick_params(axis="x", length=0)
        axes.yaxis.label.set_color(INK)
    return AnnotatedFigure(figure, _caption_of_spreads(trained, fresh))


def _draw_heads(axes: Axes, table: np.ndarray, colour: str, marker: str) -> None:
    layers, heads = table.shape
    offset = np.linspace(-0.32, 0.32, heads)
    for layer in range(layers):
        ranked = np.sort(table[layer])
        axes.plot(layer + offset, ranked, marker, color=colour, markersize=5, alpha=0.85)


def _caption_of_spreads(trained: np.ndarray, fresh: np.ndarray) -> str:
    layer, head = np.unravel_index(int(trained.argmax()), trained.shape)
    return (
        f"Standard deviation of the divided scores of {trained.size} heads by layer, sorted within "
        f"a layer. Trained, they run from {trained.min():.2f} to {trained.max():.1f} (layer "
        f"{layer}, head {head}), with median {np.median(trained):.2f}; "
        f"{int((trained > 1).sum())} lie above 1. A fresh encoder of the same shape has "
        f"{fresh.min():.2f} to {fresh.max():.2f}."
    )

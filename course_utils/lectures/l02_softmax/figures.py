"""Static figures of lecture 02."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGNITUDE_MAP,
    MUTED,
    ORANGE,
    PURPLE,
    course_style,
    new_figure,
)
from course_utils.lectures.l02_softmax.explorers import LARGEST_NORM, jacobian_norm

Rows = Mapping[int, np.ndarray]


def draw_jacobian_fall(unscaled: Rows, scaled: Rows) -> AnnotatedFigure:
    """How much gradient the rows of weights let through, as the heads grow wider.

    On the left some rows of the unscaled weights at three widths are dots: the norm of a row's
    Jacobian over its largest weight. On the right are the medians, and the range of nine rows in
    ten.

    Args:
        unscaled: head width → (N, S) rows of weights.
        scaled: the same widths, with scores divided by the root of the width.
    """
    plain, divided = (
        {width: jacobian_norm(rows) for width, rows in tables.items()}
        for tables in (unscaled, scaled)
    )
    figure = new_figure(8.0, 3.9)
    with course_style():
        left, right = (
            figure.add_axes((0.08, 0.15, 0.4, 0.76)),
            figure.add_axes((0.59, 0.15, 0.4, 0.76)),
        )
        _draw_dots(left, unscaled, plain)
        for norms, colour, dash, name in (
            (divided, BLUE, "-", "divided by √d_k"),
            (plain, ORANGE, "--", "not divided"),
        ):
            widths = np.array(list(norms))
            low, middle, high = np.quantile(list(norms.values()), (0.05, 0.5, 0.95), axis=1)
            right.fill_between(widths, low, high, color=colour, alpha=0.22, linewidth=0)
            right.plot(widths, middle, dash, color=colour, marker="o", label=name)
        right.set(xscale="log", yscale="log", xlabel="head width d_k", title="as heads grow wider")
        right.set_ylim(1e-4, 1)
        right.set_xticks(list(unscaled), [str(width) for width in unscaled])
        right.xaxis.set_minor_locator(NullLocator())
        right.set_ylabel("norm of the Jacobian", labelpad=1)
        right.legend(loc="lower left", borderaxespad=0)
    parts = [
        f"{width}: {np.median(norms):.2g} (mean {norms.mean():.2f}) and "
        f"{np.median(divided[width]):.2f}"
        for width, norms in plain.items()
    ]
    widest = max(unscaled)
    dead = (unscaled[widest].max(-1) > 0.99).mean()
    words = (
        "Norm of the Jacobian of a row of weights; it is ½ at most, and 0 where one weight is 1. "
        f"Median by head width, not divided and divided by its root: {', '.join(parts)}. At width "
        f"{widest}, not divided, {dead:.0%} of the rows have a weight above 0.99."
    )
    return AnnotatedFigure(figure, words)


def _draw_dots(axes: Axes, unscaled: Rows, norms: Rows) -> None:
    widths = list(unscaled)
    shown = [widths[i] for i in sorted({0, len(widths) // 2, len(widths) - 1})]
    for width, colour, marker in zip(shown, (BLUE, PURPLE, ORANGE), "osv", strict=False):
        axes.plot(
            unscaled[width][:300].max(-1),
            norms[width][:300],
            marker,
            color=colour,
            markersize=4,
            alpha=0.6,
            markeredgewidth=0,
            label=f"d_k = {width}",
        )
    sharp = np.linspace(0.5, 1, 51)
    axes.plot(sharp, 2 * sharp * (1 - sharp), color=INK, linewidth=1.4)
    axes.annotate(
        "the rest\non one key", (0.8, 0.32), (0.86, 0.45), fontsize=10, ha="center", va="center",
        arrowprops={"arrowstyle": "-", "color": MUTED},
    )  # fmt: skip
    axes.set(xlim=(0, 1.02), ylim=(0, 0.55), title="not divided")
    axes.set(xlabel="largest weight of a query", ylabel="norm of the Jacobian")
    axes.axhline(LARGEST_NORM, color=GRID, zorder=0)
    axes.legend(loc="lower left", handletextpad=0.1, borderaxespad=0, markerscale=1.8)


def draw_head_tokens(tokens: np.ndarray, length: float) -> AnnotatedFigure:
    """How many tokens hold 90 % of the weight, in each head of each layer, as a table.

    Args:
        tokens: (layers, heads), the mean number of tokens over queries and sentences.
        length: how many tokens a sentence has on average, the end of the colour scale.
    """
    layers, heads = tokens.shape
    figure = new_figure(8.0, 0.42 * layers + 1.1)
    with course_style():
        axes = figure.add_axes((0.075, 0.02, 0.82, 1 - 0.62 / figure.get_figheight()))
        image = axes.imshow(tokens, vmin=1, vmax=length, cmap=MAGNITUDE_MAP, aspect="auto")
        for (layer, head), value in np.ndenumerate(tokens):
            colour = INK if value > 1 + 0.55 * (length - 1) else "white"
            axes.text(head, layer, f"{value:.1f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(heads))
        axes.set_yticks(range(layers))
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set(xlabel="head", ylabel="layer")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bounds = axes.get_position()
        scale = figure.add_axes((0.91, bounds.y0, 0.018, bounds.height))
        figure.colorbar(image, cax=scale, label="tokens for 90 %")
    few, many = (
        np.unravel_index(int(at), tokens.shape) for at in (tokens.argmin(), tokens.argmax())
    )
    by_layer = ", ".join(f"{mean:.1f}" for mean in tokens.mean(axis=1))
    words = (
        f"Tokens that hold 90 % of a query's weight, of {length:.1f} on average: mean over "
        f"{tokens.size} heads {tokens.mean():.1f}, from {tokens.min():.1f} (layer {few[0]}, head "
        f"{few[1]}) to {tokens.max():.1f} (layer {many[0]}, head {many[1]}). By layer: {by_layer}."
    )
    return AnnotatedFigure(figure, words)


def draw_largest_weights(
    largest: Mapping[str, np.ndarray], printed: Mapping[str, float]
) -> AnnotatedFigure:
    """The largest weight of many random matrices as a histogram, and the one that a text prints.

    Args:
        largest: name → (N,) largest weights, two of them.
        printed: the same names → the number in the text.
    """
    parts = []
    figure = new_figure(8.0, 1.55 * len(largest) + 0.75)
    with course_style():
        panels = figure.subplots(len(largest), 1, sharex=True, squeeze=False)[:, 0]
        bottom = 0.6 / figure.get_figheight()
        figure.subplots_adjust(left=0.03, right=0.97, bottom=bottom, top=0.98, hspace=0.12)
        for axes, (name, values), colour in zip(
            panels, largest.items(), (BLUE, ORANGE), strict=True
        ):
            counts, edges = np.histogram(values, bins=50, range=(0, 1))
            axes.stairs(counts / counts.max(), edges, fill=True, color=colour, alpha=0.55)
            axes.set(xlim=(0, 1), ylim=(0, 1.12), yticks=[])
            axes.spines["left"].set_visible(False)
            axes.axvline(values.mean(), color=colour, linewidth=2)
            axes.axvline(printed[name], color=INK, linewidth=1.6, linestyle="--")
            below = (values < printed[name]).mean()
            axes.text(
                0.01,
                0.95,
                f"{name}\nmean {values.mean():.3f} (line)\nin the text {printed[name]:.4f}\n"
                f"(dashed): {below:.0%} are below",
                va="top",
                fontsize=11,
            )
            parts.append(
                f"{name}: mean {values.mean():.3f}, from {values.min():.2f} to {values.max():.2f}; "
                f"{below:.1%} lie below the text's {printed[name]:.4f}"
            )
        panels[-1].set_xlabel("largest weight of the matrix")
    count = len(next(iter(largest.values())))
    words = f"Largest weight of {count:,} random matrices. {'. '.join(parts)}."
    return AnnotatedFigure(figure, words)

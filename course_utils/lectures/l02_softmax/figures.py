"""Static figures of lecture 02."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    GRID,
    INK,
    MAGENTA,
    MAGNITUDE_MAP,
    MUTED,
    TEAL,
    course_style,
    new_figure,
)
from course_utils.lectures.l02_softmax.explorers.softmax import LARGEST_NORM, jacobian_norm

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
            (divided, TEAL, "-", "divided by √d_k"),
            (plain, MAGENTA, "--", "not divided"),
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
        # Each name is where its line is alone.
        widest = max(unscaled)
        for text, at, offset, colour in (
            ("divided", (widest, np.median(divided[widest])), (-6, 16), TEAL),
            ("not divided", (widest, np.median(plain[widest])), (-24, -6), MAGENTA),
        ):
            right.annotate(text, at, offset, textcoords="offset points", ha="right", color=colour)
    parts = [
        f"{width}: {np.median(norms):.2g} (mean {norms.mean():.2f}) and "
        f"{np.median(divided[width]):.2f}"
        for width, norms in plain.items()
    ]
    widest = max(unscaled)
    dead = (unscaled[widest].max(-1) > 0.99).mean()
    caption = (
        "Norm of the Jacobian of a row of weights; it is ½ at most, and 0 where one weight is 1. "
        f"Median by head width, not divided and divided by its root: {', '.join(parts)}. At width "
        f"{widest}, not divided, {dead:.0%} of the rows have a weight above 0.99."
    )
    return AnnotatedFigure(figure, caption)


def _draw_dots(axes: Axes, unscaled: Rows, norms: Rows) -> None:
    widths = list(unscaled)
    shown = [widths[i] for i in sorted({0, len(widths) // 2, len(widths) - 1})]
    places = ((0.3, 0.17), (0.2, 0.46), (0.76, 0.04))  # below the cloud, left of it, at its end
    for width, colour, marker, place in zip(
        shown, (MUTED, TEAL, MAGENTA), "osv", places, strict=False
    ):
        largest = unscaled[width][:300].max(-1)
        look = {"color": colour, "markersize": 4, "alpha": 0.55, "markeredgewidth": 0}
        axes.plot(largest, norms[width][:300], marker, **look)
        axes.text(*place, f"d_k = {width}", color=colour, ha="center")
    sharp = np.linspace(0.5, 1, 51)
    axes.plot(sharp, 2 * sharp * (1 - sharp), color=INK, linewidth=1.4)
    axes.annotate(
        "all the rest\non one key", (0.78, 0.343), (0.87, 0.45), ha="center",
        va="center", arrowprops={"arrowstyle": "-", "color": MUTED},
    )  # fmt: skip
    axes.set(xlim=(0, 1.02), ylim=(0, 0.55), title="not divided")
    axes.set(xlabel="largest weight of a query", ylabel="norm of the Jacobian")
    axes.axhline(LARGEST_NORM, color=GRID, zorder=0)


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
            colour = "white" if value > 1 + 0.45 * (length - 1) else INK
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
    caption = (
        f"Tokens that hold 90 % of a query's weight, of {length:.1f} on average: mean over "
        f"{tokens.size} heads {tokens.mean():.1f}, from {tokens.min():.1f} (layer {few[0]}, head "
        f"{few[1]}) to {tokens.max():.1f} (layer {many[0]}, head {many[1]}). By layer: {by_layer}."
    )
    return AnnotatedFigure(figure, caption)


NINES = (0.5, 0.9, 0.99, 0.999, 0.9999, 1 - 1e-6, 1 - 1e-8, 1 - 1e-10)
LEAST_LEFT = 1e-12  # what is left for the others, at the end of the axis


def nines(weights: np.ndarray | float) -> np.ndarray:
    """How many nines a weight has: 0.9 is at 1, 0.99 at 2; an axis on which both ends are seen."""
    return np.asarray(-np.log10(np.maximum(1 - np.asarray(weights), LEAST_LEFT)))


def draw_largest_weights(
    largest: Mapping[str, np.ndarray], printed: Mapping[str, float]
) -> AnnotatedFigure:
    """The largest weight of many random matrices as a histogram, and the one that a text prints.

    Args:
        largest: name → (N,) largest weights, two of them.
        printed: the same names → the number in the text.
    """
    parts = []
    figure = new_figure(8.0, 3.3)
    bins = np.linspace(0, -np.log10(LEAST_LEFT), 73)
    with course_style():
        axes = figure.add_axes((0.03, 0.19, 0.94, 0.79))
        for (name, values), colour in zip(largest.items(), (TEAL, MAGENTA), strict=True):
            counts, edges = np.histogram(nines(values), bins=bins)
            heights = counts / max(counts.max(), 1)
            axes.stairs(heights, edges, fill=True, color=colour, alpha=0.4)
            at = float(nines(printed[name]))
            axes.plot([at, at], [0, 1.12], color=colour, linewidth=1.8, linestyle="--")
            below = (values < printed[name]).mean()
            beside = min(max(at, float(np.quantile(nines(values), 0.9))), 0.7 * bins[-1])
            axes.annotate(
                f"{name}\nmean {values.mean():.3f}\nthe text's {printed[name]:.4f}\n"
                f"(dashed): {below:.0%} are below",
                (beside, 1.55), (8, 0), textcoords="offset points", va="top", color=colour,
            )  # fmt: skip
            parts.append(
                f"{name}: mean {values.mean():.3f}, from {values.min():.2f} to {values.max():.2f}; "
                f"{below:.1%} lie below the text's {printed[name]:.4f}"
            )
        axes.set(xlim=(0, bins[-1]), ylim=(0, 1.6), yticks=[])
        axes.set_xticks(nines(np.array(NINES)), [_with_nines(each) for each in NINES])
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("largest weight of the matrix (each step to the right: one nine more)")
    count = len(next(iter(largest.values())))
    caption = f"Largest weight of {count:,} random matrices. {'. '.join(parts)}."
    return AnnotatedFigure(figure, caption)


def _with_nines(weight: float) -> str:
    return f"{weight:.4g}" if weight <= 0.9999 else rf"$1-10^{{{np.log10(1 - weight):.0f}}}$"

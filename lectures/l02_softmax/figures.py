"""Static figures of lecture 02."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.ticker import NullLocator

from course_utils.explorers.charts import draw_learning_curves
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    INK,
    MAGENTA,
    MAGNITUDE_MAP,
    TEAL,
    course_style,
    new_figure,
)

LEAST, MOST = 1e-4, 30.0  # the ends of the axis of gradients; what lies below is drawn at its end


def draw_query_gradients(
    sizes: Mapping[str, np.ndarray],  # name → (N,) lengths of the gradients; two
) -> AnnotatedFigure:
    """How much gradient each query receives, as a histogram on a logarithmic axis, a row each."""
    figure = new_figure(8.0, 3.6)
    bins = np.geomspace(LEAST, MOST, 81)
    parts = []
    with course_style():
        grid = figure.subplots(2, 1, sharex=True)
        figure.subplots_adjust(left=0.05, right=0.97, bottom=0.17, top=0.97, hspace=0.12)
        for axes, (name, values), colour in zip(grid, sizes.items(), (TEAL, MAGENTA), strict=True):
            low, middle, high = np.quantile(values, (0.1, 0.5, 0.9))
            axes.hist(np.clip(values, LEAST, MOST), bins=bins, color=colour, alpha=0.5)
            axes.axvline(middle, color=colour, linewidth=1.6)
            axes.axvspan(low, high, color=colour, alpha=0.1, linewidth=0)
            axes.text(
                0.01, 0.92, f"{name}\nmedian {middle:.2f}", va="top", color=colour,
                transform=axes.transAxes,
            )  # fmt: skip
            axes.set(xscale="log", xlim=(LEAST, MOST), yticks=[])
            axes.spines["left"].set_visible(False)
            parts.append(
                f"{name}: median {middle:.2f} (line), mean {values.mean():.2f}, eight in ten "
                f"between {low:.3f} and {high:.2f} (tinted)"
            )
        grid[0].tick_params(labelbottom=False)
        ticks = (1e-4, 1e-3, 1e-2, 0.1, 1, 10)
        grid[1].set_xticks(ticks, ["≤ 0.0001", "0.001", "0.01", "0.1", "1", "10"])
        grid[1].xaxis.set_minor_locator(NullLocator())
        grid[1].set_xlabel("length of the gradient that a query receives")
    count = len(next(iter(sizes.values())))
    caption = f"The gradients of {count:,} queries. {'; '.join(parts)}."
    return AnnotatedFigure(figure, caption)


def draw_races(
    panels: Mapping[str, Mapping[str, np.ndarray]],  # title → model → (runs, steps)
) -> AnnotatedFigure:
    """Losses of models that learn the same task, a panel each, with a caption that fits a slide."""
    picture = draw_learning_curves(panels, np.log(8), window=20)
    names = " / ".join(next(iter(panels.values())))
    ends = [
        f"{title}: " + " / ".join(f"{np.median(each[:, -20:].mean(axis=1)):.1f}" for each in runs)
        for title, runs in ((title, models.values()) for title, models in panels.items())
    ]
    runs, steps = next(iter(next(iter(panels.values())).values())).shape
    caption = (
        f"Loss over {steps} steps, mean of the last 20: each of {runs} runs (thin) and their "
        f"median (thick). Median at the end, {names}: {'; '.join(ends)}."
    )
    return AnnotatedFigure(picture.figure, caption)


def draw_head_tokens(
    tokens: np.ndarray,  # (layers, heads), the mean over queries and sentences
    length: float,  # tokens of a sentence on average, the end of the colour scale
) -> AnnotatedFigure:
    """How many tokens hold 90 % of the weight, in each head of each layer, as a table."""
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

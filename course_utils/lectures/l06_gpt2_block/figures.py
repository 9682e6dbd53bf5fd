"""Static figures of lecture 06. Its learning curves and times are `explorers.charts`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from course_utils.explorers.draw import HeatMap, end_label
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    INK,
    MAGNITUDE_MAP,
    ORANGE,
    course_style,
    new_figure,
)
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import PowerLaw

Depths = Mapping[int, np.ndarray]
UNDER = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8}


def draw_gradient_norms(panels: Mapping[str, Depths]) -> AnnotatedFigure:
    """Norm of each block's gradient before training, for models of several depths.

    The line is the median of the seeds, the band all of them; the number at a line's end is the
    depth. Both axes are logarithmic, and one scale holds for all panels.

    Args:
        panels: title → depth → (seeds, depth) norms, two panels at most, of six depths at most.
    """
    depths = list(next(iter(panels.values())))
    colours = MAGNITUDE_MAP(np.linspace(0.4, 1, len(depths)))
    figure = new_figure(8.0, 3.8)
    with course_style():
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        figure.subplots_adjust(left=0.1, right=0.95, bottom=0.15, top=0.91, wspace=0.14)
        for axes, (title, tables) in zip(grid, panels.items(), strict=True):
            axes.set(title=title, xscale="log", yscale="log", xlabel="block")
            for depth, colour in zip(depths, colours, strict=True):
                _draw_band(axes, np.arange(1, depth + 1), tables[depth], tuple(colour))
                end = float(np.median(tables[depth][:, -1]))
                # A deeper model's line may run through it.
                end_label(axes, depth, end, str(depth), INK).set_bbox(UNDER)
            ticks = [1, *(depth for depth in depths if depth > 1)]
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(axis="y")
        _plain_ticks(grid[0].yaxis)
        grid[0].set_ylabel("norm of the gradient")
    parts = []
    for title, tables in panels.items():
        ends = {depth: np.median(table[:, -1]) for depth, table in tables.items()}
        ratios = {depth: np.median(table[:, -1] / table[:, 0]) for depth, table in tables.items()}
        parts.append(
            f"{title}, the last block's norm by depth: {_by_depth(ends)}; over the first's: "
            f"{_by_depth(ratios)}"
        )
    runs = len(next(iter(next(iter(panels.values())).values())))
    words = (
        "Norm of the gradient of each block's weights before training, both axes logarithmic; "
        f"line: median of {_seeds(runs)}, band: all of them. {'. '.join(parts)}."
    )
    return AnnotatedFigure(figure, words)


def _draw_band(axes: Axes, x: np.ndarray, table: np.ndarray, colour: tuple) -> None:
    axes.fill_between(x, table.min(0), table.max(0), color=colour, alpha=0.18, linewidth=0)
    end = {"marker": "o", "markevery": [len(x) - 1], "markersize": 5}
    axes.plot(x, np.median(table, axis=0), color=colour, linewidth=2, **end)


def _plain_ticks(axis: Axis) -> None:
    """Numbers written out on a logarithmic axis, three to a power of ten where there are few."""
    low, high = np.log10(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high - low < 2.5 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda number, place: f"{number:g}"))
    axis.set_minor_locator(NullLocator())


def draw_induction(
    weights: np.ndarray, scores: np.ndarray, layer: int, head: int
) -> AnnotatedFigure:
    """A head's weights over a sequence that says everything twice, and the score of every head.

    Between the two orange lines lies what an induction head attends to: from a token of the second
    half, the one after its first occurrence.

    Args:
        weights: (2 N, 2 N), how much each token attends to each.
        scores: (layers, heads), the mean weight between the lines.
        layer: of the head that is shown, from 0.
        head: of the head that is shown, from 0.
    """
    count, half = len(weights), len(weights) // 2
    figure = new_figure(8.0, 3.9)
    with course_style():
        axes = figure.add_axes((0.085, 0.125, 0.375, 0.77))
        axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
        axes.set(xlabel="key", ylabel="query")
        axes.set_title(f"layer {layer}, head {head}")
        HeatMap(axes).set_data(weights)
        look = {"color": ORANGE, "linewidth": 1.6, "linestyle": "--"}
        rows = np.array([half - 0.5, count - 0.5])
        for shift in (0, 2):  # either side of key = query - half + 1
            axes.plot(rows - half + shift, rows, **look)
        _draw_scores(figure.add_axes((0.56, 0.125, 0.345, 0.77)), scores, layer, head)
        scale = figure.add_axes((0.925, 0.125, 0.018, 0.77))
        ramp = HeatMap(scale)
        ramp.set_data(np.linspace(1, 0, 64)[:, None])
        scale.set(xticks=[], ylim=(0, 1))
        scale.yaxis.tick_right()
        scale.set_yticks([0, 0.5, 1], ["0", "½", "1"])
        scale.tick_params(length=0)
    copies = np.diagonal(weights, 1 - half)[1:]  # from token 2 N - 1 down to N
    others = np.delete(scores.ravel(), layer * scores.shape[1] + head)
    words = (
        f"What layer {layer}, head {head} attends to in {count} tokens, the second {half} a copy "
        f"of the first. A token of the copy gives {copies.mean():.2f} of its weight to the token "
        f"after its first occurrence (between the dashed lines). Over many sequences the score is "
        f"{scores[layer, head]:.2f}; the other heads: {others.min():.2f} to {others.max():.2f}."
    )
    return AnnotatedFigure(figure, words)


def _draw_scores(axes: Axes, scores: np.ndarray, layer: int, head: int) -> None:
    layers, heads = scores.shape
    axes.set(xlim=(-0.5, heads - 0.5), ylim=(layers - 0.5, -0.5))
    axes.set(xlabel="head", title="weight on the token after", xticks=range(heads))
    axes.set_yticks(range(layers), [f"layer {each}" for each in range(layers)], rotation=90)
    for label in axes.get_yticklabels():
        label.set_verticalalignment("center")
    axes.tick_params(length=0)
    HeatMap(axes).set_data(scores)
    for (row, column), score in np.ndenumerate(scores):
        colour = INK if score > 0.55 else "white"
        axes.text(column, row, f"{score:.2f}", ha="center", va="center", color=colour)
    frame = {"fill": False, "edgecolor": ORANGE, "linewidth": 3}
    axes.add_patch(Rectangle((head - 0.5, layer - 0.5), 1, 1, clip_on=False, **frame))


def draw_ablation(losses: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """The loss of what can be known, of whole models and without some of their heads.

    A dot is a seed, the bar their median, orange above 1 nat.

    Args:
        losses: what was left out → (seeds,) losses in nats.
    """
    medians = {name: float(np.median(values)) for name, values in losses.items()}
    rows, height = len(losses), 0.31 * len(losses) + 0.75
    figure = new_figure(8.0, height)
    with course_style():
        longest = max(len(name) for name in losses)
        left = 0.03 + 0.0115 * longest
        axes = figure.add_axes((left, 0.58 / height, 0.965 - left, 1 - 0.68 / height))
        axes.set(ylim=(rows - 0.5, -0.5), xlabel="loss (nats)")
        axes.set_yticks(range(rows), list(losses))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        for row, (name, values) in enumerate(losses.items()):
            colour = BLUE if medians[name] <= 1 else ORANGE
            axes.barh(row, medians[name], height=0.72, color=colour, alpha=0.55)
            axes.plot(values, np.full(len(values), row), "o", color=colour, markersize=6)
    parts = [
        f"{name} {medians[name]:.2f} ({values.min():.2f} to {values.max():.2f})"
        for name, values in losses.items()
    ]
    words = (
        f"Loss in the second half, where the tokens can be known, median of {_seeds(len(values))} "
        f"and all of them as dots; orange above 1 nat. {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, words)


def draw_runs(
    losses: Mapping[str, np.ndarray], level: float, meaning: str, *, window: int = 20
) -> AnnotatedFigure:
    """Each run's loss over the steps as a line of its own: a band would hide sudden falls.

    Args:
        losses: name → (runs, steps), two at most.
        level: a loss to compare with, as a dotted line.
        meaning: what it is the loss of.
        window: number of steps to average over.
    """
    figure, parts = new_figure(8.0, 3.6), []
    with course_style():
        axes = figure.add_axes((0.085, 0.165, 0.765, 0.81))
        axes.axhline(level, color=INK, linewidth=1.6, linestyle=":")
        for (name, table), (colour, style) in zip(
            losses.items(), ((BLUE, "-"), (ORANGE, "--")), strict=False
        ):
            smooth = np.lib.stride_tricks.sliding_window_view(table, window, axis=1).mean(-1)
            steps = window + np.arange(smooth.shape[1])
            axes.plot(steps, smooth.T, style, color=colour, linewidth=1.5)
            ends = smooth[:, -1]
            end_label(axes, float(steps[-1]), float(np.median(ends)), name, colour)
            parts.append(f"{name} {', '.join(f'{end:.2f}' for end in ends)}")
        axes.set(xlabel="step", ylabel="loss (nats)", xlim=(0, steps[-1]))
        axes.set_ylim(0, 1.1 * max(table.max() for table in losses.values()))
        axes.annotate(
            meaning, (0.985, level), (0, 4), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", fontsize=11,
        )  # fmt: skip
    words = (
        f"Loss over the steps, mean of {window}, a line for each run. The dotted line, "
        f"{level:.2f}: {meaning}. At the end: {'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, words)


def draw_power_law(sizes: np.ndarray, losses: np.ndarray, law: PowerLaw) -> AnnotatedFigure:
    """Losses of models of several sizes, and the law that was fitted to them, on logarithmic axes.

    A dot is a seed. The band has the exponents at the two ends of the interval, turned about the
    middle of the sizes.

    Args:
        sizes: (sizes,) parameters.
        losses: (seeds, sizes) in nats.
        law: what was fitted, from `scaling_law.fit_power_law`.
    """
    figure = new_figure(8.0, 3.7)
    with course_style():
        axes = figure.add_axes((0.1, 0.165, 0.86, 0.8))
        axes.set(xscale="log", yscale="log", xlabel="parameters", ylabel="loss (nats per token)")
        x = np.geomspace(sizes.min() / 1.25, sizes.max() * 1.25, 100)
        middle = float(np.exp(np.log(sizes).mean()))
        ends = [
            law.irreducible + (law.loss(middle) - law.irreducible) * (x / middle) ** -end
            for end in law.interval
        ]
        axes.fill_between(x, *ends, color=ORANGE, alpha=0.2, linewidth=0)
        axes.plot(x, [law.loss(size) for size in x], color=ORANGE, label=str(law))
        for row in losses:
            axes.plot(sizes, row, "o", color=BLUE, markersize=7, alpha=0.75)
        axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlim(x[0], x[-1])
        _plain_ticks(axes.yaxis)
        axes.grid(axis="y")
        axes.legend(loc="upper right")
    means = ", ".join(
        f"{size:,.0f}: {mean:.3f}" for size, mean in zip(sizes, losses.mean(axis=0), strict=True)
    )
    words = (
        f"Loss by number of parameters, both axes logarithmic, mean of {_seeds(len(losses))}: "
        f"{means}. The law fitted: {law}."
    )
    return AnnotatedFigure(figure, words)


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _by_depth(norms: Mapping[int, float]) -> str:
    return ", ".join(f"{depth}: {_digits(norm)}" for depth, norm in norms.items())


def _digits(number: float) -> str:
    return f"{number:.3g}" if number >= 1e-3 else f"{number:.1e}"

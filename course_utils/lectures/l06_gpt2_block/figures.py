"""Static figures of lecture 06. Its curves of warm-up are `figures_02.draw_learning_curves`."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from course_utils.checks import check_int, check_text
from course_utils.explorers.checks import check_array, check_named, check_positive, check_square
from course_utils.explorers.draw import HeatMap, end_label
from course_utils.explorers.style import (
    BLUE,
    INK,
    MAGNITUDE_MAP,
    MUTED,
    ORANGE,
    course_style,
    new_figure,
)
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import PowerLaw

Depths = Mapping[int, np.ndarray]
MOST_CURVES = 6
MOST_ROWS = 16
UNDER = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8}


def draw_gradient_norms(panels: Mapping[str, Depths]) -> Figure:
    """Norm of each block's gradient before training, for models of several depths.

    The line is the median of the seeds, the band all of them; the number at a line's end is the
    depth. Both axes are logarithmic, and one scale holds for all panels.

    Args:
        panels: title → depth → (seeds, depth) norms, two panels at most, of six depths at most.

    Raises:
        TypeError, ValueError: when a table is not (seeds, depth) of positive finite numbers, the
            depths differ between panels, or there are too many of either.
    """
    _check_panels(panels)
    depths = list(next(iter(panels.values())))
    colours = matplotlib.colormaps[MAGNITUDE_MAP](np.linspace(0.85, 0, len(depths)))
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
    return figure


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


def describe_gradient_norms(panels: Mapping[str, Depths]) -> str:
    """The words of `draw_gradient_norms`, which refuses the same input: last block over first."""
    _check_panels(panels)
    parts = []
    for title, tables in panels.items():
        ratios = ", ".join(
            f"{depth}: {_digits(np.median(table[:, -1] / table[:, 0]))}"
            for depth, table in tables.items()
        )
        ends = ", ".join(
            f"{depth}: {_digits(np.median(table[:, -1]))}" for depth, table in tables.items()
        )
        parts.append(f"{title}, the last block's norm by depth: {ends}; over the first's: {ratios}")
    runs = len(next(iter(next(iter(panels.values())).values())))
    return (
        "Norm of the gradient of each block's weights before training, both axes logarithmic; "
        f"line: median of {_seeds(runs)}, band: all of them. {'. '.join(parts)}."
    )


def draw_induction(weights: np.ndarray, scores: np.ndarray, layer: int, head: int) -> Figure:
    """A head's weights over a sequence that says everything twice, and the score of every head.

    Between the two orange lines lies what an induction head reads: from a token of the second half
    the one behind its first occurrence.

    Args:
        weights: (2 N, 2 N), what each token reads of each.
        scores: (layers, heads), the mean weight between the lines.
        layer: of the head that is shown, from 0.
        head: of the head that is shown, from 0.

    Raises:
        TypeError, ValueError: when the weights are not a square table of an even number of rows
            with numbers from 0 to 1, the scores are no such table, or there is no such head.
    """
    _check_induction(weights, scores, layer, head)
    count, half = len(weights), len(weights) // 2
    figure = new_figure(8.0, 3.9)
    with course_style():
        axes = figure.add_axes((0.085, 0.125, 0.375, 0.77))
        axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
        axes.set(xlabel="token read", ylabel="token that reads")
        axes.set_title(f"layer {layer}, head {head}")
        HeatMap(axes).set_data(weights)
        look = {"color": ORANGE, "linewidth": 1.6, "linestyle": "--"}
        rows = np.array([half - 0.5, count - 0.5])
        for shift in (0, 2):  # either side of the stripe: read = reader - half + 1
            axes.plot(rows - half + shift, rows, **look)
        _draw_scores(figure.add_axes((0.56, 0.125, 0.345, 0.77)), scores, layer, head)
        scale = figure.add_axes((0.925, 0.125, 0.018, 0.77))
        ramp = HeatMap(scale)
        ramp.set_data(np.linspace(1, 0, 64)[:, None])
        scale.set(xticks=[], ylim=(0, 1))
        scale.yaxis.tick_right()
        scale.set_yticks([0, 0.5, 1], ["0", "½", "1"])
        scale.tick_params(length=0)
    return figure


def _draw_scores(axes: Axes, scores: np.ndarray, layer: int, head: int) -> None:
    layers, heads = scores.shape
    axes.set(xlim=(-0.5, heads - 0.5), ylim=(layers - 0.5, -0.5))
    axes.set(xlabel="head", title="weight on the token behind", xticks=range(heads))
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


def describe_induction(weights: np.ndarray, scores: np.ndarray, layer: int, head: int) -> str:
    """The words of `draw_induction`, which refuses the same input."""
    _check_induction(weights, scores, layer, head)
    half = len(weights) // 2
    stripe = np.diagonal(weights, 1 - half)[1:]  # reader 2 N - 1 down to N
    others = np.delete(scores.ravel(), layer * scores.shape[1] + head)
    rest = f"the other heads: {others.min():.2f} to {others.max():.2f}" if len(others) else ""
    return (
        f"What layer {layer}, head {head} reads in {len(weights)} tokens, the second {half} a copy "
        f"of the first. A token of the copy gives {stripe.mean():.2f} of its weight to the token "
        f"behind its first occurrence (between the dashed lines). Over many sequences the score is "
        f"{scores[layer, head]:.2f}{'; ' if rest else ''}{rest}."
    )


def draw_ablation(gains: Mapping[str, np.ndarray], unit: str = "gain (nats)") -> Figure:
    """What a model gains from having seen a sequence before, whole and without some of its heads.

    A dot is a seed, the bar their median. The first row is the whole model; a bar is orange where
    more than half of the whole model's gain is gone.

    Args:
        gains: what was left out → (seeds,) gains, sixteen rows at most, the whole model first.
        unit: what is on the axis.

    Raises:
        TypeError, ValueError: when a row is not (seeds,) of finite numbers, there is one row or
            more than sixteen, or the median gain of the first is not positive.
    """
    _check_gains(gains, unit)
    rows, height = len(gains), 0.31 * len(gains) + 0.75
    figure = new_figure(8.0, height)
    with course_style():
        longest = max(len(name) for name in gains)
        left = 0.03 + 0.0115 * longest
        axes = figure.add_axes((left, 0.58 / height, 0.965 - left, 1 - 0.68 / height))
        axes.set(ylim=(rows - 0.5, -0.5), xlabel=unit)
        axes.set_yticks(range(rows), list(gains))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        for row, (values, kept) in enumerate(zip(gains.values(), _kept(gains), strict=True)):
            colour = BLUE if kept >= 0.5 else ORANGE
            axes.barh(row, np.median(values), height=0.72, color=colour, alpha=0.55)
            axes.plot(values, np.full(len(values), row), "o", color=colour, markersize=6)
        axes.axvline(0, color=MUTED, linewidth=1.2)
    return figure


def describe_ablation(gains: Mapping[str, np.ndarray], unit: str = "gain (nats)") -> str:
    """The words of `draw_ablation`, which refuses the same input."""
    _check_gains(gains, unit)
    whole, *others = gains
    kept = dict(zip(gains, _kept(gains), strict=True))
    parts = [f"{name} {np.median(gains[name]):.2f} ({kept[name]:.0%} of it)" for name in others]
    return (
        "What is gained from having seen the sequence before, median of "
        f"{_seeds(len(gains[whole]))}; orange where less than half is left. "
        f"{whole}: {np.median(gains[whole]):.2f}; "
        f"{'; '.join(parts)}."
    )


def draw_power_law(sizes: np.ndarray, losses: np.ndarray, law: PowerLaw) -> Figure:
    """Losses of models of several sizes, and the law that was fitted to them, on logarithmic axes.

    A dot is a seed. The band has the exponents at the two ends of the interval, turned about the
    middle of the sizes; it is missing where the interval has no end.

    Args:
        sizes: (sizes,) parameters.
        losses: (seeds, sizes) in nats.
        law: what was fitted, from `scaling_law.fit_power_law`.

    Raises:
        TypeError, ValueError: when the arrays do not hold positive finite numbers, there are fewer
            than two sizes, or not one for each column of losses, or the law is no PowerLaw.
    """
    _check_law(sizes, losses, law)
    figure = new_figure(8.0, 3.7)
    with course_style():
        axes = figure.add_axes((0.1, 0.165, 0.86, 0.8))
        axes.set(xscale="log", yscale="log", xlabel="parameters", ylabel="loss (nats per token)")
        x = np.geomspace(sizes.min() / 1.25, sizes.max() * 1.25, 100)
        middle = float(np.exp(np.log(sizes).mean()))
        ends = [
            law.irreducible + (law.loss(middle) - law.irreducible) * (x / middle) ** -end
            for end in law.interval
            if np.isfinite(end)
        ]
        if len(ends) == 2:
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
    return figure


def describe_power_law(sizes: np.ndarray, losses: np.ndarray, law: PowerLaw) -> str:
    """The words of `draw_power_law`, which refuses the same input."""
    _check_law(sizes, losses, law)
    ends = ", ".join(
        f"{size:,.0f}: {column.mean():.3f}" for size, column in zip(sizes, losses.T, strict=True)
    )
    return (
        f"Loss by number of parameters, both axes logarithmic, mean of {_seeds(len(losses))}: "
        f"{ends}. The law fitted: {law}."
    )


def _kept(gains: Mapping[str, np.ndarray]) -> list[float]:
    """The share of the first row's median gain that each row has."""
    medians = [float(np.median(values)) for values in gains.values()]
    return [median / medians[0] for median in medians]


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _digits(number: float) -> str:
    return f"{number:.3g}" if number >= 1e-3 else f"{number:.1e}"


def _check_panels(panels: object) -> None:
    __tracebackhide__ = True
    check_named("panels", panels)
    assert isinstance(panels, Mapping)
    if len(panels) > 2:
        raise ValueError(f"panels must be at most 2; got {len(panels)}")
    first = None
    for title, tables in panels.items():
        name = f"panels[{title!r}]"
        if not isinstance(tables, Mapping):
            raise TypeError(f"{name} must be a mapping; got {type(tables).__name__}")
        first = list(tables) if first is None else first
        if list(tables) != first or not 1 <= len(first) <= MOST_CURVES:
            raise ValueError(
                f"{name} must have 1 to {MOST_CURVES} depths, the same in each panel; "
                f"got {list(tables)}"
            )
        for depth, table in tables.items():
            check_int(f"each depth of {name}", depth)
            check_array(f"{name}[{depth}]", table, "seeds depth")
            check_positive(f"{name}[{depth}]", table)
            if table.shape[1] != depth:
                raise ValueError(
                    f"{name}[{depth}] must have a column for each of {depth} blocks; "
                    f"got shape {table.shape}"
                )


def _check_induction(weights: np.ndarray, scores: np.ndarray, layer: int, head: int) -> None:
    __tracebackhide__ = True
    check_square("weights", weights)
    check_array("scores", scores, "layers heads")
    for name, table in (("weights", weights), ("scores", scores)):
        if table.min() < 0 or table.max() > 1 + 1e-5:
            ends = f"{table.min():.3g} to {table.max():.3g}"
            raise ValueError(f"{name} must lie in 0 to 1; got {ends}")
    if len(weights) % 2:
        raise ValueError(f"weights must have two halves of rows; got {len(weights)} rows")
    check_int("layer", layer, minimum=0, maximum=scores.shape[0] - 1)
    check_int("head", head, minimum=0, maximum=scores.shape[1] - 1)


def _check_law(sizes: np.ndarray, losses: np.ndarray, law: object) -> None:
    __tracebackhide__ = True
    check_array("sizes", sizes, "sizes")
    check_array("losses", losses, "seeds sizes")
    check_positive("sizes", sizes)
    check_positive("losses", losses)
    if len(sizes) < 2:
        raise ValueError(f"sizes must be 2 or more; got {len(sizes)}")
    if losses.shape[1] != len(sizes):
        raise ValueError(
            f"losses must have a column for each of {len(sizes)} sizes; got shape {losses.shape}"
        )
    if not isinstance(law, PowerLaw):
        raise TypeError(f"law must be a PowerLaw; got {type(law).__name__}")


def _check_gains(gains: object, unit: object) -> None:
    __tracebackhide__ = True
    check_named("gains", gains)
    check_text("unit", unit)
    assert isinstance(gains, Mapping)
    if not 2 <= len(gains) <= MOST_ROWS:
        raise ValueError(f"gains must hold 2 to {MOST_ROWS} rows; got {len(gains)}")
    for name, values in gains.items():
        check_array(f"gains[{name!r}]", values, "seeds")
    first = next(iter(gains))
    if np.median(gains[first]) <= 0:
        raise ValueError(
            f"gains[{first!r}] must have a positive median, to compare the others with; "
            f"got {np.median(gains[first]):.3g}"
        )

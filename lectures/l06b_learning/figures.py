"""Static figures of lecture 06b. Its learning curves and times are `explorers.charts`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from course_utils.explorers.draw import end_label
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    INK,
    MAGENTA,
    TEAL,
    course_style,
    new_figure,
)
from lectures.l06b_learning.experiments.scaling_law import PowerLaw

Depths = Mapping[int, np.ndarray]
UNDER = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8}
# From pale to dark: neighbours differ, and none is a query's, a key's or a value's colour.
DEPTHS = LinearSegmentedColormap.from_list("depths", ["#7cc7c0", TEAL, INK])


def draw_gradient_norms(panels: Mapping[str, Depths]) -> AnnotatedFigure:
    """Norm of each block's gradient before training, for models of several depths.

    A thin line is the median of the seeds, the number at its end the depth. There a bar has all
    seeds, and a thick line joins the last blocks. Both axes are logarithmic, and one scale holds
    for all panels.

    Args:
        panels: title → depth → (seeds, depth) norms, two panels at most, of six depths at most.
    """
    depths = list(next(iter(panels.values())))
    colours = DEPTHS(np.linspace(0, 1, len(depths)))
    figure = new_figure(8.0, 3.9)
    with course_style():
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        figure.subplots_adjust(left=0.1, right=0.95, bottom=0.14, top=0.86, wspace=0.16)
        for axes, (title, tables) in zip(grid, panels.items(), strict=True):
            axes.set(
                title=title, xscale="log", yscale="log", xlabel="block, counted from the input"
            )
            for depth, colour in zip(depths, colours, strict=True):
                _draw_stack(axes, depth, tables[depth], tuple(colour))
            lasts = [float(np.median(tables[depth][:, -1])) for depth in depths]
            axes.plot(depths, lasts, color=MAGENTA, linewidth=3, zorder=3)
            for depth, last in zip(depths, lasts, strict=True):
                end_label(axes, depth, last, str(depth), INK).set_bbox(UNDER)
            ticks = [1, *(depth for depth in depths if depth > 1)]
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(axis="y")
        _plain_ticks(grid[0].yaxis)
        figure.text(
            0.02, 0.95, "norm of the gradient; magenta: the last block of a stack, with its depth"
        )
    parts = []
    for title, tables in panels.items():
        ends = {depth: np.median(table[:, -1]) for depth, table in tables.items()}
        ratios = {depth: np.median(table[:, -1] / table[:, 0]) for depth, table in tables.items()}
        parts.append(
            f"{title}, the last block's norm by depth: {_by_depth(ends)}; over the first's: "
            f"{_by_depth(ratios)}"
        )
    runs = len(next(iter(next(iter(panels.values())).values())))
    caption = (
        "Norm of the gradient of each block's weights before training, both axes logarithmic; "
        f"line: median of {_seeds(runs)}, magenta: the last block, bar: all seeds. "
        f"{'. '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def _draw_stack(axes: Axes, depth: int, table: np.ndarray, colour: tuple) -> None:
    """One depth: its median over the blocks, and all seeds of its last block."""
    axes.plot(np.arange(1, depth + 1), np.median(table, axis=0), color=colour, linewidth=1.4)
    last = table[:, -1]
    axes.vlines(depth, last.min(), last.max(), color=MAGENTA, linewidth=1.6, zorder=3)
    axes.plot(depth, np.median(last), "o", color=MAGENTA, markersize=8, zorder=4)


def _plain_ticks(axis: Axis) -> None:
    """Numbers written out on a logarithmic axis, three to a power of ten where there are few."""
    low, high = np.log10(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high - low < 2.5 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda number, place: f"{number:g}"))
    axis.set_minor_locator(NullLocator())


def draw_ablation(
    losses: Mapping[str, np.ndarray], levels: Mapping[str, float] = MappingProxyType({})
) -> AnnotatedFigure:
    """The loss of what can be known, of whole models and without some of their heads.

    A dot is a seed, the bar their median, magenta above 1 nat.

    Args:
        losses: what was left out → (seeds,) losses in nats.
        levels: meaning → a loss to compare with, as a dotted line; the smallest first.
    """
    medians = {name: float(np.median(values)) for name, values in losses.items()}
    rows, height = len(losses), 0.31 * len(losses) + 0.75 + 0.42 * bool(levels)
    figure = new_figure(8.0, height)
    with course_style():
        longest = max(len(name) for name in losses)
        left = 0.03 + 0.0115 * longest
        top = 0.1 + 0.42 * bool(levels)
        axes = figure.add_axes((left, 0.58 / height, 0.965 - left, 1 - (0.58 + top) / height))
        axes.set(ylim=(rows - 0.5, -0.5), xlabel="loss (nats)")
        axes.set_yticks(range(rows), list(losses))
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        for row, (name, values) in enumerate(losses.items()):
            colour = TEAL if medians[name] <= 1 else MAGENTA
            axes.barh(row, medians[name], height=0.72, color=colour, alpha=0.55)
            axes.plot(values, np.full(len(values), row), "o", color=colour, markersize=6)
        for place, (meaning, level) in enumerate(levels.items()):
            axes.axvline(level, color=INK, linewidth=1.4, linestyle=":", zorder=0.5)
            side = "right" if place == 0 and len(levels) > 1 else "left"
            axes.annotate(
                f" {meaning} ", (level, 1), (0, 2), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha=side, va="bottom",
            )  # fmt: skip
    parts = [
        f"{name} {medians[name]:.2f} ({values.min():.2f} to {values.max():.2f})"
        for name, values in losses.items()
    ]
    caption = (
        f"Loss in the second half, where the tokens can be known, median of {_seeds(len(values))} "
        f"and all of them as dots; magenta above 1 nat. {'; '.join(parts)}.{_compared(levels)}"
    )
    return AnnotatedFigure(figure, caption)


def draw_runs(
    losses: Mapping[str, np.ndarray], levels: Mapping[str, float], *, window: int = 20
) -> AnnotatedFigure:
    """Each run's loss over the steps as a line of its own: a band would hide sudden falls.

    Args:
        losses: name → (runs, steps), two at most.
        levels: meaning → a loss to compare with, as a dotted line.
        window: number of steps to average over.
    """
    figure, parts = new_figure(8.0, 3.8), []
    with course_style():
        axes = figure.add_axes((0.085, 0.155, 0.765, 0.825))
        for (name, table), (colour, style) in zip(
            losses.items(), ((TEAL, "-"), (MAGENTA, "--")), strict=False
        ):
            smooth = np.lib.stride_tricks.sliding_window_view(table, window, axis=1).mean(-1)
            steps = window + np.arange(smooth.shape[1])
            axes.plot(steps, smooth.T, style, color=colour, linewidth=1.5)
            ends = smooth[:, -1]
            end_label(axes, float(steps[-1]), float(np.median(ends)), name, colour)
            parts.append(f"{name} {', '.join(f'{end:.2f}' for end in ends)}")
        axes.set(xlabel="step", ylabel="loss (nats)", xlim=(0, steps[-1]))
        highest = max(max(table.max() for table in losses.values()), *levels.values())
        axes.set_ylim(0, 1.12 * highest)
        for meaning, level in levels.items():
            axes.axhline(level, color=INK, linewidth=1.4, linestyle=":", zorder=1)
            # On the left the lowest level is free of curves, on the right the others.
            is_left = level == min(levels.values())
            axes.annotate(
                f"{level:.2f}: {meaning}", (0.01 if is_left else 0.985, level), (0, -5),
                ha="left" if is_left else "right", va="top",
                xycoords=("axes fraction", "data"), textcoords="offset points",
            )  # fmt: skip
    caption = (
        f"Loss over the steps, mean of {window}, a line for each run. At the end: "
        f"{'; '.join(parts)}.{_compared(levels)}"
    )
    return AnnotatedFigure(figure, caption)


def _compared(levels: Mapping[str, float]) -> str:
    """What the dotted lines are, in words."""
    named = ", ".join(f"{level:.2f} ({meaning})" for meaning, level in levels.items())
    return f" Dotted: {named}." if named else ""


def draw_power_law(sizes: np.ndarray, losses: np.ndarray, law: PowerLaw) -> AnnotatedFigure:
    """Losses of models of several sizes, and the law that was fitted to them, on logarithmic axes.

    A dot is a seed. In the band lies the law's line, height and slope, with 95 % confidence at each
    size, as far as the losses scatter about a straight line.

    Args:
        sizes: (sizes,) parameters.
        losses: (seeds, sizes) in nats.
        law: what was fitted, from `scaling_law.fit_power_law`.
    """
    figure = new_figure(8.0, 3.4)
    with course_style():
        axes = figure.add_axes((0.1, 0.165, 0.86, 0.8))
        axes.set(xscale="log", yscale="log", xlabel="parameters", ylabel="loss (nats per byte)")
        x = np.geomspace(sizes.min() / 1.25, sizes.max() * 1.25, 100)
        middle = [law.loss(size) for size in x]
        low, high = line_band(x, sizes, losses.size, law)
        axes.fill_between(x, low, high, color=MAGENTA, alpha=0.15, linewidth=0)
        axes.plot(x, middle, color=MAGENTA)
        for row in losses:
            axes.plot(sizes, row, "o", color=INK, markersize=7, alpha=0.75, markeredgecolor="white")
        axes.set_xticks(sizes, [f"{size:,.0f}" for size in sizes])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlim(x[0], x[-1])
        _plain_ticks(axes.yaxis)
        axes.grid(axis="y")
        at, (low, high) = float(np.sqrt(sizes[-2] * sizes[-1])), law.interval
        axes.annotate(
            f"L(N) = {_floor(law)}{law.constant:.3g} N$^{{-{law.exponent:.3f}}}$",
            (at, law.loss(at)),
            (0, 62), textcoords="offset points", ha="center", color=MAGENTA,
        )  # fmt: skip
        axes.annotate(
            f"exponent {low:.3f} to {high:.3f} (95 %)", (at, law.loss(at)), (0, 44),
            textcoords="offset points", ha="center", color=MAGENTA,
        )  # fmt: skip
    means = ", ".join(
        f"{size:,.0f}: {mean:.3f}" for size, mean in zip(sizes, losses.mean(axis=0), strict=True)
    )
    caption = (
        f"Loss by number of parameters, both axes logarithmic, mean of {_seeds(len(losses))}: "
        f"{means}. The law fitted: {law}; band: where its line lies with 95 % confidence."
    )
    return AnnotatedFigure(figure, caption)


def line_band(
    x: np.ndarray, sizes: np.ndarray, count: int, law: PowerLaw
) -> tuple[np.ndarray, np.ndarray]:
    """Where the straight line of a fit to `count` losses lies at x, with 95 % confidence.

    Half the interval of the slope is t s / sqrt(S), S the spread of ln N; the line's own half width
    is t s sqrt(1 / count + (ln x - mean)^2 / S).
    """
    places, logs = np.log(sizes), np.log(x)
    spread = count / len(sizes) * ((places - places.mean()) ** 2).sum()
    half = (law.interval[1] - law.interval[0]) / 2
    wide = half * np.sqrt(spread / count + (logs - places.mean()) ** 2)
    above = law.constant * x**-law.exponent
    return law.irreducible + above * np.exp(-wide), law.irreducible + above * np.exp(wide)


def _floor(law: PowerLaw) -> str:
    return f"{law.irreducible:.3g} + " if law.irreducible else ""


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _by_depth(norms: Mapping[int, float]) -> str:
    return ", ".join(f"{depth}: {_digits(norm)}" for depth, norm in norms.items())


def _digits(number: float) -> str:
    return f"{number:.3g}" if number >= 1e-3 else f"{number:.1e}"

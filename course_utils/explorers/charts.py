"""Charts that several lectures draw: learning curves, losses beside a level, a cache's times."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from course_utils.explorers.draw import end_label
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    INK,
    MAGENTA,
    MUTED,
    ORANGE,
    PURPLE,
    TEAL,
    course_style,
    new_figure,
)

COLUMNS = 4
PANEL_LOOKS = ((TEAL, "-"), (MAGENTA, "--"), (INK, ":"))
LOOKS = ((BLUE, "-"), (ORANGE, "--"), (PURPLE, "-."), (TEAL, ":"))
Curves = Mapping[str, Mapping[str, np.ndarray]]


def draw_learning_curves(panels: Curves, chance: float, *, window: int = 10) -> AnnotatedFigure:
    """Losses over the steps: the median as a thick line, each run as a thin one, a panel each.

    Args:
        panels: title → name of a curve → (runs, steps), up to eight panels of up to three curves;
            the curves have the same names everywhere.
        chance: the loss of guessing, as a dotted line.
        window: number of steps to average over, for a single batch may be lucky.
    """
    smooth = {
        title: {name: _smooth(losses, window) for name, losses in curves.items()}
        for title, curves in panels.items()
    }
    columns = -(-len(panels) // -(-len(panels) // COLUMNS))  # full rows where that can be
    runs, steps = next(iter(next(iter(panels.values())).values())).shape
    rows = -(-len(panels) // columns)
    height = 1.05 + 1.65 * rows
    figure = new_figure(8.0, height)
    with course_style():
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        figure.subplots_adjust(
            left=0.07,
            right=0.985,
            bottom=0.5 / height,
            top=1 - 0.7 / height,
            wspace=0.1,
            hspace=0.3,
        )
        for axes, (title, curves) in zip(grid.flat, smooth.items(), strict=False):
            axes.set_title(title)
            _draw_curves(axes, curves, window)
            axes.axhline(chance, color=MUTED, linestyle=":", linewidth=1.2)
            axes.set(xlim=(0, steps), ylim=(0, 1.25 * chance))
            axes.yaxis.set_major_locator(MaxNLocator(3))
            # The last number would touch the first of the next panel.
            axes.xaxis.set_major_locator(MaxNLocator(4, prune="upper"))
        for unused in list(grid.flat)[len(panels) :]:
            unused.set_axis_off()
        # Above the line by more than a curve that begins there is thick.
        grid[0, 0].annotate(
            "guessing", (0.02 * steps, chance), (0, 5), textcoords="offset points", color=MUTED
        )
        for row in grid[:, 0]:
            row.set_ylabel("loss (nats)")
        for axes in grid[-1]:
            axes.set_xlabel("step")
        # Curves cross, so their names stand apart.
        named = grid[0, 0].get_legend_handles_labels()
        if len(named[1]) > 1:
            figure.legend(*named, loc="upper center", ncols=len(named[1]), labelcolor="linecolor")
    ends = []
    for title, curves in smooth.items():
        last = {name: losses[:, -1] for name, losses in curves.items()}
        named = ", ".join(
            f"{name} {np.median(end):.2f} ({end.min():.2f} to {end.max():.2f})"
            for name, end in last.items()
        )
        ends.append(f"{title}: {named}")
    caption = (
        f"Loss over {steps} steps, mean of the last {window}; thin: each of {runs} runs, thick: "
        f"their median; guessing gives {chance:.2f}. At the end: {'; '.join(ends)}."
    )
    return AnnotatedFigure(figure, caption)


def _draw_curves(axes: Axes, curves: Mapping[str, np.ndarray], window: int) -> None:
    for (name, smooth), (colour, dash) in zip(curves.items(), PANEL_LOOKS, strict=False):
        steps = window + np.arange(smooth.shape[1])
        axes.plot(steps, smooth.T, color=colour, alpha=0.5, linewidth=0.7)
        axes.plot(steps, np.median(smooth, axis=0), color=colour, linestyle=dash, label=name)


def _smooth(losses: np.ndarray, window: int) -> np.ndarray:
    """Mean of the last `window` losses at each step that has as many behind it."""
    return np.lib.stride_tricks.sliding_window_view(losses, window, axis=1).mean(-1)


def draw_losses(losses: Mapping[str, np.ndarray], floor: float, floor_name: str) -> AnnotatedFigure:
    """Learning curves, the median of the runs within the band of all, and a level to hold them to.

    Args:
        losses: name → (runs, steps), four at most.
        floor: the level, for example the entropy that no honest model can go below.
        floor_name: its name.
    """
    runs, count = next(iter(losses.values())).shape
    last = max(1, count // 20)  # so many steps are averaged, so that one batch does not decide
    figure = new_figure(8.0, 3.6)
    ends = []
    with course_style():
        axes = figure.add_axes((0.085, 0.165, 0.715, 0.81))
        axes.axhline(floor, color=INK, linewidth=1.2, linestyle=":")
        steps = np.arange(count)
        for (name, table), (colour, style) in zip(losses.items(), LOOKS, strict=False):
            axes.fill_between(
                steps, table.min(0), table.max(0), color=colour, alpha=0.25, linewidth=0
            )
            axes.plot(steps, np.median(table, axis=0), style, color=colour)
            end = table[:, -last:].mean(axis=1)
            end_label(axes, count - 1, float(end.mean()), name, colour)
            side = "below" if end.max() < floor else "above" if end.min() > floor else "at"
            ends.append(f"{name} at {end.min():.3f} to {end.max():.3f}, {side} it")
        axes.set(xlabel="step", ylabel="loss", xlim=(0, count - 1))
        highest = max(floor, *(table.max() for table in losses.values()))
        lowest = min(0.0, *(table.min() for table in losses.values()))
        axes.set_ylim(lowest, 1.12 * highest)
        axes.annotate(
            floor_name, (0.985, floor), (0, -5), va="top", xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right",
        )  # fmt: skip
    caption = (
        f"Loss over {count} steps, {runs} runs each. The dotted line is {floor_name}, {floor:.3f}. "
        f"Over the last {last} steps: {'; '.join(ends)}."
    )
    return AnnotatedFigure(figure, caption)


def draw_cache_times(
    lengths: np.ndarray, with_cache: np.ndarray, without: np.ndarray
) -> AnnotatedFigure:
    """Time for one more token over the length so far, both axes logarithmic; bands are all runs.

    The words say ratios, for times vary.

    Args:
        lengths: (lengths,) tokens, rising.
        with_cache: (runs, lengths) seconds.
        without: (runs, lengths) seconds; the number of runs may differ.
    """
    fast, slow = (np.median(runs, axis=0) for runs in (with_cache, without))
    figure = new_figure(8.0, 3.5)
    last = float(lengths[-1])
    low, high = 1e3 * min(with_cache.min(), without.min()), 1e3 * max(without.max(), fast.max())
    with course_style():
        axes = figure.add_axes((0.12, 0.17, 0.68, 0.8))
        axes.set(xscale="log", yscale="log")
        axes.set(xlabel="tokens so far", ylabel="time for one more token")
        for name, runs, middle, colour, style, marker in (
            ("without a cache", without, slow, MAGENTA, "--", "s"),
            ("with a cache", with_cache, fast, TEAL, "-", "o"),
        ):
            axes.fill_between(
                lengths, 1e3 * runs.min(0), 1e3 * runs.max(0), color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(lengths, 1e3 * middle, style, marker=marker, color=colour, markersize=7)
            end_label(axes, last, float(1e3 * middle[-1]), name, colour)
        axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
        powers = range(int(np.floor(np.log10(low))), int(np.log10(high)) + 2)
        ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        axes.set_yticks(ticks, [_duration(tick) for tick in ticks])
        axes.set_ylim(0.8 * low, 1.25 * high)
        axes.minorticks_off()
        axes.grid(axis="y")
        _name_ratio(axes, last, float(1e3 * fast[-1]), float(1e3 * slow[-1]))
    ratio = slow / fast
    caption = (
        f"Time for one more token, both axes logarithmic. Without a cache it takes "
        f"{_times(ratio[0])} as long as with one at {lengths[0]:,.0f} tokens, "
        f"{_times(ratio[-1])} at {lengths[-1]:,.0f}. With a cache the longest text's step takes "
        f"{_times(fast[-1] / fast[0])} as long as the shortest's."
    )
    return AnnotatedFigure(figure, caption)


def _name_ratio(axes: Axes, x: float, low: float, high: float) -> None:
    """How many times the upper of two ends is the lower, between them, where there is room."""
    if high < 2 * low:
        return
    arrow = {"arrowstyle": "<->", "color": MUTED, "shrinkA": 6, "shrinkB": 6}
    axes.annotate("", (x, low), (x, high), arrowprops=arrow)
    axes.annotate(
        f"{_times(high / low)}\nas long", (x, float(np.sqrt(low * high))), (8, 0), va="center",
        textcoords="offset points", color=INK, annotation_clip=False,
    )  # fmt: skip


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:g} s"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:.0f} times"

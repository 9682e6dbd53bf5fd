"""Static figures of lecture 07."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    INK,
    MAGENTA,
    MUTED,
    TEAL,
    course_style,
    new_figure,
)

Panels = Mapping[str, Mapping[str, np.ndarray]]
LINES = ((TEAL, "o-"), (MAGENTA, "s--"), (MUTED, "v:"), (INK, "^-."))
# The experts' colours in the explorer, and what can be read on them.
EXPERT_COLOURS = ("#4a5468", "#c03a7c", "#d19a00", "#00857c")
ON_COLOURS = ("white", "white", INK, "white")
NUMBERED, IDLE = 0.05, 0.005  # shares from which a part has its number, and below which none
APART = 0.08  # of the accuracy's axis, between two names of lines


def draw_pruning_curves(sparsities: np.ndarray, panels: Panels, guess: float) -> AnnotatedFigure:
    """Accuracy against the share of weights that is gone, by each rule, a panel for each net.

    Lines are medians of the models, bands all of them. The axis stretches towards 1, where
    networks break: each time that what is left halves is as wide.

    Args:
        sparsities: (sparsities,) from 0 to below 1, rising.
        panels: title → rule → (models, sparsities) accuracies, up to three panels of up to four
            rules; the rules have the same names everywhere.
        guess: the accuracy of guessing, as a dotted line.
    """
    figure = new_figure(8.0, 3.7)
    rules = next(iter(panels.values()))
    with course_style():
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        names = 0.02 + 0.0125 * max(len(rule) for rule in rules)
        figure.subplots_adjust(left=0.085, right=0.985 - names, bottom=0.155, top=0.91, wspace=0.12)
        left_over = 1 - sparsities
        for axes, (title, curves) in zip(grid, panels.items(), strict=True):
            for table, (colour, line) in zip(curves.values(), LINES, strict=False):
                axes.fill_between(
                    left_over, table.min(0), table.max(0), color=colour, alpha=0.2, linewidth=0
                )
                axes.plot(left_over, np.median(table, axis=0), line, color=colour, markersize=6)
            axes.axhline(guess, color=MUTED, linestyle=":", linewidth=1.4)
            axes.set(title=title, xscale="log", ylim=(0, 1.03), xlabel="weights set to 0 (%)")
            axes.set_xlim(1.08, left_over[-1] / 1.08)
            axes.set_xticks(left_over, [f"{100 * share:.0f}" for share in sparsities])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(axis="y")
        grid[0].set_ylabel("accuracy")
        grid[0].annotate(
            "guessing", (0, guess), (4, 3), xycoords=("axes fraction", "data"), color=MUTED,
            textcoords="offset points",
        )  # fmt: skip
        _name_lines(grid[-1], list(panels.values())[-1])
    return AnnotatedFigure(figure, _pruning_in_words(sparsities, panels, guess))


def _name_lines(axes: Axes, curves: Mapping[str, np.ndarray]) -> None:
    """Write each rule at the end of its line, one above the other."""
    ends = {rule: float(np.median(table[:, -1])) for rule, table in curves.items()}
    colours = {rule: colour for rule, (colour, _) in zip(curves, LINES, strict=False)}
    lowest = 0.0
    for rule in sorted(ends, key=lambda each: ends[each]):
        height = max(ends[rule], lowest)
        lowest = height + APART
        axes.annotate(
            rule, (1, height), (8, 0), xycoords=("axes fraction", "data"), va="center",
            textcoords="offset points", color=colours[rule], annotation_clip=False,
        )  # fmt: skip


def _pruning_in_words(sparsities: np.ndarray, panels: Panels, guess: float) -> str:
    """How much may go by each rule until the median model has lost more than 0.05."""
    parts = []
    for title, curves in panels.items():
        found = []
        for rule, table in curves.items():
            middle = np.median(table, axis=0)
            below = np.flatnonzero(middle < middle[0] - 0.05)
            last = below[0] - 1 if len(below) else len(middle) - 1
            found.append(f"{rule} {sparsities[last]:.0%}, {middle[-1]:.2f} at the end")
        parts.append(f"{title}: {'; '.join(found)}")
    models = len(next(iter(next(iter(panels.values())).values())))
    return (
        "Accuracy against the share of weights that is set to 0, median of "
        f"{_count(models, 'model')}, guessing gives {guess:.2f}. How much may go before 0.05 of "
        f"the accuracy is lost, and what is left of it at {sparsities[-1]:.0%}: "
        f"{'. '.join(parts)}."
    )


def draw_expert_loads(shares: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """The share of the tokens that each expert takes, a bar for each run.

    Parts have their expert's number; beside a bar are the experts that take nothing. Dashed lines
    are where the bars would be cut if all experts took equal shares.

    Args:
        shares: way of balancing → (seeds, experts) shares; each row sums to 1. At most sixteen
            rows in all, of the same number of experts, up to four.
    """
    rows, (runs, experts) = sum(map(len, shares.values())), next(iter(shares.values())).shape
    gaps = 0.5 * (len(shares) - 1)
    height = 0.29 * (rows + gaps) + 0.85
    figure = new_figure(8.0, height)
    with course_style():
        left = 0.03 + 0.0125 * max(len(name) for name in shares)
        axes = figure.add_axes((left, 0.56 / height, 0.83 - left, 1 - 0.85 / height))
        names, start = [], 0.0
        for name, table in shares.items():
            for place, run in zip(start + np.arange(len(table)), table, strict=True):
                _draw_run(axes, place, run)
            names.append((start + (len(table) - 1) / 2, name))
            start += len(table) + 0.5
        for cut in range(1, experts):
            axes.axvline(cut / experts, color=INK, linestyle="--", linewidth=1.4)
        axes.set(xlim=(0, 1), ylim=(rows + gaps - 0.5, -0.5))
        axes.set_xlabel("share of the tokens that each expert takes (dashed: equal shares)")
        axes.set_yticks([place for place, _ in names], [name for _, name in names])
        axes.tick_params(axis="y", length=0)
    parts = [
        f"{name}: largest {_spread(table.max(axis=1))}, smallest {_spread(table.min(axis=1))}"
        for name, table in shares.items()
    ]
    caption = (
        f"Share of the tokens that each of {experts} experts takes, {_count(runs, 'run')} each; "
        f"equal would be {1 / experts:.2f}. {'. '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def _draw_run(axes: Axes, place: float, run: np.ndarray) -> None:
    """One bar: a part for each expert in their order, and the numbers of those without one."""
    starts = run.cumsum() - run
    for expert, (start, share) in enumerate(zip(starts, run, strict=True)):
        axes.barh(
            place, share, left=start, height=0.84, color=EXPERT_COLOURS[expert], edgecolor="white"
        )
        if share >= NUMBERED:
            axes.text(
                start + share / 2, place, str(expert + 1), color=ON_COLOURS[expert],
                ha="center", va="center", fontweight="bold",
            )  # fmt: skip
    if idle := [str(expert + 1) for expert in np.flatnonzero(run < IDLE)]:
        axes.annotate(
            f"{', '.join(idle)}: nothing", (1, place), (8, 0), textcoords="offset points",
            color=MUTED, va="center", annotation_clip=False,
        )  # fmt: skip


def draw_largest_shares(
    steps: np.ndarray, panels: Mapping[str, np.ndarray], experts: int
) -> AnnotatedFigure:
    """What the busiest expert takes while the models train: a panel for each router.

    Args:
        steps: (measurements,) training steps, from 0.
        panels: what the router sees → (seeds, measurements) shares; up to four panels.
        experts: how many share the tokens.
    """
    figure = new_figure(8.0, 3.1)
    with course_style():
        grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
        figure.subplots_adjust(left=0.085, right=0.985, bottom=0.18, top=0.83, wspace=0.1)
        for axes, (title, table) in zip(grid, panels.items(), strict=True):
            for run in table:
                axes.plot(steps, run, color=TEAL, linewidth=1.8, alpha=0.8)
            axes.axhline(1 / experts, color=MUTED, linestyle=":", linewidth=1.4)
            axes.set(xlim=(0, steps[-1]), ylim=(0, 1.03), xticks=(0, steps[-1] // 2))
            axes.set_title(title.replace(", ", ",\n"))
            axes.grid(axis="y")
        grid[0].set_ylabel("share of the busiest expert")
        grid[0].annotate("equal shares", (steps[-1] / 20, 1 / experts - 0.09), color=MUTED)
        figure.supxlabel("training steps")
    parts = [
        f"{title}: {_spread(table[:, 0])} at the start, {_spread(table.max(axis=1))} at most, "
        f"{_spread(table[:, -1])} at the end"
        for title, table in panels.items()
    ]
    runs = len(next(iter(panels.values())))
    return AnnotatedFigure(
        figure,
        f"Share of the tokens that the busiest of {experts} experts takes during {steps[-1]:,.0f} "
        f"steps, {_count(runs, 'run')} each; equal would be {1 / experts:.2f}. "
        f"{'. '.join(parts)}.",
    )


def _spread(values: np.ndarray) -> str:
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{np.median(values):.2f} ({values.min():.2f} to {values.max():.2f})"


def _count(number: int, word: str) -> str:
    return f"one {word}" if number == 1 else f"{number} {word}s"

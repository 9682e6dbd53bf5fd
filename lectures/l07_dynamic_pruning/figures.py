"""Static figures of lecture 07."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
APART = 0.08  # of the accuracy's axis, between two names of lines


def draw_pruning_curves(
    sparsities: np.ndarray,  # (sparsities,) from 0 to below 1, rising
    panels: Panels,  # title → rule → (models, sparsities); three panels of four rules at most
    guess: float,  # the accuracy of guessing, dotted
) -> AnnotatedFigure:
    """Accuracy against the share of weights that is gone, by each rule, a panel for each net.

    Lines are medians of the models, bands all of them. The axis stretches towards 1, where
    networks break: each time that what is left halves is as wide.
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


def _count(number: int, word: str) -> str:
    return f"one {word}" if number == 1 else f"{number} {word}s"


def draw_dispatch(
    chosen: Sequence[Sequence[int]],  # for each token the numbers of its experts
    experts: int,  # how many there are
) -> AnnotatedFigure:
    """Who computes what: tokens, the experts that each of them chose, and what comes back."""
    figure = new_figure(8.0, 3.3)
    with course_style():
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(0, 10), ylim=(-0.6, experts + 0.5))
        axes.axis("off")
        rows = np.linspace(experts - 1.5, 0.5, len(chosen))
        busy = {number for each in chosen for number in each}
        for number in range(experts):
            height, on = experts - 1 - number, number in busy
            axes.text(
                5, height, f"expert {number + 1}", ha="center", va="center",
                color=INK if on else MUTED,
                bbox={"boxstyle": "round,pad=0.35", "facecolor": "white",
                      "edgecolor": TEAL if on else MUTED, "linestyle": "-" if on else ":"},
            )  # fmt: skip
        for token, (row, numbers) in enumerate(zip(rows, chosen, strict=True)):
            for number in numbers:
                height = experts - 1 - number
                for start, end in (((1.95, row), (4.25, height)), ((5.75, height), (8.05, row))):
                    axes.plot(*zip(start, end, strict=True), color=TEAL, linewidth=1.4, zorder=0)
            axes.text(1.85, row, f"name {token + 1}", ha="right", va="center")
            axes.text(8.15, row, f"out {token + 1}", ha="left", va="center")
        for x, words in ((1.5, "tokens"), (3.1, "the router chooses"), (6.9, "gates mix")):
            axes.text(x, experts + 0.1, words, ha="center", va="center", color=MUTED)
    visits = [sum(number in each for each in chosen) for number in range(experts)]
    return AnnotatedFigure(
        figure,
        f"{len(chosen)} names, each joined to {len(chosen[0])} of {experts} experts. The experts "
        f"compute {', '.join(map(str, visits))} names; one with 0 does nothing.",
    )


def draw_known(
    layers: Sequence[Mapping[str, int]],  # with experts, known, parameters and multiplications
    names: int,  # how many numbers there are
) -> AnnotatedFigure:
    """How many numbers are known, against the parameters of a layer and against its products."""
    figure = new_figure(8.0, 3.3)
    with course_style():
        grid = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.1, right=0.98, bottom=0.18, top=0.97, wspace=0.06)
        for axes, cost in zip(grid, ("parameters", "multiplications"), strict=True):
            for experts, (colour, line) in zip(
                sorted({each["experts"] for each in layers}), LINES, strict=False
            ):
                mine = [each for each in layers if each["experts"] == experts]
                name = "one network" if experts == 1 else f"{experts} experts"
                axes.plot(
                    [each[cost] for each in mine], [each["known"] for each in mine], line[0],
                    color=colour, markersize=6, label=name,
                )  # fmt: skip
            axes.axhline(names, color=MUTED, linestyle=":", linewidth=1.4)
            axes.set(xscale="log", xlabel=f"{cost} of the layer")
            axes.grid(axis="y")
        grid[0].set_ylabel("numbers known")
        grid[0].legend(loc="upper left", frameon=False, bbox_to_anchor=(0, 0.93))
    parts = [
        f"{each['experts']} × {each['units'] // each['experts']} units, {each['visits']} for a "
        f"name: {each['known']:,} known, {each['parameters']:,} parameters, "
        f"{each['multiplications']:,} multiplications"
        for each in layers
    ]
    return AnnotatedFigure(
        figure,
        f"Numbers known, of {names:,}, by {_count(len(layers), 'layer')}, against the parameters "
        f"and the multiplications of each. {'. '.join(parts)}.",
    )

"""Static figures of lecture 08."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import mute_axes
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    INK,
    MUTED,
    TEAL,
    course_style,
    new_figure,
)
from course_utils.kernels.gpus import GB, GPUS, MB


def draw_levels(gpu: str) -> AnnotatedFigure:
    """The levels of one GPU's memory: what each holds as an area, how fast it is as a bar."""
    levels = GPUS[gpu].levels
    figure = new_figure(8.0, 3.1)
    with course_style():
        holds = figure.add_axes((0.02, 0.04, 0.5, 0.84))
        rates = figure.add_axes((0.655, 0.15, 0.28, 0.73))
        side = np.sqrt(levels[-1][1])
        for row, (name, size, _) in enumerate(levels):
            is_main = size >= GB
            left, bottom = (0.0, 0.0) if is_main else (1.12 * side, (0.8 - 0.3 * row) * side)
            holds.add_patch(_square(left, bottom, np.sqrt(size), TEAL))
            if is_main:
                middle = side / 2
                holds.text(
                    middle,
                    middle,
                    f"{name}\n{_size(size)}",
                    va="center",
                    ha="center",
                    color="white",
                )
            else:
                holds.text(left + 0.1 * side, bottom, f"{name}, {_size(size)}", va="center")
        holds.set(xlim=(0, 2.2 * side), ylim=(0, 1.01 * side), aspect="equal", anchor="W")
        holds.set_title("holds: area to scale", loc="left")
        mute_axes(holds)
        fastest = max(rate for _, _, rate in levels if rate) / 1e12
        for row, (_, _, rate) in enumerate(levels):
            if rate is not None:
                rates.barh(row, rate / 1e12, height=0.55, color=MUTED)
            rates.annotate(
                _rate(rate), ((rate or 0) / 1e12, row), (5, 0), textcoords="offset points",
                va="center", color=MUTED if rate is None else INK,
            )  # fmt: skip
        rates.set_yticks(range(len(levels)), [name for name, _, _ in levels])
        rates.set(ylim=(len(levels) - 0.5, -0.5), xlim=(0, 1.32 * fastest))
        rates.set_title("delivers, in TB a second", loc="left")
        rates.tick_params(axis="y", length=0)
    parts = [
        f"{name} {_size(size)}" + (f" at {_rate(rate)}/s" if rate else "")
        for name, size, rate in levels
    ]
    return AnnotatedFigure(
        figure,
        f"Memory of {gpu}, from the nearest level to the farthest: {', '.join(parts)}. "
        "Rates on the chip are derived: bytes per clock times the clock. As in data sheets, 1 MB "
        "on the chip is 1,024 times 1,024 bytes.",
    )


def _square(left: float, bottom: float, side: float, colour: str) -> Rectangle:
    return Rectangle((left, bottom), side, side, facecolor=colour, linewidth=0)


def draw_times(
    times: Mapping[str, np.ndarray],  # name → (runs,) seconds
    reference: str,  # which of the names is 1
) -> AnnotatedFigure:
    """Measured times as multiples of a reference: a bar to the median, dots for the single runs.

    Runs of one number were made one after the other, so each is divided by the reference's run of
    the same number.
    """
    ratios = {name: runs / times[reference] for name, runs in times.items()}
    figure = new_figure(8.0, 0.55 * len(times) + 0.9)
    height = figure.get_figheight()
    with course_style():
        axes = figure.add_axes((0.25, 0.65 / height, 0.72, 1 - 0.75 / height))
        for row, (name, runs) in enumerate(ratios.items()):
            colour = MUTED if name == reference else TEAL
            middle = float(np.median(runs))
            axes.barh(row, middle, height=0.62, color=colour, alpha=0.55)
            axes.plot(runs, np.full(len(runs), row), "|", color=colour, markersize=13)
        axes.axvline(1, color=MUTED, linewidth=1.2, linestyle="--")
        labels = [f"{name}  {np.median(runs):.2f} ×" for name, runs in ratios.items()]
        axes.set_yticks(range(len(ratios)), labels)
        axes.set(ylim=(len(ratios) - 0.5, -0.5), xlabel=f"time, as a multiple of {reference}'s")
        axes.set_xlim(0, 1.05 * max(runs.max() for runs in ratios.values()))
        axes.tick_params(axis="y", length=0)
    parts = [
        f"{name} {np.median(runs):.2f} ({runs.min():.2f} to {runs.max():.2f})"
        for name, runs in ratios.items()
        if name != reference
    ]
    return AnnotatedFigure(
        figure,
        f"Median time over {reference}'s, which took {_seconds(np.median(times[reference]))}, with "
        f"the smallest and largest of {len(times[reference])} runs: {', '.join(parts)}.",
    )


def _size(size: int) -> str:
    """Bytes as a data sheet says them: on the chip in 1024s, the main memory in 1000s."""
    return f"{size / GB:.0f} GB" if size >= GB else f"{size / MB:.1f} MB"


def _rate(rate: float | None) -> str:
    return "not published" if rate is None else f"{rate / 1e12:.1f} TB"


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"

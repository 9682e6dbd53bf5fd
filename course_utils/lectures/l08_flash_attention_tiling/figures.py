"""Static figures of lecture 08."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from course_utils.explorers.draw import end_label
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    TEAL,
    course_style,
    new_figure,
)
from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import GB, GPUS, MB
from course_utils.measure.peak_memory import growth_exponent

LOOKS = ((ORANGE, "o", "-"), (BLUE, "s", "--"), (PURPLE, "D", "-."), (TEAL, "^", ":"))


def draw_levels(gpu: str) -> AnnotatedFigure:
    """The levels of one GPU's memory: how much each holds and how fast it is, on log axes."""
    levels = GPUS[gpu].levels
    figure = new_figure(8.0, 2.9)
    with course_style():
        holds = figure.add_axes((0.165, 0.13, 0.38, 0.75))
        rates = figure.add_axes((0.6, 0.13, 0.38, 0.75))
        _draw_scale(holds, "holds", (1e6, 3e13), {1e6: "1 MB", 1e9: "1 GB", 1e12: "1 TB"})
        _draw_scale(rates, "delivers, each second", (3e11, 1e15), {1e12: "1 TB", 1e14: "100 TB"})
        for row, (_, size, rate) in enumerate(levels):
            _draw_bar(holds, row, size, _size(size), BLUE)
            _draw_bar(rates, row, rate, _rate(rate), ORANGE)
        holds.set_yticks(range(len(levels)), [name for name, _, _ in levels])
        for axes in (holds, rates):
            axes.set_ylim(len(levels) - 0.5, -0.5)
    parts = [
        f"{name} {_size(size)}" + (f" at {_rate(rate)}/s" if rate else "")
        for name, size, rate in levels
    ]
    return AnnotatedFigure(
        figure,
        f"Memory of {gpu}, from the nearest level to the farthest: {', '.join(parts)}. Both axes "
        "are logarithmic. Rates on the chip are derived: bytes per clock times the clock.",
    )


def _draw_scale(
    axes: Axes, title: str, view: tuple[float, float], ticks: Mapping[float, str]
) -> None:
    axes.set(title=title, xscale="log", xlim=view, yticks=[])
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)


def _draw_bar(axes: Axes, row: int, value: float | None, words: str, colour: str) -> None:
    left = axes.get_xlim()[0]
    if value is not None:
        axes.plot([left, value], [row, row], color=colour, linewidth=20, solid_capstyle="butt")
    axes.annotate(
        words,
        (left if value is None else value, row),
        (6, 0),
        textcoords="offset points",
        va="center",
        color=MUTED if value is None else INK,
        backgroundcolor="white",
        fontsize=11,
    )


def draw_memory(lengths: np.ndarray, peaks: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """Peak memory over the sequence length, with the slope of each line on the log-log axes.

    Args:
        lengths: (lengths,) sequence lengths, rising.
        peaks: name → (lengths,) bytes, at most four.
    """
    slopes = {name: growth_exponent(lengths, bytes_) for name, bytes_ in peaks.items()}
    figure = new_figure(8.0, 3.8)
    with course_style():
        axes = figure.add_axes((0.125, 0.155, 0.63, 0.81))
        axes.set(xscale="log", yscale="log", xlabel="sequence length N", ylabel="peak memory")
        for (name, bytes_), (colour, marker, style) in zip(peaks.items(), LOOKS, strict=False):
            axes.plot(lengths, bytes_, style, marker=marker, color=colour, markersize=8)
            label = f"{name}\nslope {slopes[name]:.1f}"
            end_label(axes, lengths[-1], bytes_[-1], label, colour)
        axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
        every = np.concatenate(list(peaks.values()))
        powers = range(int(np.floor(np.log10(every.min()))), int(np.log10(every.max())) + 2)
        ticks = [10.0**power for power in powers]
        axes.set_yticks(ticks, [_decimal(tick) for tick in ticks])
        axes.minorticks_off()
        axes.grid(axis="y")
    parts = [
        f"{name} from {_decimal(bytes_[0])} to {_decimal(bytes_[-1])}, slope {slopes[name]:.1f}"
        for name, bytes_ in peaks.items()
    ]
    return AnnotatedFigure(
        figure,
        f"Peak memory for sequence lengths from {lengths[0]:,.0f} to {lengths[-1]:,.0f}, both axes "
        f"logarithmic: {'; '.join(parts)}. A slope of 2 means four times the memory for twice the "
        "length.",
    )


def draw_times(times: Mapping[str, np.ndarray], reference: str) -> AnnotatedFigure:
    """Measured times as multiples of a reference: a bar to the median, dots for the single runs.

    Args:
        times: name → (runs,) seconds. Runs of one number were made one after the other, so that
            each is divided by the reference's run of the same number.
        reference: which of the names is 1.
    """
    ratios = {name: runs / times[reference] for name, runs in times.items()}
    figure = new_figure(8.0, 0.55 * len(times) + 0.9)
    height = figure.get_figheight()
    with course_style():
        axes = figure.add_axes((0.25, 0.65 / height, 0.72, 1 - 0.75 / height))
        for row, (name, runs) in enumerate(ratios.items()):
            colour = MUTED if name == reference else BLUE
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


def _decimal(size: float) -> str:
    """Bytes in three digits, in 1000s."""
    for unit, words in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {words}"
    return f"{size:.0f} bytes"


def _seconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms"

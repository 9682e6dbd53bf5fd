"""Static figures of lecture 06b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from course_utils.explorers.draw import end_label
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    INK,
    MAGENTA,
    MUTED,
    ORANGE,
    TEAL,
    course_style,
    new_figure,
)
from lectures.l06b_learning.experiments.scaling_law import PowerLaw

# Neighbours differ in lightness too, and none is a query's, a key's or a value's colour.
LOOKS = ((TEAL, "-"), (MAGENTA, "--"), (INK, "-."), (BLUE, ":"), (ORANGE, (0, (5, 1, 1, 1))))
HIGHEST = 6.0  # nats: a loss that explodes leaves the picture


def draw_training(
    curves: Mapping[str, Sequence[float]],  # name → losses; five at most
    levels: Mapping[str, float] = MappingProxyType({}),  # name → nats, each a dotted line
    *,
    window: int = 10,  # losses to average over: a single batch may be lucky
    every: int = 1,  # steps that one loss is the mean of
) -> AnnotatedFigure:
    """Losses over the steps, and levels to hold them against."""
    figure = new_figure(8.0, 3.7)
    ends = []
    with course_style():
        axes = figure.add_axes((0.075, 0.155, 0.7, 0.82))
        for (name, losses), (colour, dash) in zip(curves.items(), LOOKS, strict=False):
            smooth = np.convolve(losses, np.full(window, 1 / window), mode="valid")
            steps = every * (window + np.arange(len(smooth)))
            axes.plot(steps, smooth, color=colour, linestyle=dash)
            ends.append((float(smooth[-1]), name, colour))
        last = every * max(len(losses) for losses in curves.values())
        top = min(HIGHEST, 1.05 * max(max(losses) for losses in curves.values()))
        axes.set(xlabel="step", ylabel="loss (nats)", xlim=(0, last), ylim=(0, top))
        for name, level in levels.items():
            axes.axhline(level, color=MUTED, linewidth=1.2, linestyle=":", zorder=0.5)
            ends.append((level, name, MUTED))
        for (height, name, colour), at in zip(ends, _apart([e[0] for e in ends], top), strict=True):
            end_label(axes, last, at, f"{name} {height:.2f}", colour)
    found = "; ".join(f"{name} {height:.2f}" for height, name, _ in ends[: len(curves)])
    compared = "".join(f", {name} {level:.2f}" for name, level in levels.items())
    dotted = f" Dotted: {compared[2:]}." if compared else ""
    caption = (
        f"Loss in nats over {last} steps, mean of the last {window * every}. "
        f"At the end: {found}.{dotted}"
    )
    return AnnotatedFigure(figure, caption)


def _apart(heights: Sequence[float], top: float) -> list[float]:
    """Places for labels, none nearer to the next than a line of text."""
    order, line = np.argsort(heights), 0.07 * top
    placed, lowest = [0.0] * len(heights), 0.0
    for i in order:
        placed[i] = max(heights[i], lowest)
        lowest = placed[i] + line
    for i in order[::-1]:
        placed[i] = min(placed[i], top)
        top = placed[i] - line
    return placed


def draw_arrivals(
    steps: Sequence[int],  # when it was measured
    # kind of word → share right at each of these steps; five at most
    shares: Mapping[str, Sequence[float]],
    # kind of word → the share that a guess gets right, dotted
    guessing: Mapping[str, float] = MappingProxyType({}),
) -> AnnotatedFigure:
    """How often a model's first choice is right, by kind of word, while it learns."""
    figure = new_figure(8.0, 3.4)
    with course_style():
        axes = figure.add_axes((0.075, 0.165, 0.7, 0.8))
        for (name, right), (colour, dash) in zip(shares.items(), LOOKS, strict=False):
            axes.plot(steps, right, color=colour, linestyle=dash, marker="o", markersize=4)
            if name in guessing:
                axes.axhline(guessing[name], color=colour, linewidth=1, linestyle=":", zorder=0.5)
        axes.set(xlabel="step", ylabel="share right", xlim=(0, steps[-1]), ylim=(0, 1.02))
        axes.grid(axis="y")
        ends = [right[-1] for right in shares.values()]
        for name, at, (colour, _) in zip(shares, _apart(ends, 1.0), LOOKS, strict=False):
            end_label(axes, steps[-1], at, name, colour)
    when = []
    for name, right in shares.items():
        half = next((step for step, share in zip(steps, right, strict=True) if share >= 0.75), None)
        came = f"three quarters right at step {half}" if half else "not three quarters right yet"
        when.append(f"{name}: {came}, {right[-1]:.2f} at the end")
    caption = f"Share right over {steps[-1]} steps. {'; '.join(when)}."
    if guessing:
        guesses = ", ".join(f"{name} {share:.2f}" for name, share in guessing.items())
        caption += f" Dotted: what a guess gets right, {guesses}."
    return AnnotatedFigure(figure, caption)


def _plain_ticks(axis: Axis) -> None:
    """Numbers written out on a logarithmic axis, three to a power of ten where there are few."""
    low, high = np.log10(axis.get_view_interval())
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high - low < 2.5 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda number, place: f"{number:g}"))
    axis.set_minor_locator(NullLocator())


def draw_power_law(
    sizes: np.ndarray,  # (sizes,) parameters
    losses: np.ndarray,  # (seeds, sizes), nats
    law: PowerLaw,
) -> AnnotatedFigure:
    """Losses of models of several sizes, and the law that was fitted to them, on logarithmic axes.

    A dot is a seed. In the band lies the law's line, height and slope, with 95 % confidence at each
    size, as far as the losses scatter about a straight line.
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

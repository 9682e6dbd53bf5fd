"""Static figures of lecture 05."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.checks import check_finite, check_text
from course_utils.explorers.checks import (
    check_array,
    check_labels,
    check_named,
    check_positive,
    check_same_shape,
)
from course_utils.explorers.draw import end_label, label_tokens
from course_utils.explorers.style import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    YELLOW,
    course_style,
    new_figure,
)
from course_utils.lectures.l05_causal_mask.shares import ShareMap, draw_share_scale, grid_lines

LOOKS = ((BLUE, "-"), (ORANGE, "--"), (PURPLE, "-."), (YELLOW, ":"))
MOST_PICTURES = 3


def draw_reach(
    reaches: Mapping[str, np.ndarray],
    may_reach: np.ndarray,
    tokens: Sequence[str] | None = None,
) -> Figure:
    """What each output feels of each input, as shares of its row, on one logarithmic scale.

    White is exactly zero. Where an output feels an input that it must not, the square is orange
    with a cross.

    Args:
        reaches: name → (T, S) sizes of gradients, three pictures at most, of one shape.
        may_reach: (T, S), True where an output may feel an input.
        tokens: S words to write beside the rows and above the columns; T must be S then.

    Raises:
        TypeError, ValueError: when the sizes are not arrays of finite numbers of at least 0, a row
            holds zeros alone, or the shapes, the mask or the tokens do not fit.
    """
    shares = _shares(reaches, may_reach)
    rows, columns = may_reach.shape
    if tokens is not None:
        tokens = check_labels("tokens", tokens, columns)
        if rows != columns:
            raise ValueError(f"tokens must name rows and columns alike; got shape {rows, columns}")
    margin = 0.62 if tokens is None else 0.25 + 0.095 * max(map(len, tokens))
    side = min(2.6, (7.3 - margin) / len(shares) - 0.2)
    height = side * min(1.0, rows / columns)
    below, above = (0.58, 0.36) if tokens is None else (0.1, margin + 0.22)
    figure = new_figure(8.0, below + height + above)
    tall = figure.get_figheight()
    with course_style():
        for index, (name, share) in enumerate(shares.items()):
            left = margin + index * (side + 0.2)
            box = (left / 8, below / tall, side / 8, height / tall)
            axes = figure.add_axes(box)
            _draw_share(axes, share, (share > 0) & ~may_reach)
            axes.set_title(name, pad=6)
            if tokens is None:
                axes.set(xlabel="token felt", ylabel="output" if index == 0 else "")
                axes.tick_params(length=0, labelleft=index == 0)
            else:
                label_tokens(axes, tokens, rows=index == 0)
                if index:
                    axes.set_yticks([])
        draw_share_scale(figure, (left + side + 0.1) / 8, below / tall, height / tall)
    return figure


def _draw_share(axes: Axes, share: np.ndarray, wrong: np.ndarray) -> None:
    rows, columns = share.shape
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    step = max(1, round(columns / 6))
    axes.set(xticks=range(0, columns, step), yticks=range(0, rows, step))
    axes.spines[:].set_visible(False)
    ShareMap(axes).set_shares(share, wrong)
    axes.plot(*grid_lines(rows, columns), color=MUTED, linewidth=0.7, clip_on=False)
    query, key = np.nonzero(wrong)
    axes.plot(key, query, "x", color="white", markersize=70 / columns, markeredgewidth=1.5)


def describe_reach(reaches: Mapping[str, np.ndarray], may_reach: np.ndarray) -> str:
    """The words of `draw_reach`, which refuses the same input."""
    parts = []
    for name, share in _shares(reaches, may_reach).items():
        felt, wrong = int((share > 0).sum()), int(((share > 0) & ~may_reach).sum())
        found = f"{wrong} of them where nothing may be felt" if wrong else "all where they may be"
        parts.append(f"{name}: {felt} of {share.size} gradients are not 0, {found}")
    return (
        f"What each output feels of each token, as a share of its row; white is exactly 0. "
        f"{'; '.join(parts)}."
    )


def draw_cache_times(lengths: np.ndarray, with_cache: np.ndarray, without: np.ndarray) -> Figure:
    """Time for one more token over the length so far, both axes logarithmic; bands are all runs.

    Args:
        lengths: (lengths,) tokens, rising.
        with_cache: (runs, lengths) seconds.
        without: (runs, lengths) seconds; the number of runs may differ.

    Raises:
        TypeError, ValueError: when they are not arrays of positive numbers, the lengths do not
            rise, are fewer than two, or are not as many as the columns.
    """
    _check_times(lengths, with_cache, without)
    figure = new_figure(8.0, 3.7)
    with course_style():
        axes = figure.add_axes((0.125, 0.165, 0.655, 0.81))
        axes.set(xscale="log", yscale="log", xlabel="tokens so far", ylabel="time for one more")
        named = {"without a cache": without, "with a cache": with_cache}
        for (name, runs), (colour, style), marker in zip(
            named.items(), (LOOKS[1], LOOKS[0]), "so", strict=True
        ):
            middle = 1e3 * np.median(runs, axis=0)
            axes.fill_between(
                lengths, 1e3 * runs.min(0), 1e3 * runs.max(0), color=colour, alpha=0.2, linewidth=0
            )
            axes.plot(lengths, middle, style, marker=marker, color=colour, markersize=7)
            end_label(axes, float(lengths[-1]), float(middle[-1]), name, colour)
        axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
        low, high = 1e3 * min(with_cache.min(), without.min()), 1e3 * without.max()
        ticks = [10.0**p for p in range(int(np.floor(np.log10(low))), int(np.log10(high)) + 2)]
        axes.set_yticks(ticks, [_duration(tick) for tick in ticks])
        axes.minorticks_off()
        axes.grid(axis="y")
    return figure


def describe_cache_times(lengths: np.ndarray, with_cache: np.ndarray, without: np.ndarray) -> str:
    """The words of `draw_cache_times`, which refuses the same input: ratios, for times vary."""
    _check_times(lengths, with_cache, without)
    ratio = np.median(without, axis=0) / np.median(with_cache, axis=0)
    growth = np.median(with_cache, axis=0)[[0, -1]]
    return (
        f"Time for one more token, both axes logarithmic. Without a cache it takes "
        f"{_times(ratio[0])} as long as with one at {lengths[0]:,.0f} tokens, "
        f"{_times(ratio[-1])} at {lengths[-1]:,.0f}. With a cache the longest text's step takes "
        f"{_times(growth[1] / growth[0])} as long as the shortest's."
    )


def draw_losses(losses: Mapping[str, np.ndarray], floor: float, floor_name: str) -> Figure:
    """Learning curves, the median of the runs within the band of all, and a level to hold them to.

    Args:
        losses: name → (runs, steps), four at most.
        floor: the level, for example the entropy that no honest model can go below.
        floor_name: its name.

    Raises:
        TypeError, ValueError: when a table is not an array of finite numbers with a step at least,
            the numbers of steps differ, or the level is not finite.
    """
    _check_losses(losses, floor, floor_name)
    figure = new_figure(8.0, 3.6)
    with course_style():
        axes = figure.add_axes((0.085, 0.165, 0.715, 0.81))
        axes.axhline(floor, color=INK, linewidth=1.6, linestyle=":")
        steps = np.arange(next(iter(losses.values())).shape[1])
        for (name, runs), (colour, style) in zip(losses.items(), LOOKS, strict=False):
            axes.fill_between(
                steps, runs.min(0), runs.max(0), color=colour, alpha=0.25, linewidth=0
            )
            middle = np.median(runs, axis=0)
            axes.plot(steps, middle, style, color=colour)
            end_label(axes, float(steps[-1]), _end(runs), name, colour)
        axes.set(xlabel="step", ylabel="loss", xlim=(0, max(steps[-1], 1)))
        highest = max(floor, *(runs.max() for runs in losses.values()))
        lowest = min(0.0, *(runs.min() for runs in losses.values()))
        axes.set_ylim(lowest, 1.12 * highest)
        axes.annotate(
            floor_name, (0.985, floor), (0, -5), va="top", xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", fontsize=11,
        )  # fmt: skip
    return figure


def describe_losses(losses: Mapping[str, np.ndarray], floor: float, floor_name: str) -> str:
    """The words of `draw_losses`, which refuses the same input."""
    _check_losses(losses, floor, floor_name)
    runs, steps = next(iter(losses.values())).shape
    ends = []
    for name, table in losses.items():
        last = table[:, -_last(steps) :].mean(axis=1)
        side = "below" if last.max() < floor else "above" if last.min() > floor else "at"
        ends.append(f"{name} at {last.min():.3f} to {last.max():.3f}, {side} it")
    return (
        f"Loss over {steps} steps, {runs} runs each. The dotted line is {floor_name}, {floor:.3f}. "
        f"Over the last {_last(steps)} steps: {'; '.join(ends)}."
    )


def _last(steps: int) -> int:
    """How many steps at the end are averaged, so that one batch does not decide."""
    return max(1, steps // 20)


def _end(runs: np.ndarray) -> float:
    return float(runs[:, -_last(runs.shape[1]) :].mean())


def _shares(reaches: Mapping[str, np.ndarray], may_reach: np.ndarray) -> dict[str, np.ndarray]:
    __tracebackhide__ = True
    check_array("may_reach", may_reach, "T S")
    if may_reach.dtype != bool:
        raise TypeError(f"may_reach must be boolean, True = may feel; got {may_reach.dtype}")
    check_named("reaches", reaches)
    if len(reaches) > MOST_PICTURES:
        raise ValueError(f"reaches must be at most {MOST_PICTURES}; got {len(reaches)}")
    for name, reach in reaches.items():
        check_array(f"reaches[{name!r}]", reach, "T S")
        check_same_shape(f"reaches[{name!r}]", reach, "may_reach", may_reach)
        if reach.min() < 0:
            raise ValueError(f"reaches[{name!r}] must not be negative; got {reach.min():.3g}")
        if not (reach.sum(1) > 0).all():
            raise ValueError(f"reaches[{name!r}] must feel something in each row; got a row of 0")
    return {name: reach / reach.sum(1, keepdims=True) for name, reach in reaches.items()}


def _check_times(lengths: np.ndarray, with_cache: np.ndarray, without: np.ndarray) -> None:
    __tracebackhide__ = True
    check_array("lengths", lengths, "lengths")
    check_positive("lengths", lengths)
    if len(lengths) < 2 or not (np.diff(lengths) > 0).all():
        raise ValueError(f"lengths must be two or more, rising; got {lengths.tolist()}")
    for name, runs in (("with_cache", with_cache), ("without", without)):
        check_array(name, runs, "runs lengths")
        check_positive(name, runs)
        if runs.shape[1] != len(lengths):
            raise ValueError(
                f"{name} must have a column for each length ({len(lengths)}); "
                f"got shape {runs.shape}"
            )


def _check_losses(losses: Mapping[str, np.ndarray], floor: float, floor_name: str) -> None:
    __tracebackhide__ = True
    check_named("losses", losses)
    if len(losses) > len(LOOKS):
        raise ValueError(f"losses must be at most {len(LOOKS)}; got {len(losses)}")
    first = next(iter(losses))
    for name, runs in losses.items():
        check_array(f"losses[{name!r}]", runs, "runs steps")
        if runs.shape[1] != losses[first].shape[1]:
            raise ValueError(
                f"losses[{name!r}] must have the steps of losses[{first!r}] "
                f"({losses[first].shape[1]}); got shape {runs.shape}"
            )
    check_finite("floor", floor)
    check_text("floor_name", floor_name)


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:g} ms" if milliseconds < 1000 else f"{milliseconds / 1000:g} s"


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:.0f} times"

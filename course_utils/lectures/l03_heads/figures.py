"""Static figures of lecture 03."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_utils.checks import check_divides, check_int, check_sequence, check_text
from course_utils.explorers.checks import check_array, check_labels, check_positive
from course_utils.explorers.draw import end_label, label_tokens
from course_utils.explorers.style import (
    INK,
    MAGNITUDE_MAP,
    ORANGE,
    SERIES,
    course_style,
    new_figure,
)

DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1, 1, 1)))
FLOOR = 1e-18  # of the largest singular value: below every rounding of float64
LETTER = 0.11  # inches, a wide one of a token's label
NAMES_APART = 0.075  # of the axes' height, between the names at the ends of two curves


def draw_singular_values(values: Mapping[int, np.ndarray], width: int) -> Figure:
    """Singular values of one head's QKᵀ for several numbers of heads, with the width of a head.

    Args:
        values: number of heads → (N,) singular values, largest first.
        width: the model's width C; a head has C / H numbers.

    Raises:
        TypeError, ValueError: when the numbers of heads do not divide the width, or the values
            are not numbers of 0 and more in falling order.
    """
    _check_values(values, width)
    figure = new_figure(8.0, 3.8)
    with course_style():
        axes = figure.add_axes((0.1, 0.16, 0.87, 0.8))
        for (heads, each), colour, dash in zip(values.items(), SERIES, DASHES, strict=False):
            relative = (each / each[0]).clip(FLOOR)
            axes.plot(np.arange(1, len(each) + 1), relative, color=colour, linestyle=dash)
            axes.axvline(width // heads + 0.5, color=colour, linewidth=1.2, linestyle=":")
            axes.plot(width // heads, relative[width // heads - 1], "o", color=colour)
            axes.annotate(
                f"$H = {heads}$\n$d_k = {width // heads}$",
                (width // heads + 0.5, 0.35),
                xycoords=("data", "axes fraction"),
                xytext=(6, 0),
                textcoords="offset points",
                color=colour,
                va="center",
                fontsize=11,
            )
        axes.set(yscale="log", xlabel="singular value, by size", ylabel="size / the largest")
        axes.set_xlim(0, 1.02 * max(len(each) for each in values.values()))
    return figure


def draw_head_scores(
    scores: Mapping[int, np.ndarray], steps: np.ndarray, score: str = "share of right answers"
) -> Figure:
    """Learning curves for several numbers of heads: the median of the runs, in a band of all.

    Args:
        scores: number of heads → (runs, points).
        steps: (points,) after how many steps each point was measured.
        score: the name of the vertical axis.

    Raises:
        TypeError, ValueError: when a table has not one column for each of the steps, which rise.
    """
    _check_scores(scores, steps)
    check_text("score", score)
    figure = new_figure(8.0, 3.8)
    with course_style():
        axes = figure.add_axes((0.1, 0.16, 0.77, 0.8))
        for (_, runs), colour, dash in zip(scores.items(), SERIES, DASHES, strict=False):
            axes.fill_between(steps, runs.min(0), runs.max(0), color=colour, alpha=0.2, linewidth=0)
            axes.plot(steps, np.median(runs, 0), color=colour, linestyle=dash)
        axes.set(xlabel="training steps", ylabel=score, xlim=(steps[0], steps[-1]))
        low, high = axes.get_ylim()
        ends = [float(np.median(runs[:, -1])) for runs in scores.values()]
        places = _spread_out(ends, NAMES_APART * (high - low), low, high)
        for heads, place, colour in zip(scores, places, SERIES, strict=False):
            end_label(axes, float(steps[-1]), place, _heads(heads), colour)
        axes.set_ylim(low, high)
    return figure


def _spread_out(heights: Sequence[float], apart: float, low: float, high: float) -> list[float]:
    """The heights, moved as little as keeps any two so far apart, within low and high.

    >>> _spread_out([0.5, 0.5, 0.9], 0.1, 0.0, 1.0)
    [0.45, 0.55, 0.9]
    """
    order = np.argsort(heights, kind="stable")
    placed = np.array(heights, dtype=float)[order]
    for _ in range(200):  # push neighbours apart until none is too near
        gaps = np.diff(placed)
        short = np.clip(apart - gaps, 0, None) / 2
        if short.max(initial=0) < 1e-9:
            break
        placed[:-1] -= short
        placed[1:] += short
        placed = placed.clip(low, high)
    back = np.empty_like(placed)
    back[order] = placed
    return [round(float(height), 9) for height in back]


def draw_alignment(weights: np.ndarray, source: Sequence[str], target: Sequence[str]) -> Figure:
    """The weights of a cross-attention: each row is a token written, each column one that is read.

    Raises:
        TypeError, ValueError: when the weights are not numbers in [0, 1] with a row for each token
            of the target and a column for each of the source.
    """
    source, target = _check_alignment(weights, source, target)
    rows, columns = weights.shape
    side = min(0.42, 4.6 / rows, 6.0 / columns)
    left, above = (0.5 + LETTER * max(map(len, words)) for words in (target, source))
    wide, high = max(left + side * columns + 0.1, 3.6), above + side * rows + 0.1
    figure = new_figure(wide, high)
    with course_style():
        area = (left / wide, 0.1 / high, side * columns / wide, side * rows / high)
        axes = figure.add_axes(area)
        axes.imshow(weights, vmin=0, vmax=1, cmap=MAGNITUDE_MAP, aspect="auto")
        label_tokens(axes, target, columns=False)
        label_tokens(axes, source, rows=False)
        axes.set_ylabel("written")
        axes.set_xlabel("read", labelpad=8)
        axes.xaxis.set_label_position("top")
        axes.spines[:].set_visible(False)
    return figure


def draw_pruning(
    changes: np.ndarray, marked: Sequence[tuple[int, int]] = (), title: str = "1 − cosine"
) -> Figure:
    """What the silence of each head changes: layers × heads, in thousandths, colours by ratio.

    Args:
        changes: (layers, heads), positive.
        marked: heads to frame, each as (layer, head).
        title: what the numbers measure.

    Raises:
        TypeError, ValueError: when the changes are not positive numbers on two axes, or there is
            no such head.
    """
    marked = _check_pruning(changes, marked)
    check_text("title", title)
    layers, heads = changes.shape
    figure = new_figure(8.0, 0.47 * layers + 1.35)
    with course_style():
        low = 0.75 / figure.get_figheight()
        axes = figure.add_axes((0.08, low, 0.9, 1 - 0.42 / figure.get_figheight() - low))
        shades = LogNorm(changes.min(), changes.max() * 1.0001)
        axes.imshow(changes, norm=shades, cmap=MAGNITUDE_MAP, aspect="auto")
        for (layer, head), change in np.ndenumerate(changes):
            ink = INK if shades(change) > 0.55 else "white"
            words = f"{1000 * change:.3g}" if change < 0.1 else f"{1000 * change:.0f}"
            axes.text(head, layer, words, ha="center", va="center", color=ink, fontsize=10)
        for layer, head in marked:
            corner = (head - 0.5, layer - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=ORANGE, linewidth=3.5))
        axes.set(xlabel="head", ylabel="layer", xticks=range(heads), yticks=range(layers))
        axes.set_title(f"{title}, in thousandths", loc="left", fontsize=12)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    return figure


def describe_singular_values(values: Mapping[int, np.ndarray], width: int) -> str:
    """The words of `draw_singular_values`, which refuses the same input."""
    _check_values(values, width)
    parts = []
    for heads, each in values.items():
        rank = width // heads
        below = f", the next {each[rank] / each[0]:.0e}" if rank < len(each) else ""
        parts.append(
            f"{_heads(heads)}, {rank} numbers wide: value {rank} is {each[rank - 1] / each[0]:.2g} "
            f"of the largest{below}"
        )
    return f"Singular values of one head's table of scores. {'; '.join(parts)}."


def describe_head_scores(
    scores: Mapping[int, np.ndarray], steps: np.ndarray, score: str = "share of right answers"
) -> str:
    """The words of `draw_head_scores`, which refuses the same input."""
    _check_scores(scores, steps)
    check_text("score", score)
    ends = [
        f"{_heads(heads)} {np.median(runs[:, -1]):.3f} ({runs[:, -1].min():.3f} to "
        f"{runs[:, -1].max():.3f})"
        for heads, runs in scores.items()
    ]
    runs = len(next(iter(scores.values())))
    return f"{score} after {steps[-1]:,} steps, median and range of {runs} runs: {'; '.join(ends)}."


def describe_alignment(weights: np.ndarray, source: Sequence[str], target: Sequence[str]) -> str:
    """The words of `draw_alignment`: what each token written reads most."""
    source, target = _check_alignment(weights, source, target)
    most = [
        f"“{token}” reads “{source[row.argmax()]}” ({row.max():.2f})"
        for token, row in zip(target, weights, strict=True)
    ]
    return f"Cross-attention weights: {', '.join(most)}."


def describe_pruning(
    changes: np.ndarray, marked: Sequence[tuple[int, int]] = (), title: str = "1 − cosine"
) -> str:
    """The words of `draw_pruning`: the largest, the middle, and where the marked heads stand."""
    marked = _check_pruning(changes, marked)
    check_text("title", title)
    layer, head = np.unravel_index(int(changes.argmax()), changes.shape)
    ranks = [
        f" Layer {at}, head {which}: {changes[at, which]:.4f}, rank "
        f"{1 + int((changes > changes[at, which]).sum())} of {changes.size}."
        for at, which in marked
    ]
    return (
        f"{title} when one of {changes.size} heads is silent: median {np.median(changes):.4f}, "
        f"largest {changes.max():.4f} (layer {layer}, head {head}).{''.join(ranks)}"
    )


def _heads(count: int) -> str:
    return f"{count} heads" if count > 1 else "1 head"


def _check_counts(name: str, tables: object) -> None:
    __tracebackhide__ = True
    if not isinstance(tables, Mapping):
        raise TypeError(f"{name} must be a mapping; got {tables!r} ({type(tables).__name__})")
    if not 1 <= len(tables) <= len(SERIES):
        raise ValueError(f"{name} must hold 1 to {len(SERIES)} curves; got {len(tables)}")
    for heads in tables:
        check_int(f"each number of heads in {name}", heads)


def _check_values(values: Mapping[int, np.ndarray], width: int) -> None:
    _check_counts("values", values)
    check_int("width", width)
    for heads, each in values.items():
        check_divides("a number of heads in values", heads, "width", width)
        name = f"values[{heads}]"
        check_array(name, each, "N")
        if each[0] <= 0 or each.min() < 0 or (np.diff(each) > 0).any():
            raise ValueError(f"{name} must fall from a number above 0; got {each}")
        if len(each) < width // heads:
            raise ValueError(f"{name} must hold d_k ({width // heads}) or more; got {len(each)}")


def _check_scores(scores: Mapping[int, np.ndarray], steps: np.ndarray) -> None:
    _check_counts("scores", scores)
    check_array("steps", steps, "points")
    if len(steps) < 2 or (np.diff(steps) <= 0).any():
        raise ValueError(f"steps must be two or more that rise; got {steps}")
    for heads, runs in scores.items():
        check_array(f"scores[{heads}]", runs, "runs points")
        if runs.shape[1] != len(steps):
            raise ValueError(
                f"scores[{heads}] must have a column for each of the steps ({len(steps)}); "
                f"got shape {runs.shape}"
            )


def _check_alignment(
    weights: np.ndarray, source: Sequence[str], target: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    check_array("weights", weights, "T S")
    if weights.min() < 0 or weights.max() > 1 + 1e-5:  # float32 rounds a sum of 1
        raise ValueError(
            f"weights must lie in [0, 1]; got {weights.min():.3g} to {weights.max():.3g}"
        )
    source, target = check_labels("source", source), check_labels("target", target)
    if weights.shape != (len(target), len(source)):
        raise ValueError(
            f"weights must have a row for each token of target and a column for each of source "
            f"({len(target)}, {len(source)}); got shape {weights.shape}"
        )
    return source, target


def _check_pruning(
    changes: np.ndarray, marked: Sequence[tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    check_array("changes", changes, "layers heads")
    check_positive("changes", changes)
    places = []
    for index, place in enumerate(check_sequence("marked", marked, may_be_empty=True)):
        pair = check_sequence(f"marked[{index}]", place)
        if len(pair) != 2:
            raise ValueError(f"marked[{index}] must be a layer and a head; got {place!r}")
        for axis, each in enumerate(pair):
            check_int(f"marked[{index}]", each, minimum=0, maximum=changes.shape[axis] - 1)
        places.append((int(pair[0]), int(pair[1])))
    return tuple(places)

"""Static figures of lecture 00."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_utils.checks import check_int, check_sequence
from course_utils.explorers.checks import (
    check_array,
    check_labels,
    check_named,
    check_same_shape,
    check_square,
)
from course_utils.explorers.draw import HeatMap, draw_weights, end_label, label_tokens, mute_axes
from course_utils.explorers.style import BLUE, INK, ORANGE, course_style, new_figure


def draw_three_words(weights: np.ndarray, words: Sequence[str]) -> Figure:
    """The weights of a few words over each other, with numbers; row = the word that reads.

    Raises:
        TypeError, ValueError: when the weights are not a square array of finite numbers, or there
            is not one word for each row.
    """
    _check_words(weights, words)
    figure = new_figure(5.2, 3.0)
    with course_style():
        axes = figure.add_axes((0.26, 0.03, 0.6, 0.82))
        draw_weights(axes, weights, words, words)
    return figure


def draw_maps(
    maps: dict[str, Sequence[np.ndarray]], texts: Sequence[Sequence[str]], *, row: int
) -> Figure:
    """Weight maps of several methods (columns) on several texts (rows), one row of each framed.

    Args:
        maps: method → one (T, T) map for each text.
        texts: the tokens of each text.
        row: the reading token to frame.

    Raises:
        TypeError, ValueError: when a map is not a square array of finite numbers, there is not one
            for each text or not one token for each row, or there is no such row.
    """
    texts = check_sequence("texts", texts)
    for method, each in _check_maps(maps, row).items():
        if len(each) != len(texts):
            raise ValueError(
                f"texts must be as many as maps[{method!r}] has ({len(each)}); got {len(texts)}"
            )
        for index, weights in enumerate(each):
            check_labels(f"texts[{index}]", texts[index], len(weights))
    figure = new_figure(8.0, 6.3)
    with course_style():
        grid = figure.subplots(len(texts), len(maps), squeeze=False)
        figure.subplots_adjust(
            left=0.13, right=0.99, bottom=0.165, top=0.945, wspace=0.06, hspace=0.06
        )
        for column, (method, each) in enumerate(maps.items()):
            grid[0, column].set_title(method)
            for line, weights in enumerate(each):
                axes = grid[line, column]
                _draw_map(axes, weights, row)
                label_tokens(axes, texts[line], rows=column == 0, columns=line == len(each) - 1)
                axes.tick_params(axis="x", bottom=False, labelbottom=True, labeltop=False)
    return figure


def _draw_map(axes: Axes, weights: np.ndarray, row: int) -> None:
    mute_axes(axes)
    count = len(weights)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    HeatMap(axes).set_data(weights)
    axes.add_patch(Rectangle((-0.5, row - 0.5), count, 1, fill=False, edgecolor=ORANGE, lw=1.6))


def draw_drift(same: np.ndarray, other: np.ndarray) -> Figure:
    """Mean angle by layer for pairs of one meaning and of two, with the range of all pairs.

    Raises:
        TypeError, ValueError: when one is not an array (pairs, layers) of finite numbers, or they
            do not have the same layers, two at least.
    """
    _check_drift(same, other)
    figure = new_figure(8.0, 3.6)
    with course_style():
        axes = figure.add_axes((0.09, 0.16, 0.72, 0.78))
        layers = np.arange(same.shape[1])
        for table, colour, style, name in (
            (other, ORANGE, "-", "two meanings"),
            (same, BLUE, "--", "one meaning"),
        ):
            axes.fill_between(layers, table.min(0), table.max(0), color=colour, alpha=0.18, lw=0)
            axes.plot(layers, table.mean(0), style, color=colour, marker="o")
            end_label(axes, float(layers[-1]), float(table[:, -1].mean()), name, colour)
        axes.set(xlim=(0, layers[-1]), ylim=(0, None), xlabel="after how many layers")
        axes.set_ylabel("angle, degrees", color=INK)
    return figure


def describe_three_words(weights: np.ndarray, words: Sequence[str]) -> str:
    """The words of `draw_three_words`, which refuses the same input."""
    _check_words(weights, words)
    own = ", ".join(f"{word} {weights[i, i]:.2f}" for i, word in enumerate(words))
    return (
        "A table of weights; the row is the word that reads. Each word reads itself with weight "
        f"{own}. The smallest weight is {weights.min():.2f}, the largest {weights.max():.2f}."
    )


def describe_maps(maps: dict[str, Sequence[np.ndarray]], tokens: Sequence[str], *, row: int) -> str:
    """The words of `draw_maps`: what the framed row reads, first text against last.

    Raises:
        TypeError, ValueError: when a map is not a square array of finite numbers, the first and
            the last of a method differ in shape, there is not one token for each row, or there is
            no such row.
    """
    for method, each in _check_maps(maps, row).items():
        check_same_shape(f"maps[{method!r}][-1]", each[-1], f"maps[{method!r}][0]", each[0])
        check_labels("tokens", tokens, len(each[0]))
    parts = []
    for method, each in maps.items():
        first, last = each[0][row], each[-1][row]
        if np.allclose(first, last, atol=0.005):  # equal to two decimals
            parts.append(f"{method}: nothing changes")
            continue
        most = np.argsort(-np.abs(first - last), kind="stable")[:3]
        moves = ", ".join(f"{tokens[i]} {first[i]:.2f} → {last[i]:.2f}" for i in most)
        parts.append(f"{method}: {moves}")
    return (
        "One row of tables per sentence, one column per method; dark is 0, yellow is 1. Framed: "
        f"the row in which “{tokens[row]}” reads. From the first sentence to the last, "
        f"{'; '.join(parts)}."
    )


def describe_drift(same: np.ndarray, other: np.ndarray) -> str:
    """The words of `draw_drift`, which refuses the same input."""
    _check_drift(same, other)
    gap = other.mean(0) - same.mean(0)
    apart = bool((other.min(0) > same.max(0))[1:].all())
    bands = "and the bands never overlap" if apart else "but the bands overlap"
    return (
        "Mean angle between vectors of the word by layer; the bands hold all pairs. Pairs of two "
        f"meanings go from {other[:, 0].mean():.0f} to {other[:, -1].mean():.0f} degrees, pairs of "
        f"one meaning from {same[:, 0].mean():.0f} to {same[:, -1].mean():.0f}. From layer 1 the "
        f"mean gap is never below {gap[1:].min():.0f} degrees, {bands}."
    )


def _check_words(weights: np.ndarray, words: Sequence[str]) -> None:
    check_square("weights", weights)
    check_labels("words", words, len(weights))


def _check_maps(
    maps: dict[str, Sequence[np.ndarray]], row: int
) -> dict[str, tuple[np.ndarray, ...]]:
    check_named("maps", maps)
    checked = {method: check_sequence(f"maps[{method!r}]", each) for method, each in maps.items()}
    for method, each in checked.items():
        for index, weights in enumerate(each):
            check_square(f"maps[{method!r}][{index}]", weights)
            check_int("row", row, minimum=0, maximum=len(weights) - 1)
    return checked


def _check_drift(same: np.ndarray, other: np.ndarray) -> None:
    for name, table in (("same", same), ("other", other)):
        check_array(name, table, "pairs layers")
        if table.shape[1] < 2:
            raise ValueError(f"{name} must have two layers or more; got shape {table.shape}")
    check_same_shape("one row of other", other[0], "one row of same", same[0])

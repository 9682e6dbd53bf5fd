"""Static figures of lecture 00."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.viz.draw import HeatMap, draw_weights, end_label, label_tokens, mute_axes
from course_utils.viz.style import BLUE, INK, ORANGE, course_style, new_figure


def draw_three_words(weights: np.ndarray, words: Sequence[str]) -> Figure:
    """The weights of a few words over each other, with numbers; row = the word that reads."""
    figure = new_figure(5.2, 3.0)
    with course_style():
        axes = figure.add_axes((0.26, 0.03, 0.6, 0.82))
        draw_weights(axes, np.asarray(weights), words, words)
    return figure


def draw_maps(maps: dict[str, Sequence[np.ndarray]], texts: Sequence[Sequence[str]]) -> Figure:
    """Weight maps of several methods (columns) on several texts (rows).

    Args:
        maps: method → one (T, T) map for each text.
        texts: the tokens of each text.
    """
    figure = new_figure(8.0, 5.4)
    with course_style():
        grid = figure.subplots(len(texts), len(maps), squeeze=False)
        figure.subplots_adjust(
            left=0.11, right=0.99, bottom=0.02, top=0.93, wspace=0.06, hspace=0.08
        )
        for column, (method, each) in enumerate(maps.items()):
            grid[0, column].set_title(method)
            for row, weights in enumerate(each):
                _draw_map(grid[row, column], weights, texts[row], labelled=column == 0)
    return figure


def _draw_map(axes: Axes, weights: np.ndarray, tokens: Sequence[str], *, labelled: bool) -> None:
    mute_axes(axes)
    count = len(tokens)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    # Half of the range: the maps are compared, and most weights are small.
    HeatMap(axes, high=0.5).set_data(weights)
    if labelled:
        label_tokens(axes, tokens, top=False)


def draw_drift(same: np.ndarray, other: np.ndarray) -> Figure:
    """Mean angle by layer for pairs of one meaning and of two, with the range of all pairs."""
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
            end_label(axes, layers[-1], table[:, -1].mean(), name, colour)
        axes.set(xlim=(0, layers[-1]), ylim=(0, None), xlabel="layer (0 = embeddings)")
        axes.set_ylabel("angle, degrees", color=INK)
    return figure


def describe_three_words(weights: np.ndarray, words: Sequence[str]) -> str:
    """The words of `draw_three_words`."""
    own = ", ".join(f"{word} {weights[i, i]:.2f}" for i, word in enumerate(words))
    return (
        "A table of weights; the row is the word that reads. Each word reads itself with weight "
        f"{own}. The smallest weight is {weights.min():.2f}, the largest {weights.max():.2f}."
    )


def describe_maps(maps: dict[str, Sequence[np.ndarray]]) -> str:
    """The words of `draw_maps`: how much each weight changes from the first text to the last."""
    changes = ", ".join(
        f"{method} {np.abs(each[0] - each[-1]).max():.2f}" for method, each in maps.items()
    )
    return (
        "One row of tables per sentence, one column per method; dark is 0, yellow 0.5 and more. "
        f"Largest change of a weight from the first sentence to the last: {changes}."
    )


def describe_drift(same: np.ndarray, other: np.ndarray) -> str:
    """The words of `draw_drift`."""
    by_layer = other.mean(0) - same.mean(0)
    return (
        "Mean angle between vectors of the word by layer; the bands hold all pairs. Both curves "
        f"start at {same[:, 0].max():.0f} degrees. At the end pairs of two meanings are "
        f"{other[:, -1].mean():.0f} degrees apart, pairs of one meaning {same[:, -1].mean():.0f}. "
        f"After the first layer the gap is never below {by_layer[1:].min():.0f} degrees, "
        "but the bands overlap."
    )

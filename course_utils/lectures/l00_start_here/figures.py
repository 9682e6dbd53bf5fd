"""Static figures of lecture 00."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import HeatMap, draw_weights, end_label, label_tokens, mute_axes
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import BLUE, INK, ORANGE, course_style, new_figure

Maps = Mapping[str, Sequence[np.ndarray]]


def draw_three_words(weights: np.ndarray, tokens: Sequence[str]) -> AnnotatedFigure:
    """The weights of a few words over each other, with numbers; row = query."""
    figure = new_figure(5.2, 3.0)
    with course_style():
        axes = figure.add_axes((0.26, 0.03, 0.6, 0.82))
        draw_weights(axes, weights, tokens, tokens)
    own = ", ".join(f"{token} {weights[i, i]:.2f}" for i, token in enumerate(tokens))
    words = (
        "A table of weights; the row is the query. Each word attends to itself with weight "
        f"{own}. The smallest weight is {weights.min():.2f}, the largest {weights.max():.2f}."
    )
    return AnnotatedFigure(figure, words)


def draw_maps(maps: Maps, texts: Sequence[Sequence[str]], *, row: int) -> AnnotatedFigure:
    """Weight maps of several methods (columns) on several texts (rows), one row of each framed.

    Args:
        maps: method → one (T, T) map for each text.
        texts: the tokens of each text.
        row: the query to frame; the words compare what it attends to in the first and last text.
    """
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
    return AnnotatedFigure(figure, _words_of_maps(maps, texts[0], row))


def _draw_map(axes: Axes, weights: np.ndarray, row: int) -> None:
    mute_axes(axes)
    count = len(weights)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    HeatMap(axes).set_data(weights)
    axes.add_patch(Rectangle((-0.5, row - 0.5), count, 1, fill=False, edgecolor=ORANGE, lw=1.6))


def _words_of_maps(maps: Maps, tokens: Sequence[str], row: int) -> str:
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
        f"the row of “{tokens[row]}”, the query. From the first sentence to the last, "
        f"{'; '.join(parts)}."
    )


def draw_context_shift(same: np.ndarray, other: np.ndarray) -> AnnotatedFigure:
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
            end_label(axes, float(layers[-1]), float(table[:, -1].mean()), name, colour)
        axes.set(xlim=(0, layers[-1]), ylim=(0, None), xlabel="after how many layers")
        axes.set_ylabel("angle, degrees", color=INK)
    return AnnotatedFigure(figure, _words_of_shift(same, other))


def _words_of_shift(same: np.ndarray, other: np.ndarray) -> str:
    gap = other.mean(0) - same.mean(0)
    apart = bool((other.min(0) > same.max(0))[1:].all())
    bands = "and the bands never overlap" if apart else "but the bands overlap"
    return (
        "Mean angle between vectors of the word by layer; the bands hold all pairs. Pairs of two "
        f"meanings go from {other[:, 0].mean():.0f} to {other[:, -1].mean():.0f} degrees, pairs of "
        f"one meaning from {same[:, 0].mean():.0f} to {same[:, -1].mean():.0f}. From layer 1 the "
        f"mean gap is never below {gap[1:].min():.0f} degrees, {bands}."
    )


def draw_three_roles(
    tokens: Sequence[str],
    keys: np.ndarray,
    values: np.ndarray,
    query: np.ndarray,
    out: np.ndarray,
    *,
    asking: str,
) -> AnnotatedFigure:
    """Arrows in the plane: all keys and one word's query, all values and that word's output.

    Args:
        tokens: the words.
        keys: (S, 2), one for each word, with the coordinates *animal* and *pronoun*.
        values: (S, 2), one for each word.
        query: (2,), of the word that asks.
        out: (2,), of the word that asks.
        asking: which word that is.
    """
    figure = new_figure(8.0, 2.9)
    with course_style():
        panels = figure.subplots(1, 2, width_ratios=(4.6, 3.4))
        figure.subplots_adjust(left=0.075, right=0.99, bottom=0.2, top=0.9, wspace=0.1)
        for axes, right, title in zip(
            panels, (3.3, 2.1), ("keys, and the query", "values, and the output"), strict=True
        ):
            axes.set(xlim=(-1.3, right), ylim=(-0.75, 1.35), title=title, xlabel="animal")
            axes.set(xticks=range(-1, int(right) + 1), yticks=[0, 1], aspect="equal")
            axes.grid()
            axes.set_axisbelow(True)
        panels[0].set_ylabel("pronoun")
        for axes, vectors in zip(panels, (keys, values), strict=True):
            for token, vector in zip(tokens, vectors, strict=True):
                _draw_arrow(axes, vector, token, BLUE, above=True)
        _draw_arrow(panels[0], query, f"query of {asking}", ORANGE, above=False)
        _draw_arrow(panels[1], out, f"output of {asking}", ORANGE, above=False)
    named = ", ".join(f"{token} {_pair(key)}" for token, key in zip(tokens, keys, strict=True))
    return AnnotatedFigure(
        figure,
        f"Arrows in the plane of two numbers, animal and pronoun. The keys: {named}. The query of "
        f"“{asking}” is {_pair(query)}; its output, {_pair(out)}, lies near the value of the word "
        "whose key points the same way.",
    )


def _draw_arrow(axes: Axes, vector: np.ndarray, name: str, colour: str, *, above: bool) -> None:
    place = (float(vector[0]), float(vector[1]))
    arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", place, (0, 0), arrowprops=arrow)
    axes.annotate(
        name, place, (0, 6 if above else -12), textcoords="offset points", ha="center",
        va="bottom" if above else "top", color=colour, fontsize=11,
    )  # fmt: skip


def _pair(vector: np.ndarray) -> str:
    return f"({vector[0]:.1f}, {vector[1]:.1f})"

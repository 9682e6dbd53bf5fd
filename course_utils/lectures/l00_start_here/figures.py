"""Static figures of lecture 00."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import end_label, heat_map, label_tokens, mute_axes
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGENTA,
    MAGNITUDE_MAP,
    MUTED,
    ORANGE,
    PURPLE,
    TEAL,
    course_style,
    new_figure,
)

Maps = Mapping[str, Sequence[np.ndarray]]


def draw_three_words(weights: np.ndarray, tokens: Sequence[str]) -> AnnotatedFigure:
    """A table of weights, a row for each query; bars, since the weights are nearly the same."""
    count = len(tokens)
    figure = new_figure(6.4, 3.6)
    with course_style():
        rows = figure.subplots(count, 1)
        figure.subplots_adjust(left=0.24, right=0.82, bottom=0.03, top=0.82, hspace=0.2)
        for i, axes in enumerate(rows):
            _draw_row(axes, weights[i], own=i)
            axes.set_yticks([weights.max() / 2], [tokens[i]])
            axes.set_xticks(range(count), tokens if i == 0 else [""] * count)
            axes.xaxis.tick_top()
            axes.tick_params(axis="y", labelcolor=BLUE, length=0)
            axes.tick_params(axis="x", labelcolor=ORANGE, length=0)
        rows[-1].annotate(
            "even share", (count - 0.4, 1 / count), (6, 0), textcoords="offset points",
            va="center", color=MUTED,
        )  # fmt: skip
        figure.text(0.225, 0.86, "query ↓", color=BLUE, weight="bold", ha="right", va="center")
        figure.text(0.225, 0.95, "key →", color=ORANGE, weight="bold", ha="right", va="center")
    own = ", ".join(f"{token} {weights[i, i]:.2f}" for i, token in enumerate(tokens))
    caption = (
        "A table of weights; the row is the query. Each word attends to itself with weight "
        f"{own}. The smallest weight is {weights.min():.2f}, the largest {weights.max():.2f}."
    )
    return AnnotatedFigure(figure, caption)


def _draw_row(axes: Axes, weights: np.ndarray, *, own: int) -> None:
    """One query's weights as bars over a line at the even share; its own key is deep blue."""
    colours = [MAGNITUDE_MAP(1.0 if i == own else 0.5) for i in range(len(weights))]
    axes.bar(range(len(weights)), weights, width=0.8, color=colours)
    axes.axhline(1 / len(weights), color=MUTED, linestyle="--", linewidth=1.4)
    axes.set(xlim=(-0.5, len(weights) - 0.4), ylim=(0, 1.05 * max(weights.max(), 1 / 3)))
    axes.spines[:].set_visible(False)
    for i, weight in enumerate(weights):
        colour = "white" if i == own else INK
        axes.text(i, 0.12, f"{weight:.2f}", ha="center", va="center", color=colour)


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
        figure.text(0.01, 0.962, "query ↓", color=BLUE, weight="bold")
        figure.text(0.01, 0.09, "key →", color=ORANGE, weight="bold")
        for column, (method, each) in enumerate(maps.items()):
            grid[0, column].set_title(method)
            for line, weights in enumerate(each):
                axes = grid[line, column]
                _draw_map(axes, weights, row)
                label_tokens(axes, texts[line], rows=column == 0, columns=line == len(each) - 1)
                axes.tick_params(axis="x", bottom=False, labelbottom=True, labeltop=False)
    return AnnotatedFigure(figure, _caption_of_maps(maps, texts[0], row))


def _draw_map(axes: Axes, weights: np.ndarray, row: int) -> None:
    mute_axes(axes)
    axes.spines[:].set(visible=True, color=GRID)
    count = len(weights)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5))
    heat_map(axes, weights)
    axes.add_patch(Rectangle((-0.5, row - 0.5), count, 1, fill=False, edgecolor=BLUE, lw=1.8))


def _caption_of_maps(maps: Maps, tokens: Sequence[str], row: int) -> str:
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
        "One row of tables per sentence, one column per method; white is 0, deep blue is 1. "
        f"Framed: the row of “{tokens[row]}”, the query. From the first sentence to the last, "
        f"{'; '.join(parts)}."
    )


def draw_context_shift(
    same: np.ndarray, other: np.ndarray, *, control: tuple[np.ndarray, np.ndarray]
) -> AnnotatedFigure:
    """Angles by layer for pairs of one meaning and of two; their gap, beside that of a control.

    Args:
        same: (pairs, layers), degrees, of pairs within a group.
        other: (pairs, layers), of pairs across the two groups.
        control: the same two tables, for two groups of one meaning.
    """
    figure = new_figure(8.0, 3.6)
    with course_style():
        left, right = (
            figure.add_axes((0.075, 0.16, 0.36, 0.72)),
            figure.add_axes((0.625, 0.16, 0.21, 0.72)),
        )
        layers = np.arange(same.shape[1])
        for table, colour, style, name in (
            (other, MAGENTA, "-", "two meanings"),
            (same, TEAL, "--", "one meaning"),
        ):
            left.fill_between(layers, table.min(0), table.max(0), color=colour, alpha=0.15, lw=0)
            left.plot(layers, table.mean(0), style, color=colour, marker="o", clip_on=False)
            end_label(left, float(layers[-1]), float(table[:, -1].mean()), name, colour)
        gaps = (
            (_gap(same, other), MAGENTA, "-", "another\nmeaning"),
            (_gap(*control), INK, ":", "the same\nmeaning\n(control)"),
        )
        for gap, colour, style, name in gaps:
            right.plot(layers, gap, style, color=colour, marker="o", clip_on=False)
            end_label(right, float(layers[-1]), float(gap[-1]), name, colour)
        right.axhline(0, color=MUTED, linewidth=1)
        left.set(ylim=(0, None), ylabel="degrees", title="angle between two vectors")
        right.set(ylim=(-1.5, 1.15 * _gap(same, other).max()), title="gap between the groups")
        for axes in (left, right):
            axes.set(xlim=(0, layers[-1]), xticks=layers, xlabel="after how many layers")
    return AnnotatedFigure(figure, _caption_of_shift(same, other, control))


def _gap(same: np.ndarray, other: np.ndarray) -> np.ndarray:
    return other.mean(0) - same.mean(0)


def _caption_of_shift(
    same: np.ndarray, other: np.ndarray, control: tuple[np.ndarray, np.ndarray]
) -> str:
    apart = bool((other.min(0) > same.max(0))[1:].all())
    bands = "and the bands never overlap" if apart else "but the bands overlap"
    return (
        "Mean angle between vectors of the word by layer; the bands hold all pairs. Pairs of two "
        f"meanings go from {other[:, 0].mean():.0f} to {other[:, -1].mean():.0f} degrees, pairs of "
        f"one meaning from {same[:, 0].mean():.0f} to {same[:, -1].mean():.0f}. From layer 1 the "
        f"mean gap is never below {_gap(same, other)[1:].min():.0f} degrees, {bands}. Between two "
        f"groups of one meaning the gap is at most {np.abs(_gap(*control)).max():.1f} degrees."
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
    longest = max(np.hypot(*key) for key in keys)
    shrunk = max(1, math.ceil(np.hypot(*query) / longest - 0.01))
    note = f"\n(drawn at 1/{shrunk})" if shrunk > 1 else ""
    figure = new_figure(8.0, 3.2)
    with course_style():
        panels = figure.subplots(1, 2)
        figure.subplots_adjust(left=0.075, right=0.99, bottom=0.18, top=0.9, wspace=0.1)
        titles = ("keys, and a query", "values, and the output")
        for axes, title in zip(panels, titles, strict=True):
            axes.set(xlim=(-1.2, 1.4), ylim=(-0.5, 1.2), title=title, xlabel="animal")
            axes.set(xticks=[-1, 0, 1], yticks=[0, 1], aspect="equal")
            axes.grid()
            axes.set_axisbelow(True)
        panels[0].set_ylabel("pronoun")
        for axes, vectors, colour in zip(panels, (keys, values), (ORANGE, PURPLE), strict=True):
            for token, vector in zip(tokens, vectors, strict=True):
                _draw_arrow(axes, vector, token, colour, above=True)
        _draw_arrow(panels[0], query / shrunk, f"query of {asking}{note}", BLUE, above=False)
        _draw_arrow(panels[1], out, f"output of {asking}", INK, above=False)
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
        name, place, (0, 6 if above else -17), textcoords="offset points", ha="center",
        va="bottom" if above else "top", color=colour,
    )  # fmt: skip


def _pair(vector: np.ndarray) -> str:
    return f"({vector[0]:.1f}, {vector[1]:.1f})"

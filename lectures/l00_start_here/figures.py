"""Static figures of lecture 00."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import drawable, end_label, heat_map, label_tokens, mute_axes
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGENTA,
    MAGNITUDE_MAP,
    MUTED,
    ORANGE,
    TEAL,
    course_style,
    new_figure,
)

Maps = Mapping[str, Sequence[np.ndarray]]


def draw_search(
    weights: Mapping[str, np.ndarray],  # stage → (S,), in the order in which the pairs were read
    pairs: Sequence[str],  # the name of each bar
    *,
    asked: int,  # which pair the question is about
) -> AnnotatedFigure:
    """One question's weights over all pairs, a row of bars for each stage of training."""
    figure = new_figure(8.0, 1.0 + 0.8 * len(weights))
    colours = [ORANGE if i == asked else MUTED for i in range(len(pairs))]
    with course_style():
        rows = np.atleast_1d(figure.subplots(len(weights), 1))
        figure.subplots_adjust(left=0.13, right=0.99, bottom=0.15, top=0.97, hspace=0.3)
        for axes, (stage, row) in zip(rows, weights.items(), strict=True):
            axes.bar(range(len(pairs)), row, width=0.8, color=_weights_in_blue(row))
            axes.set(xlim=(-0.6, len(pairs) - 0.4), ylim=(0, 1.25), yticks=[0.5], xticks=[])
            axes.set_yticklabels([stage])
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
            axes.text(asked, row[asked] + 0.06, f"{row[asked]:.2f}", ha="center", va="bottom")
        rows[-1].set_xticks(range(len(pairs)), pairs)
        rows[-1].tick_params(axis="x", length=0)
        for label, colour in zip(rows[-1].get_xticklabels(), colours, strict=True):
            label.set_color(colour)
    found = ", ".join(f"{stage} {row[asked]:.2f}" for stage, row in weights.items())
    name = pairs[asked].split()[0]
    return AnnotatedFigure(
        figure,
        f"The weights of the question “{name}?” over {len(pairs)} pairs, in the order in which "
        f"they were read. The pair of {name} gets: {found}.",
    )


def _weights_in_blue(row: np.ndarray) -> list[tuple[float, float, float, float]]:
    """From a blue that a white page still shows to the deepest."""
    return [MAGNITUDE_MAP(0.4 + 0.6 * float(weight)) for weight in row]


def draw_maps(
    maps: Maps,  # method → one (T, T) map for each text
    texts: Sequence[Sequence[str]],  # the tokens of each
    *,
    row: int,  # the query to frame
) -> AnnotatedFigure:
    """Weight maps of several methods (columns) on several texts (rows), one row of each framed."""
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
                if line == len(each) - 1:
                    _label_every_column(axes, texts[line])
    return AnnotatedFigure(figure, _caption_of_maps(maps, texts[0], row))


def _label_every_column(axes: Axes, tokens: Sequence[str]) -> None:
    """Write all tokens under a map, also where `label_tokens` leaves out every second."""
    axes.set_xticks(range(len(tokens)), [drawable(token) for token in tokens], rotation=90)
    for label in axes.get_xticklabels():
        label.set(fontsize=8.5, parse_math=False)


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
    same: np.ndarray,  # (pairs, layers), degrees, within a group
    other: np.ndarray,  # (pairs, layers), across the two groups
    *,
    control: tuple[np.ndarray, np.ndarray],  # the same two tables, for two groups of one meaning
) -> AnnotatedFigure:
    """Angles by layer for pairs of one meaning and of two; their gap, and that of a control."""
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
            (_gap(same, other), MAGENTA, "-", "two\nmeanings"),
            (_gap(*control), INK, ":", "one\nmeaning\n(control)"),
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

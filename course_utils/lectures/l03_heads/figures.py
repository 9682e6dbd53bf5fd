"""Static figures of lecture 03."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import end_label, label_tokens
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    GRID,
    INK,
    MAGENTA,
    MAGNITUDE_MAP,
    MUTED,
    TEAL,
    course_style,
    new_figure,
)
from course_utils.training import Training

__all__ = ["draw_alignment", "draw_pruning", "draw_runs", "draw_singular_values"]

DASHES = ("-", "--", "-.")
FLOOR = 1e-18  # of the largest singular value: below every rounding of float64
COLOURS = (MAGENTA, TEAL, INK)  # none of them a query, a key or a value
NUMBERED = 5  # heads whose silence changes most have their number
LETTER = 0.11  # inches, a wide one of a token's label


def draw_singular_values(values: Mapping[int, np.ndarray], width: int) -> AnnotatedFigure:
    """Singular values of one head's QKᵀ for several numbers of heads, with the width of a head.

    Args:
        values: number of heads → (N,) singular values, largest first.
        width: the model's width C; a head has C / H numbers.
    """
    figure = new_figure(8.0, 3.8)
    parts = []
    with course_style():
        axes = figure.add_axes((0.1, 0.16, 0.87, 0.8))
        for (heads, each), colour, dash in zip(values.items(), COLOURS, DASHES, strict=False):
            rank = width // heads
            relative = (each / each[0]).clip(FLOOR)
            axes.plot(np.arange(1, len(each) + 1), relative, color=colour, linestyle=dash)
            axes.axvline(rank + 0.5, color=colour, linewidth=1.2, linestyle=":")
            axes.plot(rank, relative[rank - 1], "o", color=colour)
            axes.annotate(
                f"$H = {heads}$\n$d_k = {rank}$",
                (rank + 0.5, 0.35),
                xycoords=("data", "axes fraction"),
                xytext=(6, 0),
                textcoords="offset points",
                color=colour,
                va="center",
            )
            below = f", the next {each[rank] / each[0]:.0e}" if rank < len(each) else ""
            parts.append(
                f"{_heads(heads)}, {rank} numbers wide: value {rank} is "
                f"{each[rank - 1] / each[0]:.2g} of the largest{below}"
            )
        axes.set(yscale="log", xlabel="singular value, by size", ylabel="size / the largest")
        axes.set_xlim(0, 1.02 * max(len(each) for each in values.values()))
    caption = f"Singular values of one head's table of scores. {'; '.join(parts)}."
    return AnnotatedFigure(figure, caption)


def draw_runs(
    trained: Mapping[str, Training], score: str, levels: Mapping[str, float] | None = None
) -> AnnotatedFigure:
    """Learning curves of several models: a line for every run, named where the median ends.

    Args:
        trained: what a model is called → its runs.
        score: the name of the vertical axis.
        levels: what it takes to reach a score, for example guessing → that score, as dotted lines.
    """
    figure = new_figure(8.0, 3.8)
    last = max(runs.steps_checked[-1] for runs in trained.values())
    with course_style():
        axes = figure.add_axes((0.1, 0.16, 0.68, 0.8))
        axes.set(xlabel="training steps", ylabel=score, xlim=(0, last), ylim=(0, 1.02))
        for name, level in (levels or {}).items():
            axes.axhline(level, color=MUTED, linewidth=1.2, linestyle=":", zorder=0)
            axes.annotate(
                name, (0.995, level), (0, 3), xycoords=("axes fraction", "data"),
                textcoords="offset points", ha="right", va="bottom", color=MUTED,
            )  # fmt: skip
        for (name, runs), colour in zip(trained.items(), COLOURS, strict=False):
            for curve in runs.scores:
                axes.plot(runs.steps_checked, curve, color=colour, linewidth=1.4, alpha=0.8)
            end, ends = float(runs.steps_checked[-1]), runs.scores[:, -1]
            if end < last:  # below the curves that go on
                axes.annotate(
                    name, (end, float(ends.min())), (6, -4), textcoords="offset points",
                    color=colour, va="top",
                )  # fmt: skip
            else:
                end_label(axes, end, float(ends.median()), name, colour)
    parts = [
        f"{name}, {len(ends)} runs, after {runs.steps_checked[-1]:,} steps "
        f"{ends.min():.2f} to {ends.max():.2f}"
        for name, runs in trained.items()
        for ends in [runs.scores[:, -1]]
    ]
    lines = [f" Dotted, {name}: {level:.3g}." for name, level in (levels or {}).items()]
    return AnnotatedFigure(figure, f"{score}: {'; '.join(parts)}.{''.join(lines)}")


def draw_alignment(
    weights: np.ndarray, source: Sequence[str], target: Sequence[str]
) -> AnnotatedFigure:
    """Cross-attention weights: a row for each token written, a column for each of the source."""
    rows, columns = weights.shape
    side = min(0.42, 4.6 / rows, 6.0 / columns)
    left, above = (0.5 + LETTER * max(map(len, tokens)) for tokens in (target, source))
    wide, high = max(left + side * columns + 0.1, 3.6), above + side * rows + 0.1
    figure = new_figure(wide, high)
    with course_style():
        area = (left / wide, 0.1 / high, side * columns / wide, side * rows / high)
        axes = figure.add_axes(area)
        axes.imshow(weights, vmin=0, vmax=1, cmap=MAGNITUDE_MAP, aspect="auto")
        label_tokens(axes, target, columns=False)
        label_tokens(axes, source, rows=False)
        axes.set_ylabel("written")
        axes.set_xlabel("source", labelpad=8)
        axes.xaxis.set_label_position("top")
        axes.spines[:].set_visible(False)
    most = [
        f"“{token}” attends to “{source[row.argmax()]}” ({row.max():.2f})"
        for token, row in zip(target, weights, strict=True)
    ]
    return AnnotatedFigure(figure, f"Cross-attention weights: {', '.join(most)}.")


def draw_pruning(
    changes: np.ndarray, marked: Sequence[tuple[int, int]], title: str
) -> AnnotatedFigure:
    """What the silence of each head changes: layers × heads, the largest with their numbers.

    Args:
        changes: (layers, heads), positive.
        marked: heads to frame and number too, each as (layer, head).
        title: what the numbers measure.
    """
    layers, heads = changes.shape
    figure = new_figure(8.0, 0.47 * layers + 1.35)
    most = np.argsort(changes, axis=None)[::-1][:NUMBERED]
    numbered = {divmod(int(each), heads) for each in most}
    with course_style():
        low = 0.75 / figure.get_figheight()
        axes = figure.add_axes((0.08, low, 0.9, 1 - 0.42 / figure.get_figheight() - low))
        axes.imshow(changes, vmin=0, vmax=changes.max(), cmap=MAGNITUDE_MAP, aspect="auto")
        for layer, head in sorted(numbered | set(marked)):
            share = changes[layer, head] / changes.max()
            axes.text(
                head, layer, f"{changes[layer, head]:.3f}", ha="center", va="center",
                color=INK if share < 0.45 else "white",
            )  # fmt: skip
        axes.set_xticks(np.arange(heads - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(layers - 1) + 0.5, minor=True)
        axes.grid(which="minor", color=GRID, linewidth=1)
        for layer, head in marked:
            corner = (head - 0.5, layer - 0.5)
            axes.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=MAGENTA, linewidth=3))
        axes.set(xlabel="head", ylabel="layer", xticks=range(heads), yticks=range(layers))
        axes.set_title(f"{title}; the {NUMBERED} largest and the framed head", loc="left")
        axes.tick_params(which="both", length=0)
        axes.spines[:].set_visible(False)
    layer, head = np.unravel_index(int(changes.argmax()), changes.shape)
    ranks = [
        f" Layer {at}, head {which}: {changes[at, which]:.4f}, rank "
        f"{1 + int((changes > changes[at, which]).sum())} of {changes.size}."
        for at, which in marked
    ]
    caption = (
        f"{title} when one of {changes.size} heads is silent: median {np.median(changes):.4f}, "
        f"largest {changes.max():.4f} (layer {layer}, head {head}).{''.join(ranks)}"
    )
    return AnnotatedFigure(figure, caption)


def _heads(count: int) -> str:
    return f"{count} heads" if count > 1 else "1 head"

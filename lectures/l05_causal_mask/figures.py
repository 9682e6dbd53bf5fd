"""Static figures of lecture 05. Its learning curves are `explorers.charts`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    MAGNITUDE_MAP,
    MUTED,
    course_style,
    new_figure,
)
from lectures.l05_causal_mask.heatmap import draw_scale, draw_shares, grid_lines


def draw_reach(
    # name → (T, T) sizes of gradients; three at most, no row all zeros
    reaches: Mapping[str, np.ndarray],
    may_depend: np.ndarray,  # (T, T), True where an output may depend on an input
) -> AnnotatedFigure:
    """How much each output depends on each input, as shares of its row, on a logarithmic scale.

    White is exactly zero. Where an output depends on an input that it must not, the square is
    magenta with a cross.
    """
    shares = {name: reach / reach.sum(1, keepdims=True) for name, reach in reaches.items()}
    leaks = {name: (share > 0) & ~may_depend for name, share in shares.items()}
    left, below, above = 0.62, 0.58, 0.36
    side = min(2.6, (7.3 - left) / len(shares) - 0.2)
    figure = new_figure(8.0, below + side + above)
    tall = figure.get_figheight()
    with course_style():
        for index, (name, share) in enumerate(shares.items()):
            axes = figure.add_axes((left / 8, below / tall, side / 8, side / tall))
            _draw_share(axes, share, leaks[name])
            axes.set_title(name, pad=6)
            axes.set(xlabel="input token", ylabel="output token" if index == 0 else "")
            axes.tick_params(length=0, labelleft=index == 0)
            left += side + 0.2
        draw_scale(figure, (left - 0.1) / 8, below / tall, side / tall)
    parts = []
    for name, share in shares.items():
        found, wrong = int((share > 0).sum()), int(leaks[name].sum())
        where = f"{wrong} of them where they must be 0" if wrong else "all where they may be"
        parts.append(f"{name}: {found} of {share.size} gradients are not 0, {where}")
    caption = (
        f"How much each output depends on each token, as a share of its row; white is exactly 0. "
        f"{'; '.join(parts)}."
    )
    return AnnotatedFigure(figure, caption)


def draw_masks(
    masks: Mapping[str, np.ndarray],  # name → (T, S) booleans; five at most
) -> AnnotatedFigure:
    """Masks side by side: a blue square where the query of the row may attend to the key."""
    left, below, above, between = 0.5, 0.42, 0.34, 0.16
    side = (7.95 - left) / len(masks) - between
    figure = new_figure(8.0, below + side + above)
    tall = figure.get_figheight()
    with course_style():
        for index, (name, mask) in enumerate(masks.items()):
            axes = figure.add_axes((left / 8, below / tall, side / 8, side / tall))
            axes.imshow(mask, cmap=MAGNITUDE_MAP, vmin=0, vmax=1, interpolation="nearest")
            axes.plot(*grid_lines(len(mask)), color=MUTED, linewidth=0.7, clip_on=False)
            axes.spines[:].set_visible(False)
            axes.set(xticks=[], yticks=[], ylabel="query t" if index == 0 else "")
            axes.set(xlabel="key s", xlim=(-0.5, len(mask) - 0.5), ylim=(len(mask) - 0.5, -0.5))
            axes.set_title(name, pad=6)
            left += side + between
    counts = [f"{name}: {int(mask.sum())} of {mask.size}" for name, mask in masks.items()]
    return AnnotatedFigure(
        figure, f"Blue where a query may attend to a key. Pairs allowed: {'; '.join(counts)}."
    )


def _draw_share(axes: Axes, share: np.ndarray, leaks: np.ndarray) -> None:
    size = len(share)
    axes.set(xlim=(-0.5, size - 0.5), ylim=(size - 0.5, -0.5))
    ticks = range(0, size, max(1, round(size / 6)))
    axes.set(xticks=ticks, yticks=ticks)
    axes.spines[:].set_visible(False)
    draw_shares(axes, share, leaks)
    axes.plot(*grid_lines(size), color=MUTED, linewidth=0.7, clip_on=False)
    output, token = np.nonzero(leaks)
    axes.plot(token, output, "x", color="white", markersize=70 / size, markeredgewidth=1.5)

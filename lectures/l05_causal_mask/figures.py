"""Static figures of lecture 05. Its learning curves are `explorers.charts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course_utils.explorers.draw import end_label
from course_utils.explorers.show import AnnotatedFigure
from course_utils.explorers.style import (
    BLUE,
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
from lectures.l05_causal_mask.heatmap import draw_scale, draw_shares, grid_lines


def draw_reach(reaches: Mapping[str, np.ndarray], may_depend: np.ndarray) -> AnnotatedFigure:
    """How much each output depends on each input, as shares of its row, on a logarithmic scale.

    White is exactly zero. Where an output depends on an input that it must not, the square is
    magenta with a cross.

    Args:
        reaches: name → (T, T) sizes of gradients, three pictures at most; no row is all zeros.
        may_depend: (T, T), True where an output may depend on an input.
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


def draw_masks(masks: Mapping[str, np.ndarray]) -> AnnotatedFigure:
    """Masks side by side: a blue square where the query of the row may attend to the key.

    Args:
        masks: name → (T, S) booleans, five at most.
    """
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


def draw_cache_step(words: Sequence[str]) -> AnnotatedFigure:
    """What a model computes to choose the next word, without a cache and with one.

    A full square is computed in this step, an outlined one was kept, a faint one is a score that
    the mask hides.

    Args:
        words: the text so far, six words at most.
    """
    T = len(words)
    figure = new_figure(8.0, 3.3)
    with course_style():
        for left, title, first in ((0.0, "without a cache", 0), (0.5, "with a cache", T - 1)):
            axes = figure.add_axes((left, 0, 0.5, 1))
            axes.set(xlim=(-3.2, T + 1.9), ylim=(T + 0.6, -4.5), aspect="equal")
            axes.axis("off")
            axes.text(-3.0, -3.9, title, fontsize=13, weight="bold", color=INK, va="center")
            for s, word in enumerate(words):
                axes.text(s, -2.55, word, ha="center", va="bottom", fontsize=9, color=ORANGE)
                _square(axes, s, -2, ORANGE, "full" if s >= first else "kept")
                _square(axes, s, -1, PURPLE, "full" if s >= first else "kept")
            for t in range(first, T):
                axes.text(-1.75, t, words[t], ha="right", va="center", fontsize=9, color=BLUE)
                _square(axes, -1.15, t, BLUE, "full")
                for s in range(T):
                    _square(axes, s, t, MAGNITUDE_MAP(1.0), "full" if s <= t else "hidden")
            for y, name, colour in ((-2, "keys", ORANGE), (-1, "values", PURPLE)):
                axes.text(T - 0.3, y, name, va="center", fontsize=10, color=colour)
            axes.text(-1.15, T - 0.35, "query" if first else "queries", ha="center", va="top",
                      fontsize=10, color=BLUE)  # fmt: skip
            axes.text((T - 1) / 2, T - 0.35, "scores", ha="center", va="top", fontsize=10)
    caption = (
        f"To choose the word after {words[-1]!r}, a head computes what is full. Without a cache "
        f"that is {T} queries, keys and values and {T * T} scores, of which the mask hides "
        f"{T * (T - 1) // 2} (faint). With one it is 1 query, key and value and {T} scores; the "
        f"{T - 1} outlined keys and values were kept."
    )
    return AnnotatedFigure(figure, caption)


def _square(axes: Axes, x: float, y: float, colour: object, kind: str) -> None:
    size = 0.78
    look = {
        "full": {"facecolor": colour, "edgecolor": colour},
        "kept": {"facecolor": "none", "edgecolor": colour, "linewidth": 1.4},
        "hidden": {"facecolor": MUTED, "edgecolor": "none", "alpha": 0.22},
    }[kind]
    corner = (x - size / 2, y - size / 2)
    axes.add_patch(
        FancyBboxPatch(corner, size, size, boxstyle="round,pad=0,rounding_size=0.12", **look)
    )


def draw_one_more(
    lengths: np.ndarray, with_cache: np.ndarray, without: np.ndarray
) -> AnnotatedFigure:
    """What one more token takes, over the length so far: scores counted, and time measured.

    All axes are logarithmic; bands are all runs. The words say ratios, for times vary.

    Args:
        lengths: (lengths,) tokens, rising.
        with_cache: (runs, lengths) seconds.
        without: (runs, lengths) seconds.
    """
    figure = new_figure(8.0, 2.9)
    panels = {
        "scores, in each head": (lengths[None], lengths[None] ** 2),
        "time, ms": (1e3 * with_cache, 1e3 * without),
    }
    ratios = {}
    with course_style():
        for left, (title, kinds) in zip((0.075, 0.57), panels.items(), strict=True):
            axes = figure.add_axes((left, 0.2, 0.31, 0.66))
            axes.set(xscale="log", yscale="log", xlabel="tokens so far")
            axes.set_title(title, loc="left", pad=8)
            looks = (("with a cache", TEAL, "-", "o"), ("without", MAGENTA, "--", "s"))
            middles = [np.median(runs, axis=0) for runs in kinds]
            for runs, middle, (name, colour, line, marker) in zip(
                kinds, middles, looks, strict=True
            ):
                axes.fill_between(
                    lengths, runs.min(0), runs.max(0), color=colour, alpha=0.2, linewidth=0
                )
                axes.plot(lengths, middle, line, marker=marker, color=colour, markersize=6)
                end_label(axes, float(lengths[-1]), float(middle[-1]), name, colour)
            ratios[title] = middles[1] / middles[0]
            axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
            axes.minorticks_off()
            axes.grid(axis="y")
    scores, times = ratios.values()
    caption = (
        "What one more token takes, all axes logarithmic; medians, and all runs as bands. Without "
        f"a cache it takes {_times(scores[0])} as many scores at {lengths[0]:,.0f} tokens and "
        f"{_times(scores[-1])} as many at {lengths[-1]:,.0f}. It takes {_times(times[0])} and "
        f"{_times(times[-1])} as long."
    )
    return AnnotatedFigure(figure, caption)


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:,.0f} times"


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

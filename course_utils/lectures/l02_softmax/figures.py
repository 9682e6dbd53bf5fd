"""Static figures of lecture 02."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullLocator

from course_utils.checks import check_finite, check_int
from course_utils.explorers.checks import check_array, check_named, check_positive
from course_utils.explorers.style import (
    BLUE,
    GRID,
    INK,
    MAGNITUDE_MAP,
    MUTED,
    ORANGE,
    PURPLE,
    course_style,
    new_figure,
)
from course_utils.lectures.l02_softmax.explorers import LARGEST_NORM, jacobian_norm

LOOKS = ((BLUE, "-"), (ORANGE, "--"), (PURPLE, ":"))
COLUMNS = 4
Curves = Mapping[str, Mapping[str, np.ndarray]]
Rows = Mapping[int, np.ndarray]


def draw_learning_curves(panels: Curves, chance: float, *, window: int = 10) -> Figure:
    """Losses over the steps: the median run as a line, all runs as a band, a panel each.

    Args:
        panels: title → name of a curve → (runs, steps), up to eight panels of up to three curves;
            the curves have the same names everywhere.
        chance: the loss of guessing, as a dotted line.
        window: number of steps to average over, for a single batch may be lucky.

    Raises:
        TypeError, ValueError: when a table is not (runs, steps) of finite numbers with `window`
            steps or more, the names differ between panels, there are too many of either, or
            `chance` or `window` is no positive number.
    """
    _check_curves(panels, chance, window)
    columns = -(-len(panels) // -(-len(panels) // COLUMNS))  # full rows where that can be
    steps = next(iter(next(iter(panels.values())).values())).shape[1]
    rows = -(-len(panels) // columns)
    height = 0.95 + 1.75 * rows
    figure = new_figure(8.0, height)
    with course_style():
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        figure.subplots_adjust(
            left=0.07,
            right=0.985,
            bottom=0.5 / height,
            top=1 - 0.7 / height,
            wspace=0.1,
            hspace=0.3,
        )
        for axes, (title, curves) in zip(grid.flat, panels.items(), strict=False):
            axes.set_title(title)
            _draw_curves(axes, curves, window)
            axes.axhline(chance, color=MUTED, linestyle=":", linewidth=1.2)
            axes.set(xlim=(0, steps), ylim=(0, 1.25 * chance))
            axes.yaxis.set_major_locator(MaxNLocator(3))
            # The last number would touch the first of the next panel.
            axes.xaxis.set_major_locator(MaxNLocator(4, prune="upper"))
        for unused in list(grid.flat)[len(panels) :]:
            unused.set_axis_off()
        grid[0, 0].text(0.02 * steps, chance, "guessing", color=MUTED, fontsize=10, va="bottom")
        for row in grid[:, 0]:
            row.set_ylabel("loss (nats)")
        for axes in grid[-1]:
            axes.set_xlabel("step")
        lines = [line for line in grid[0, 0].lines if not line.get_label().startswith("_")]
        figure.legend(handles=lines, loc="upper center", ncols=len(lines), borderaxespad=0.2)
    return figure


def _draw_curves(axes: Axes, curves: Mapping[str, np.ndarray], window: int) -> None:
    for (name, losses), (colour, dash) in zip(curves.items(), LOOKS, strict=False):
        smooth = _smooth(losses, window)
        steps = np.arange(window, losses.shape[1] + 1)
        axes.fill_between(
            steps, smooth.min(0), smooth.max(0), color=colour, alpha=0.22, linewidth=0
        )
        axes.plot(steps, np.median(smooth, axis=0), color=colour, linestyle=dash, label=name)


def _smooth(losses: np.ndarray, window: int) -> np.ndarray:
    """Mean of the last `window` losses at each step that has as many behind it."""
    return np.lib.stride_tricks.sliding_window_view(losses, window, axis=1).mean(-1)


def describe_learning_curves(panels: Curves, chance: float, *, window: int = 10) -> str:
    """The words of `draw_learning_curves`, which refuses the same input: where the runs end."""
    _check_curves(panels, chance, window)
    runs, steps = next(iter(next(iter(panels.values())).values())).shape
    parts = []
    for title, curves in panels.items():
        ends = {name: _smooth(losses, window)[:, -1] for name, losses in curves.items()}
        named = ", ".join(
            f"{name} {np.median(end):.2f} ({end.min():.2f} to {end.max():.2f})"
            for name, end in ends.items()
        )
        parts.append(f"{title}: {named}")
    return (
        f"Loss over {steps} steps, mean of the last {window}; line: median of {runs} runs, band: "
        f"all of them; guessing gives {chance:.2f}. At the end: {'; '.join(parts)}."
    )


def draw_jacobian_fall(unscaled: Rows, scaled: Rows) -> Figure:
    """How much gradient the rows of weights let through, as the heads grow wider.

    On the left some rows of the unscaled weights at three widths are dots: the norm of a row's
    Jacobian over its largest weight. On the right are the medians, and the range of nine rows in
    ten.

    Args:
        unscaled: head width → (N, S) rows of weights.
        scaled: the same widths, with scores divided by the root of the width.

    Raises:
        TypeError, ValueError: when a table is not (N, S) of numbers in [0, 1] with rows that sum
            to 1, or the two have other widths, or there are fewer than two widths.
    """
    _check_rows(unscaled, scaled)
    figure = new_figure(8.0, 3.9)
    with course_style():
        left, right = (
            figure.add_axes((0.08, 0.15, 0.4, 0.76)),
            figure.add_axes((0.59, 0.15, 0.4, 0.76)),
        )
        _draw_dots(left, unscaled)
        for rows, (colour, dash), name in zip(
            (scaled, unscaled), LOOKS, ("divided by √d_k", "not divided"), strict=False
        ):
            widths = np.array(list(rows))
            low, middle, high = _norm_quantiles(rows)
            right.fill_between(widths, low, high, color=colour, alpha=0.22, linewidth=0)
            right.plot(widths, middle, dash, color=colour, marker="o", label=name)
        right.set(xscale="log", yscale="log", xlabel="head width d_k", title="as heads grow wider")
        right.set_ylim(1e-4, 1)
        right.set_xticks(list(unscaled), [str(width) for width in unscaled])
        right.xaxis.set_minor_locator(NullLocator())
        right.set_ylabel("norm of the Jacobian", labelpad=1)
        right.legend(loc="lower left", borderaxespad=0)
    return figure


def _draw_dots(axes: Axes, unscaled: Rows) -> None:
    colours = (BLUE, PURPLE, ORANGE)
    shown = [list(unscaled)[place] for place in sorted({0, len(unscaled) // 2, len(unscaled) - 1})]
    for width, colour, marker in zip(shown, colours, "osv", strict=False):
        rows = unscaled[width][:300]
        axes.plot(
            rows.max(-1),
            jacobian_norm(rows),
            marker,
            color=colour,
            markersize=4,
            alpha=0.6,
            markeredgewidth=0,
            label=f"d_k = {width}",
        )
    sharp = np.linspace(0.5, 1, 51)
    axes.plot(sharp, 2 * sharp * (1 - sharp), color=INK, linewidth=1.4)
    axes.annotate(
        "the rest\non one key", (0.8, 0.32), (0.86, 0.45), fontsize=10, ha="center", va="center",
        arrowprops={"arrowstyle": "-", "color": MUTED},
    )  # fmt: skip
    axes.set(xlim=(0, 1.02), ylim=(0, 0.55), title="not divided")
    axes.set(xlabel="largest weight of a query", ylabel="norm of the Jacobian")
    axes.axhline(LARGEST_NORM, color=GRID, zorder=0)
    axes.legend(loc="lower left", handletextpad=0.1, borderaxespad=0, markerscale=1.8)


def _norm_quantiles(rows: Rows) -> np.ndarray:
    return np.array(
        [np.quantile(jacobian_norm(each), (0.05, 0.5, 0.95)) for each in rows.values()]
    ).T


def describe_jacobian_fall(unscaled: Rows, scaled: Rows) -> str:
    """The words of `draw_jacobian_fall`, which refuses the same input."""
    _check_rows(unscaled, scaled)
    parts = []
    for width, rows in unscaled.items():
        norms, others = jacobian_norm(rows), jacobian_norm(scaled[width])
        parts.append(
            f"{width}: {np.median(norms):.2g} (mean {norms.mean():.2f}) and {np.median(others):.2f}"
        )
    widest = max(unscaled)
    dead = (unscaled[widest].max(-1) > 0.99).mean()
    return (
        "Norm of the Jacobian of a row of weights; it is ½ at most, and 0 where one weight is 1. "
        f"Median by head width, not divided and divided by its root: {', '.join(parts)}. At width "
        f"{widest}, not divided, {dead:.0%} of the rows have a weight above 0.99."
    )


def draw_head_tokens(tokens: np.ndarray, length: float) -> Figure:
    """How many tokens hold 90 % of the weight, in each head of each layer, as a table.

    Args:
        tokens: (layers, heads), the mean number of tokens over queries and sentences.
        length: how many tokens a sentence has on average, the end of the colour scale.

    Raises:
        TypeError, ValueError: when `tokens` is not a table of positive finite numbers, or `length`
            is below the largest of them.
    """
    _check_tokens(tokens, length)
    layers, heads = tokens.shape
    figure = new_figure(8.0, 0.42 * layers + 1.1)
    with course_style():
        axes = figure.add_axes((0.075, 0.02, 0.82, 1 - 0.62 / figure.get_figheight()))
        image = axes.imshow(tokens, vmin=1, vmax=length, cmap=MAGNITUDE_MAP, aspect="auto")
        for (layer, head), value in np.ndenumerate(tokens):
            colour = INK if value > 1 + 0.55 * (length - 1) else "white"
            axes.text(head, layer, f"{value:.1f}", ha="center", va="center", color=colour)
        axes.set_xticks(range(heads))
        axes.set_yticks(range(layers))
        axes.xaxis.tick_top()
        axes.xaxis.set_label_position("top")
        axes.set(xlabel="head", ylabel="layer")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        bounds = axes.get_position()
        scale = figure.add_axes((0.91, bounds.y0, 0.018, bounds.height))
        figure.colorbar(image, cax=scale, label="tokens for 90 %")
    return figure


def describe_head_tokens(tokens: np.ndarray, length: float) -> str:
    """The words of `draw_head_tokens`, which refuses the same input."""
    _check_tokens(tokens, length)
    few, many = (
        np.unravel_index(int(at), tokens.shape) for at in (tokens.argmin(), tokens.argmax())
    )
    by_layer = ", ".join(f"{mean:.1f}" for mean in tokens.mean(axis=1))
    return (
        f"Tokens that hold 90 % of a query's weight, of {length:.1f} on average: mean over "
        f"{tokens.size} heads {tokens.mean():.1f}, from {tokens.min():.1f} (layer {few[0]}, head "
        f"{few[1]}) to {tokens.max():.1f} (layer {many[0]}, head {many[1]}). By layer: {by_layer}."
    )


def draw_largest_weights(largest: Mapping[str, np.ndarray], printed: Mapping[str, float]) -> Figure:
    """The largest weight of many random matrices as a histogram, and the one that a text prints.

    Args:
        largest: name → (N,) largest weights, up to three.
        printed: the same names → the number in the text.

    Raises:
        TypeError, ValueError: when a table is not (N,) of numbers from 0 to 1, the names of the two
            differ, or a printed number is not finite.
    """
    _check_largest(largest, printed)
    figure = new_figure(8.0, 1.55 * len(largest) + 0.75)
    with course_style():
        panels = figure.subplots(len(largest), 1, sharex=True, squeeze=False)[:, 0]
        bottom = 0.6 / figure.get_figheight()
        figure.subplots_adjust(left=0.03, right=0.97, bottom=bottom, top=0.98, hspace=0.12)
        for axes, (name, values), (colour, _) in zip(panels, largest.items(), LOOKS, strict=False):
            counts, edges = np.histogram(values, bins=50, range=(0, 1))
            axes.stairs(counts / counts.max(), edges, fill=True, color=colour, alpha=0.55)
            axes.set(xlim=(0, 1), ylim=(0, 1.12), yticks=[])
            axes.spines["left"].set_visible(False)
            axes.axvline(values.mean(), color=colour, linewidth=2)
            axes.axvline(printed[name], color=INK, linewidth=1.6, linestyle="--")
            below = (values < printed[name]).mean()
            axes.text(
                0.01,
                0.95,
                f"{name}\nmean {values.mean():.3f} (line)\nin the text {printed[name]:.4f}\n"
                f"(dashed): {below:.0%} are below",
                va="top",
                fontsize=11,
            )
        panels[-1].set_xlabel("largest weight of the matrix")
    return figure


def describe_largest_weights(
    largest: Mapping[str, np.ndarray], printed: Mapping[str, float]
) -> str:
    """The words of `draw_largest_weights`, which refuses the same input."""
    _check_largest(largest, printed)
    parts = [
        f"{name}: mean {values.mean():.3f}, from {values.min():.2f} to {values.max():.2f}; "
        f"{(values < printed[name]).mean():.1%} lie below the text's {printed[name]:.4f}"
        for name, values in largest.items()
    ]
    count = len(next(iter(largest.values())))
    return f"Largest weight of {count:,} random matrices. {'. '.join(parts)}."


def _check_curves(panels: object, chance: float, window: int) -> None:
    check_named("panels", panels)
    check_int("window", window)
    if check_finite("chance", chance) <= 0:
        raise ValueError(f"chance must be positive; got {chance}")
    if len(panels) > 2 * COLUMNS:  # type: ignore
        raise ValueError(f"panels must be at most {2 * COLUMNS}; got {len(panels)}")  # type: ignore
    first = None
    for title, curves in panels.items():  # type: ignore
        name = f"panels[{title!r}]"
        check_named(name, curves)
        first = list(curves) if first is None else first
        if list(curves) != first:
            raise ValueError(f"{name} must have the curves {first}; got {list(curves)}")
        if len(curves) > len(LOOKS):
            raise ValueError(f"{name} must hold at most {len(LOOKS)} curves; got {len(curves)}")
        for curve, losses in curves.items():
            check_array(f"{name}[{curve!r}]", losses, "runs steps")
            if losses.shape[1] < window:
                raise ValueError(
                    f"{name}[{curve!r}] must have {window} steps or more; got shape {losses.shape}"
                )


def _check_rows(unscaled: object, scaled: object) -> None:
    for name, tables in (("unscaled", unscaled), ("scaled", scaled)):
        if not isinstance(tables, Mapping):
            raise TypeError(f"{name} must be a mapping; got {type(tables).__name__}")
        if len(tables) < 2:
            raise ValueError(f"{name} must hold two widths or more; got {list(tables)}")
        for width, rows in tables.items():
            check_int(f"each width of {name}", width)
            each = f"{name}[{width}]"
            check_array(each, rows, "N S")
            if rows.min() < 0 or np.abs(rows.sum(-1) - 1).max() > 1e-4:
                raise ValueError(
                    f"{each} must hold rows of weights that sum to 1; got {rows.min():.3g} to "
                    f"{rows.max():.3g}, sums {rows.sum(-1).min():.3g} to {rows.sum(-1).max():.3g}"
                )
    if list(unscaled) != list(scaled):  # type: ignore
        raise ValueError(f"scaled must have the widths {list(unscaled)}; got {list(scaled)}")  # type: ignore


def _check_tokens(tokens: np.ndarray, length: float) -> None:
    check_array("tokens", tokens, "layers heads")
    check_positive("tokens", tokens)
    if check_finite("length", length) < tokens.max():
        raise ValueError(
            f"length must be at least that of tokens ({tokens.max():.3g}); got {length}"
        )


def _check_largest(largest: Mapping[str, np.ndarray], printed: Mapping[str, float]) -> None:
    check_named("largest", largest)
    check_named("printed", printed)
    if list(printed) != list(largest):
        raise ValueError(f"printed must have the names {list(largest)}; got {list(printed)}")
    if len(largest) > len(LOOKS):
        raise ValueError(f"largest must hold at most {len(LOOKS)} tables; got {len(largest)}")
    for name, values in largest.items():
        check_array(f"largest[{name!r}]", values, "N")
        if values.min() < 0 or values.max() > 1 + 1e-5:
            ends = f"{values.min():.3g} to {values.max():.3g}"
            raise ValueError(f"largest[{name!r}] must lie in 0 to 1; got {ends}")
        check_finite(f"printed[{name!r}]", printed[name])

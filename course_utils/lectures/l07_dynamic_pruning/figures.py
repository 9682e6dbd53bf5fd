"""Static figures of lecture 07."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from course_utils.checks import check_finite
from course_utils.explorers.checks import check_array, check_named, check_positive
from course_utils.explorers.style import (
    BLUE,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    YELLOW,
    course_style,
    new_figure,
)

Panels = Mapping[str, Mapping[str, np.ndarray]]
LOOKS = ((BLUE, "o-"), (ORANGE, "s--"), (PURPLE, "v:"), (YELLOW, "^-."))
MOST_PANELS = 3
MOST_ROWS = 16
TICKS = np.array([1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01])


def draw_pruning_curves(sparsities: np.ndarray, panels: Panels, guess: float) -> Figure:
    """Accuracy against the share of weights that is gone, by each rule, a panel for each net.

    Lines are medians of the models, bands all of them. The axis stretches towards 1, where
    networks break: each step to the right halves what is left.

    Args:
        sparsities: (sparsities,) from 0 to below 1, rising.
        panels: title → rule → (models, sparsities) accuracies, up to three panels of up to four
            rules; the rules have the same names everywhere.
        guess: the accuracy of guessing, as a dotted line.

    Raises:
        TypeError, ValueError: when an array is not as said, or `guess` is not from 0 to 1.
    """
    _check_curves(sparsities, panels, guess)
    figure = new_figure(8.0, 3.7)
    with course_style():
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        figure.subplots_adjust(left=0.09, right=0.985, bottom=0.155, top=0.825, wspace=0.16)
        left_over = 1 - sparsities
        for axes, (title, curves) in zip(grid, panels.items(), strict=True):
            for table, (colour, look) in zip(curves.values(), LOOKS, strict=False):
                _draw_band(axes, left_over, table, colour, look)
            axes.axhline(guess, color=MUTED, linestyle=":", linewidth=1.4)
            axes.set(title=title, xscale="log", ylim=(0, 1.03), xlabel="weights that are left")
            axes.set_xlim(1.08, left_over[-1] / 1.08)
            ticks = TICKS[0.99 * left_over[-1] < TICKS]
            axes.set_xticks(ticks, [f"{share:.0%}" for share in ticks])
            axes.xaxis.set_minor_locator(NullLocator())
            axes.grid(axis="y")
        grid[0].set_ylabel("accuracy")
        grid[0].annotate(
            "guessing", (0, guess), (4, 3), xycoords=("axes fraction", "data"), color=MUTED,
            textcoords="offset points", fontsize=10,
        )  # fmt: skip
        rules = next(iter(panels.values()))
        figure.legend(
            grid[0].lines[: len(rules)], list(rules), loc="upper center", ncols=4, borderaxespad=0.2
        )
    return figure


def describe_pruning_curves(sparsities: np.ndarray, panels: Panels, guess: float) -> str:
    """The words of `draw_pruning_curves`: how much each rule can take and lose 0.05 at most."""
    _check_curves(sparsities, panels, guess)
    parts = []
    for title, curves in panels.items():
        found = []
        for rule, table in curves.items():
            middle = np.median(table, axis=0)
            fine = np.flatnonzero(middle >= middle[0] - 0.05)
            found.append(f"{rule} {sparsities[_first_run(fine)]:.0%}, {middle[-1]:.2f} at the end")
        parts.append(f"{title}: {'; '.join(found)}")
    models = len(next(iter(next(iter(panels.values())).values())))
    return (
        "Accuracy against the share of weights that is left, median of "
        f"{_count(models, 'model')}, guessing gives {guess:.2f}. How much may go before 0.05 of "
        f"the accuracy is lost, and what is left of it at {sparsities[-1]:.0%}: "
        f"{'. '.join(parts)}."
    )


def _first_run(places: np.ndarray) -> int:
    """The end of the run of whole numbers that begins at 0."""
    return int((places == np.arange(len(places))).sum()) - 1


def draw_expert_loads(shares: Mapping[str, np.ndarray]) -> Figure:
    """The share of the tokens that each expert takes, a bar for each run, largest first.

    Dashed lines stand where the bars would be cut if all experts took equal shares.

    Args:
        shares: way of balancing → (seeds, experts) shares; each row sums to 1. At most sixteen
            rows in all, of the same number of experts.

    Raises:
        TypeError, ValueError: when a table is not as said.
    """
    _check_shares(shares)
    tables = {name: np.sort(table, axis=1)[:, ::-1] for name, table in shares.items()}
    rows, experts = sum(map(len, tables.values())), next(iter(tables.values())).shape[1]
    gaps = 0.5 * (len(tables) - 1)
    height = 0.29 * (rows + gaps) + 0.85
    figure = new_figure(8.0, height)
    with course_style():
        left = 0.03 + 0.0125 * max(len(name) for name in tables)
        axes = figure.add_axes((left, 0.56 / height, 0.96 - left, 1 - 0.85 / height))
        names, start = [], 0.0
        for name, table in tables.items():
            places = start + np.arange(len(table))
            for rank in range(experts):
                axes.barh(
                    places, table[:, rank], left=table[:, :rank].sum(axis=1), height=0.84,
                    color=BLUE, alpha=0.95 - 0.75 * rank / experts, edgecolor="white",
                )  # fmt: skip
            names.append((places.mean(), name))
            start = places[-1] + 1.5
        for cut in range(1, experts):
            axes.axvline(cut / experts, color=INK, linestyle="--", linewidth=1.4)
        axes.set(xlim=(0, 1), ylim=(rows + gaps - 0.5, -0.5))
        axes.set_xlabel("share of the tokens, each expert's part beside the next")
        axes.set_yticks([place for place, _ in names], [name for _, name in names])
        axes.tick_params(axis="y", length=0)
    return figure


def describe_expert_loads(shares: Mapping[str, np.ndarray]) -> str:
    """The words of `draw_expert_loads`, which refuses the same input."""
    _check_shares(shares)
    parts = [
        f"{name}: largest {_spread(table.max(axis=1))}, smallest {_spread(table.min(axis=1))}"
        for name, table in shares.items()
    ]
    runs, experts = next(iter(shares.values())).shape
    return (
        f"Share of the tokens that each of {experts} experts takes, {_count(runs, 'run')} each; "
        f"equal would be {1 / experts:.2f}. {'. '.join(parts)}."
    )


def draw_rank_losses(
    learned: np.ndarray, losses: np.ndarray, ranks: np.ndarray, full: Mapping[str, np.ndarray],
    before: float,
) -> Figure:  # fmt: skip
    """Loss after LoRA of several ranks, beside that of training the weights themselves.

    Args:
        learned: (ranks,) how many numbers were trained, rising.
        losses: (runs, ranks) in nats.
        ranks: (ranks,) whole numbers.
        full: what was trained without LoRA → (runs,) losses, two at most.
        before: the loss without any training, as a dotted line.

    Raises:
        TypeError, ValueError: when an array is not as said.
    """
    _check_ranks(learned, losses, ranks, full, before)
    figure = new_figure(8.0, 3.6)
    with course_style():
        axes = figure.add_axes((0.1, 0.235, 0.655, 0.72))
        axes.axhline(before, color=INK, linestyle=":", linewidth=1.6, label="before")
        _draw_band(axes, learned, losses, BLUE, "o-")
        axes.lines[-1].set_label("LoRA")
        for (name, values), colour in zip(full.items(), (ORANGE, PURPLE), strict=False):
            axes.axhspan(values.min(), values.max(), color=colour, alpha=0.2, linewidth=0)
            axes.axhline(float(np.median(values)), color=colour, linestyle="--", label=name)
        axes.set(xscale="log", ylabel="loss (nats per token)")
        axes.set_xlabel("numbers trained, and the rank")
        axes.set_xticks(
            learned,
            [f"{count:,.0f}\nr = {rank}" for count, rank in zip(learned, ranks, strict=True)],
        )
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def describe_rank_losses(
    learned: np.ndarray, losses: np.ndarray, ranks: np.ndarray, full: Mapping[str, np.ndarray],
    before: float,
) -> str:  # fmt: skip
    """The words of `draw_rank_losses`, which refuses the same input."""
    _check_ranks(learned, losses, ranks, full, before)
    parts = [
        f"rank {rank} ({count:,.0f} numbers) {_spread(column)}"
        for rank, count, column in zip(ranks, learned, losses.T, strict=True)
    ]
    others = [f"{name} {_spread(values)}" for name, values in full.items()]
    return (
        f"Loss after training, median of {_count(len(losses), 'run')}, {before:.2f} before. LoRA "
        f"of {'; '.join(parts)}. Without LoRA: {'; '.join(others)}."
    )


def draw_group_quality(heads: np.ndarray, pooled: np.ndarray, healed: np.ndarray) -> Figure:
    """Loss of a model whose heads were made to share keys and values, before and after healing.

    Args:
        heads: (models,) heads of keys and values, falling; the first model has all of them.
        pooled: (models,) losses in nats just after the heads were averaged.
        healed: (runs, models) losses after a little more training.

    Raises:
        TypeError, ValueError: when an array is not as said.
    """
    _check_groups(heads, pooled, healed)
    figure = new_figure(8.0, 3.5)
    with course_style():
        axes = figure.add_axes((0.1, 0.165, 0.87, 0.79))
        places = np.arange(len(heads))
        for level, colour in ((pooled[0], ORANGE), (np.median(healed[:, 0]), BLUE)):
            axes.axhline(level, color=colour, linestyle=":", linewidth=1.4)
        axes.plot(places, pooled, "s--", color=ORANGE, markersize=8, label="averaged")
        _draw_band(axes, places, healed, BLUE, "o-")
        axes.lines[-1].set_label("… and trained on")
        axes.set(xlabel="heads of keys and values", ylabel="loss (nats per token)")
        axes.set_xticks(places, [f"{count}" for count in heads])
        axes.set_xlim(-0.2, len(heads) - 0.8)
        axes.grid(axis="y")
        axes.legend(loc="upper left")
    return figure


def describe_group_quality(heads: np.ndarray, pooled: np.ndarray, healed: np.ndarray) -> str:
    """The words of `draw_group_quality`, which refuses the same input."""
    _check_groups(heads, pooled, healed)
    parts = [
        f"{_count(int(count), 'head')}: {loss:.2f}, then {_spread(column)}"
        for count, loss, column in zip(heads, pooled, healed.T, strict=True)
    ]
    return (
        "Loss of a model whose query heads share fewer heads of keys and values, just after these "
        f"were averaged, and after more training (median of {_count(len(healed), 'run')}). "
        f"{'; '.join(parts)}."
    )


def _draw_band(axes: Axes, x: np.ndarray, table: np.ndarray, colour: str, look: str) -> None:
    """The median of the rows as a line, all of them as a band."""
    axes.fill_between(x, table.min(0), table.max(0), color=colour, alpha=0.2, linewidth=0)
    axes.plot(x, np.median(table, axis=0), look, color=colour, markersize=6)


def _spread(values: np.ndarray) -> str:
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{np.median(values):.2f} ({values.min():.2f} to {values.max():.2f})"


def _count(number: int, word: str) -> str:
    return f"one {word}" if number == 1 else f"{number} {word}s"


def _check_curves(sparsities: object, panels: object, guess: float) -> None:
    __tracebackhide__ = True
    check_array("sparsities", sparsities, "sparsities")
    assert isinstance(sparsities, np.ndarray)
    if not (sparsities.min() >= 0 and sparsities.max() < 1 and (np.diff(sparsities) > 0).all()):
        raise ValueError(f"sparsities must rise from 0 to below 1; got {sparsities}")
    if not 0 <= check_finite("guess", guess) <= 1:
        raise ValueError(f"guess must lie in 0 to 1; got {guess}")
    check_named("panels", panels)
    assert isinstance(panels, Mapping)
    if len(panels) > MOST_PANELS:
        raise ValueError(f"panels must be at most {MOST_PANELS}; got {len(panels)}")
    first = list(next(iter(panels.values())))
    for title, curves in panels.items():
        name = f"panels[{title!r}]"
        check_named(name, curves)
        if list(curves) != first or len(first) > len(LOOKS):
            raise ValueError(
                f"{name} must have the rules of the first panel, at most {len(LOOKS)}; "
                f"got {list(curves)}"
            )
        for rule, table in curves.items():
            check_array(f"{name}[{rule!r}]", table, "models sparsities")
            _check_columns(f"{name}[{rule!r}]", table, "sparsities", len(sparsities))
            _check_shares_of_one(f"{name}[{rule!r}]", table)


def _check_columns(name: str, table: np.ndarray, other: str, count: int) -> None:
    __tracebackhide__ = True
    if table.shape[-1] != count:
        raise ValueError(
            f"{name} must have as many columns as {other} ({count}); got shape {table.shape}"
        )


def _check_shares_of_one(name: str, table: np.ndarray) -> None:
    __tracebackhide__ = True
    if table.min() < 0 or table.max() > 1:
        raise ValueError(f"{name} must lie in 0 to 1; got {table.min():.3g} to {table.max():.3g}")


def _check_shares(shares: object) -> None:
    __tracebackhide__ = True
    check_named("shares", shares)
    assert isinstance(shares, Mapping)
    experts = None
    for name, table in shares.items():
        check_array(f"shares[{name!r}]", table, "seeds experts")
        experts = experts or table.shape[1]
        _check_columns(f"shares[{name!r}]", table, "the first table", experts)
        _check_shares_of_one(f"shares[{name!r}]", table)
        if abs(table.sum(axis=1) - 1).max() > 1e-4:
            raise ValueError(f"shares[{name!r}] must have rows that sum to 1; got {table.sum(1)}")
    rows = sum(map(len, shares.values()))
    if rows > MOST_ROWS:
        raise ValueError(f"shares must have at most {MOST_ROWS} rows in all; got {rows}")


def _check_ranks(
    learned: object, losses: object, ranks: object, full: object, before: float
) -> None:
    __tracebackhide__ = True
    for name, array, axes in (
        ("learned", learned, "ranks"), ("losses", losses, "runs ranks"), ("ranks", ranks, "ranks"),
    ):  # fmt: skip
        check_array(name, array, axes)
        check_positive(name, array)  # type: ignore
    assert isinstance(learned, np.ndarray)
    for name, array in (("losses", losses), ("ranks", ranks)):
        _check_columns(name, array, "learned", len(learned))  # type: ignore
    check_finite("before", before)
    check_named("full", full)
    assert isinstance(full, Mapping)
    if len(full) > 2:
        raise ValueError(f"full must hold at most 2; got {len(full)}")
    for name, values in full.items():
        check_array(f"full[{name!r}]", values, "runs")


def _check_groups(heads: object, pooled: object, healed: object) -> None:
    __tracebackhide__ = True
    for name, array, axes in (
        ("heads", heads, "models"), ("pooled", pooled, "models"), ("healed", healed, "runs models"),
    ):  # fmt: skip
        check_array(name, array, axes)
        check_positive(name, array)  # type: ignore
    assert isinstance(heads, np.ndarray)
    if not (np.diff(heads) < 0).all():
        raise ValueError(f"heads must fall; got {heads}")
    for name, array in (("pooled", pooled), ("healed", healed)):
        _check_columns(name, array, "heads", len(heads))  # type: ignore

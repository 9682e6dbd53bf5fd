"""Lecture 07's figures: medians are medians, bands are all runs, nothing is cut off."""

import numpy as np
import pytest

from course_utils.lectures.l07_dynamic_pruning import figures as figures_07
from tests.explorers.test_viz_figures import overhang

RANDOM = np.random.default_rng(7)
SPARSITIES = np.array([0, 0.5, 0.8, 0.9, 0.98])
FALL = np.array([0.97, 0.95, 0.9, 0.5, 0.1])
RULES = {
    "magnitude": FALL + RANDOM.uniform(-0.02, 0.02, (3, 5)),
    "brain damage": FALL + RANDOM.uniform(-0.02, 0.02, (3, 5)),
    "random": np.array([[0.97, 0.4, 0.2, 0.1, 0.1]]).repeat(3, 0),
}
SHARES = {
    "nothing": np.array([[0.0, 0.02, 0.98, 0.0], [0.1, 0.9, 0.0, 0.0], [0.0, 0.3, 0.03, 0.67]]),
    "balance loss": np.array([[0.3, 0.2, 0.28, 0.22]]).repeat(3, 0),
}
LEARNED = np.array([6_912, 27_648, 110_592, 442_368])
RANKS = np.array([1, 4, 16, 64])
LOSSES = np.array([4.5, 4.3, 4.2, 4.1]) + RANDOM.uniform(-0.05, 0.05, (3, 4))
FULL = {"the matrices": np.array([4.04, 4.1, 4.0]), "everything": np.array([3.4, 3.5, 3.45])}
HEADS, POOLED = np.array([4, 2, 1]), np.array([3.6, 3.9, 4.3])
HEALED = np.array([[3.5, 3.6, 3.8], [3.52, 3.63, 3.9], [3.49, 3.61, 3.85]])
FIGURES = {
    "pruning": lambda: figures_07.draw_pruning_curves(SPARSITIES, {"as trained": RULES}, 0.1),
    "three panels": lambda: figures_07.draw_pruning_curves(
        SPARSITIES, dict.fromkeys(("as trained", "units rescaled", "trained again"), RULES), 0.1
    ),
    "loads": lambda: figures_07.draw_expert_loads(SHARES),
    "one run": lambda: figures_07.draw_expert_loads({"nothing": SHARES["nothing"][:1]}),
    "ranks": lambda: figures_07.draw_rank_losses(LEARNED, LOSSES, RANKS, FULL, 6.1),
    "groups": lambda: figures_07.draw_group_quality(HEADS, POOLED, HEALED),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name]()) <= 1


def test_pruning_is_drawn_by_what_is_left():
    axes = FIGURES["pruning"]().axes[0]
    for line, table in zip(axes.lines, RULES.values(), strict=False):
        np.testing.assert_allclose(line.get_xdata(), 1 - SPARSITIES)
        np.testing.assert_allclose(line.get_ydata(), np.median(table, axis=0))
    band = axes.collections[0].get_paths()[0].vertices
    at_start = band[band[:, 0] == 1][:, 1]
    first = RULES["magnitude"][:, 0]
    assert (at_start.min(), at_start.max()) == pytest.approx((first.min(), first.max()))
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert labels == ["100%", "50%", "20%", "10%", "5%", "2%"]
    left, right = axes.get_xlim()
    assert left > 1 > 0.02 > right, "what is left falls to the right"


def test_the_words_of_pruning_say_how_much_may_go():
    words = figures_07.describe_pruning_curves(SPARSITIES, {"as trained": RULES}, 0.1)
    assert "median of 3 models" in words and "guessing gives 0.10" in words
    assert "random 0%, 0.10 at the end" in words
    exact = {"rule": np.array([[0.9, 0.86, 0.5, 0.9, 0.2]])}
    words = figures_07.describe_pruning_curves(SPARSITIES, {"net": exact}, 0.1)
    assert "one model" in words and "net: rule 50%, 0.20 at the end" in words


def test_a_bar_holds_the_shares_of_a_run_from_the_largest_down():
    axes = FIGURES["loads"]().axes[0]
    bars = np.array([(bar.get_y(), bar.get_x(), bar.get_width()) for bar in axes.patches])
    rows = np.unique(bars[:, 0])
    tables = np.concatenate(list(SHARES.values()))
    assert len(rows) == len(tables)
    for row, shares in zip(rows, tables, strict=True):
        parts = bars[bars[:, 0] == row]
        np.testing.assert_allclose(parts[:, 2], np.sort(shares)[::-1])
        np.testing.assert_allclose(parts[1:, 1], np.sort(shares)[::-1].cumsum()[:-1])
    assert [line.get_xdata()[0] for line in axes.lines] == [0.25, 0.5, 0.75]
    words = figures_07.describe_expert_loads(SHARES)
    assert "each of 4 experts takes, 3 runs each; equal would be 0.25" in words
    assert "nothing: largest 0.90 (0.67 to 0.98), smallest 0.00 (0.00 to 0.00)" in words


def test_ranks_stand_beside_what_was_trained_in_full():
    axes = FIGURES["ranks"]().axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    assert list(lines) == ["before", "LoRA", "the matrices", "everything"]
    np.testing.assert_allclose(lines["LoRA"].get_ydata(), np.median(LOSSES, axis=0))
    assert lines["everything"].get_ydata() == pytest.approx([3.45, 3.45])
    assert axes.get_xticklabels()[1].get_text() == "27,648\nr = 4"
    words = figures_07.describe_rank_losses(LEARNED, LOSSES, RANKS, FULL, 6.1)
    assert (
        f"rank 64 (442,368 numbers) {np.median(LOSSES[:, 3]):.2f} (" in words
        and "6.10 before" in words
    )
    assert "everything 3.45 (3.40 to 3.50)" in words


def test_groups_are_drawn_from_all_heads_to_one():
    axes = FIGURES["groups"]().axes[0]
    before, after = axes.lines[2:]
    assert before.get_ydata().tolist() == POOLED.tolist()
    assert after.get_ydata().tolist() == [3.5, 3.61, 3.85]
    assert [axes.lines[at].get_ydata()[0] for at in (0, 1)] == [3.6, 3.5]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["4", "2", "1"]
    words = figures_07.describe_group_quality(HEADS, POOLED, HEALED)
    assert "one head: 4.30, then 3.85 (3.80 to 3.90)" in words
    assert "median of one run" in figures_07.describe_group_quality(HEADS, POOLED, HEALED[:1])

"""Lecture 07's figures: medians are medians, bands are all runs, and the words say so."""

import numpy as np
import pytest

from course_utils.lectures.l07_dynamic_pruning.figures import (
    draw_expert_loads,
    draw_largest_shares,
    draw_pruning_curves,
)
from tests.support_figures import overhang

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

STEPS = np.array([0, 25, 50])
CURVES = {
    name: np.array([[0.9, 1.0, 0.7], [0.4, 0.3, 0.5], [0.6, 0.6, 0.6]])
    for name in ("a shared coordinate", "the same, weights from 0", "a bias", "neither")
}


def test_nothing_is_cut_off():
    nets = dict.fromkeys(("as trained", "units rescaled", "trained again"), RULES)
    for picture in (
        draw_pruning_curves(SPARSITIES, nets, 0.1),
        draw_expert_loads(SHARES),
        draw_expert_loads({"nothing": SHARES["nothing"][:1]}),
        draw_largest_shares(STEPS, CURVES, 4),
    ):
        assert overhang(picture.figure) <= 1


def test_pruning_against_what_is_left():
    axes = draw_pruning_curves(SPARSITIES, {"as trained": RULES}, 0.1).figure.axes[0]
    for line, table in zip(axes.lines, RULES.values(), strict=False):
        np.testing.assert_allclose(line.get_xdata(), 1 - SPARSITIES)
        np.testing.assert_allclose(line.get_ydata(), np.median(table, axis=0))
    band = axes.collections[0].get_paths()[0].vertices
    at_start = band[band[:, 0] == 1][:, 1]
    first = RULES["magnitude"][:, 0]
    assert (at_start.min(), at_start.max()) == pytest.approx((first.min(), first.max()))
    ticks = zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)
    labels = {name.get_text(): at for name, at in ticks}
    assert list(labels) == ["0", "50", "80", "90", "98"]
    assert labels["80"] == pytest.approx(0.2), "what is set to 0 is what is not left"
    names = {each.get_text(): each.xy[1] for each in axes.texts if each.get_text() in RULES}
    assert set(names) == set(RULES)
    assert np.diff(sorted(names.values())).min() > 0.07, "names do not lie on each other"
    left, right = axes.get_xlim()
    assert left > 1 > 0.02 > right, "what is left falls to the right"


def test_pruning_in_words():
    words = draw_pruning_curves(SPARSITIES, {"as trained": RULES}, 0.1).words
    assert "median of 3 models" in words and "guessing gives 0.10" in words
    assert "random 0%, 0.10 at the end" in words
    # What is read right again after it has been lost does not count.
    exact = {"rule": np.array([[0.9, 0.86, 0.5, 0.9, 0.2]])}
    words = draw_pruning_curves(SPARSITIES, {"net": exact}, 0.1).words
    assert "one model" in words and "net: rule 50%, 0.20 at the end" in words


def test_loads_in_the_order_of_the_experts():
    picture = draw_expert_loads(SHARES)
    axes = picture.figure.axes[0]
    bars = np.array([(bar.get_y(), bar.get_x(), bar.get_width()) for bar in axes.patches])
    rows = np.unique(bars[:, 0])
    for row, shares in zip(rows, np.concatenate(list(SHARES.values())), strict=True):
        parts = bars[bars[:, 0] == row]
        np.testing.assert_allclose(parts[:, 2], shares)
        np.testing.assert_allclose(parts[1:, 1], shares.cumsum()[:-1], atol=1e-12)
    words = [each.get_text() for each in axes.texts]
    assert words.count("1, 4: nothing") == 1 and words.count("3, 4: nothing") == 1
    assert words.count("3") == 1 + 3, "a part of 0.03 is too thin for its number"
    assert [line.get_xdata()[0] for line in axes.lines] == [0.25, 0.5, 0.75]
    assert "each of 4 experts takes, 3 runs each; equal would be 0.25" in picture.words
    assert "nothing: largest 0.90 (0.67 to 0.98), smallest 0.00 (0.00 to 0.00)" in picture.words


def test_largest_shares_over_the_steps():
    picture = draw_largest_shares(STEPS, CURVES, 4)
    for axes, table in zip(picture.figure.axes, CURVES.values(), strict=True):
        *runs, equal = axes.lines
        assert equal.get_ydata()[0] == 0.25
        for line, run in zip(runs, table, strict=True):
            np.testing.assert_allclose(line.get_xydata(), np.stack([STEPS, run], axis=1))
    assert "neither: 0.60 (0.40 to 0.90) at the start, 0.60 (0.50 to 1.00) at most" in picture.words

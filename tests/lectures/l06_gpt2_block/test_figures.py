"""Lecture 06's figures: what is drawn is what the numbers say."""

import math

import numpy as np
import pytest
import torch

from course_utils.explorers.style import MAGENTA, TEAL
from course_utils.lectures.l06_gpt2_block import figures
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import fit_power_law
from tests.support_figures import overhang

RANDOM = np.random.default_rng(6)
DEPTHS = (2, 6, 48)
POST = {d: 0.5 * np.exp(-0.1 * np.arange(d)[::-1]) * np.ones((5, 1)) for d in DEPTHS}
PRE = {d: np.linspace(2, 1, d) / d**0.5 * RANDOM.uniform(0.9, 1.1, (5, 1)) for d in DEPTHS}
NORMS = {"post-LN": POST, "pre-LN": PRE}
HALF = 7
STRIPE = np.tri(2 * HALF) / np.arange(1, 2 * HALF + 1)[:, None]
STRIPE[HALF:] *= 0.2
for _query in range(HALF, 2 * HALF):
    STRIPE[_query, _query - HALF + 1] += 0.8
SCORES = np.array([[0.01, 0.05, 0.1], [0.2, 0.93, 0.0]])
WHOLE = np.array([0.1, 0.2, 0.4])
ROLES = {"whole": WHOLE, "without layer 1, head 1": WHOLE + 3, "without layer 0": 5 * WHOLE}
TOKENS = [7, 2, 9, 4, 11, 0, 15, 4, 11, 0, 15, 7, 2, 9]
LEVELS = {"order unknown": 1.22, "guess": 2.77}
RUNS = {"two": RANDOM.uniform(0, 2, (3, 60)), "one": RANDOM.uniform(2, 3, (2, 60))}
SIZES = np.array([7_001.0, 31_013.0, 120_011.0, 676_992.0])
LOSSES = 8 * SIZES**-0.08 * RANDOM.normal(1, 0.01, (3, 4))
LAW = fit_power_law(SIZES.astype(int).tolist(), torch.from_numpy(LOSSES))
FIGURES = {
    "norms": figures.draw_gradient_norms(NORMS),
    "induction": figures.draw_induction(STRIPE, SCORES, 1, 1, tokens=TOKENS),
    "ablation": figures.draw_ablation(ROLES, LEVELS),
    "runs": figures.draw_runs(RUNS, LEVELS),
    "law": figures.draw_power_law(SIZES, LOSSES, LAW),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name].figure) <= 1


def test_norms_are_medians_of_the_seeds():
    post, pre = FIGURES["norms"].figure.axes
    for axes, tables in ((post, POST), (pre, PRE)):
        stacks, ends, (joined,) = axes.lines[:6:2], axes.lines[1:6:2], axes.lines[6:]
        for line, end, (depth, table) in zip(stacks, ends, tables.items(), strict=True):
            assert end.get_xydata().tolist() == [[depth, np.median(table[:, -1])]]
            assert line.get_xdata().tolist() == list(range(1, depth + 1))
            np.testing.assert_allclose(line.get_ydata(), np.median(table, axis=0))
        assert [text.get_text() for text in axes.texts] == [str(depth) for depth in DEPTHS]
        assert joined.get_xdata().tolist() == list(DEPTHS)
    seeds = pre.collections[2].get_paths()[0].vertices[:, 1]
    assert seeds.tolist() == [PRE[48][:, -1].min(), PRE[48][:, -1].max()]
    words = FIGURES["norms"].words
    assert "median of 5 seeds" in words
    assert f"48: {math.exp(4.7):.3g}" in words  # 47 steps of a tenth from the first to the last
    assert "over the first's: 2: 0.5, 6: 0.5, 48: 0.5" in words


def test_lines_hold_an_induction_heads_keys():
    axes, scores = FIGURES["induction"].figure.axes[:2]
    left, right = (line.get_xydata() for line in axes.lines[2:])
    for reader in range(HALF, 2 * HALF):
        inside = [
            read for read in range(2 * HALF)
            if np.interp(reader, left[:, 1], left[:, 0]) < read
            < np.interp(reader, right[:, 1], right[:, 0])
        ]  # fmt: skip
        assert inside == [reader - HALF + 1]
    for side in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert [each.get_text() for each in side] == [str(token) for token in TOKENS]
    assert [text.get_text() for text in scores.texts] == [f"{x:.2f}" for x in SCORES.ravel()]
    assert scores.patches[0].get_xy() == (0.5, 0.5)
    words = FIGURES["induction"].words
    stripe = np.mean([STRIPE[r, r - HALF + 1] for r in range(HALF, 2 * HALF)])
    assert f"gives {stripe:.2f} of its weight" in words and "the score is 0.93" in words
    assert "the other heads: 0.00 to 0.20" in words


def test_magenta_above_one_nat():
    axes = FIGURES["ablation"].figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.2, 3.2, 1])
    dots = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_color() for line in dots] == [TEAL, MAGENTA, TEAL]
    levels = {line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"}
    assert levels == set(LEVELS.values())
    assert dots[2].get_xdata().tolist() == (5 * WHOLE).tolist()
    assert "without layer 1, head 1 3.20 (3.10 to 3.40)" in FIGURES["ablation"].words


def test_each_run_is_a_line():
    *runs, low, high = FIGURES["runs"].figure.axes[0].lines
    assert [set(each.get_ydata()) for each in (low, high)] == [{1.22}, {2.77}] and len(runs) == 5
    for line, run in zip(runs, [*RUNS["two"], *RUNS["one"]], strict=True):
        assert line.get_ydata()[-1] == pytest.approx(run[-20:].mean())
        assert line.get_xdata()[[0, -1]].tolist() == [20, 60]


def test_line_and_band_are_the_law():
    axes = FIGURES["law"].figure.axes[0]
    line, *dots = axes.lines
    for size, loss in line.get_xydata()[::33]:
        assert loss == pytest.approx(LAW.constant * size**-LAW.exponent)
    assert [dot.get_ydata().tolist() for dot in dots] == LOSSES.tolist()
    words = FIGURES["law"].words
    assert f"676,992: {LOSSES[:, -1].mean():.3f}" in words and str(LAW) in words


def test_the_band_has_the_true_line_19_times_in_20():
    """Losses scattered about a known line: at each size its band has the line as often as said."""
    random, x, hits = np.random.default_rng(5), np.array([5e3, 5e4, 2e5]), []
    truth = 8 * x**-0.08
    for _ in range(400):
        losses = 8 * SIZES**-0.08 * np.exp(random.normal(0, 0.03, (3, 4)))
        law = fit_power_law(SIZES.astype(int).tolist(), torch.from_numpy(losses))
        low, high = figures.line_band(x, SIZES, losses.size, law)
        hits.append((low <= truth) & (truth <= high))
    assert np.abs(np.mean(hits, axis=0) - 0.95).max() < 0.035

"""Lecture 06's figures: what is drawn is what the numbers say."""

import math

import numpy as np
import pytest
import torch

from course_utils.explorers.style import BLUE, ORANGE
from course_utils.lectures.l06_gpt2_block import figures
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import fit_power_law
from tests.explorers.support_explorers import overhang

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
RUNS = {"two": RANDOM.uniform(0, 2, (3, 60)), "one": RANDOM.uniform(2, 3, (2, 60))}
SIZES = np.array([7_001.0, 31_013.0, 120_011.0, 676_992.0])
LOSSES = 8 * SIZES**-0.08 * RANDOM.normal(1, 0.01, (3, 4))
LAW = fit_power_law(SIZES.astype(int).tolist(), torch.from_numpy(LOSSES))
FIGURES = {
    "norms": figures.draw_gradient_norms(NORMS),
    "induction": figures.draw_induction(STRIPE, SCORES, 1, 1),
    "ablation": figures.draw_ablation(ROLES),
    "runs": figures.draw_runs(RUNS, 1.22, "order unknown"),
    "law": figures.draw_power_law(SIZES, LOSSES, LAW),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name].figure) <= 1


def test_norms_are_medians_of_the_seeds():
    post, pre = FIGURES["norms"].figure.axes
    for axes, tables in ((post, POST), (pre, PRE)):
        for line, (depth, table) in zip(axes.lines, tables.items(), strict=True):
            assert line.get_xdata().tolist() == list(range(1, depth + 1))
            np.testing.assert_allclose(line.get_ydata(), np.median(table, axis=0))
        assert [text.get_text() for text in axes.texts] == [str(depth) for depth in DEPTHS]
    band = pre.collections[2].get_paths()[0].vertices
    first = band[band[:, 0] == 1][:, 1]
    assert first.min() == pytest.approx(PRE[48][:, 0].min())
    assert first.max() == pytest.approx(PRE[48][:, 0].max())
    words = FIGURES["norms"].words
    assert "median of 5 seeds" in words
    assert f"48: {math.exp(4.7):.3g}" in words  # 47 steps of a tenth from the first to the last
    assert "over the first's: 2: 0.5, 6: 0.5, 48: 0.5" in words


def test_lines_hold_an_induction_heads_keys():
    axes, scores = FIGURES["induction"].figure.axes[:2]
    left, right = (line.get_xydata() for line in axes.lines)
    for reader in range(HALF, 2 * HALF):
        inside = [
            read for read in range(2 * HALF)
            if np.interp(reader, left[:, 1], left[:, 0]) < read
            < np.interp(reader, right[:, 1], right[:, 0])
        ]  # fmt: skip
        assert inside == [reader - HALF + 1]
    assert [text.get_text() for text in scores.texts] == [f"{x:.2f}" for x in SCORES.ravel()]
    assert scores.patches[0].get_xy() == (0.5, 0.5)
    words = FIGURES["induction"].words
    stripe = np.mean([STRIPE[r, r - HALF + 1] for r in range(HALF, 2 * HALF)])
    assert f"gives {stripe:.2f} of its weight" in words and "the score is 0.93" in words
    assert "the other heads: 0.00 to 0.20" in words


def test_orange_above_one_nat():
    axes = FIGURES["ablation"].figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([0.2, 3.2, 1])
    assert [line.get_color() for line in axes.lines] == [BLUE, ORANGE, BLUE]
    assert axes.lines[2].get_xdata().tolist() == (5 * WHOLE).tolist()
    assert "without layer 1, head 1 3.20 (3.10 to 3.40)" in FIGURES["ablation"].words


def test_each_run_is_a_line():
    level, *runs = FIGURES["runs"].figure.axes[0].lines
    assert set(level.get_ydata()) == {1.22} and len(runs) == 5
    for line, run in zip(runs, [*RUNS["two"], *RUNS["one"]], strict=True):
        assert line.get_ydata()[-1] == pytest.approx(run[-20:].mean())
        assert line.get_xdata()[[0, -1]].tolist() == [20, 60]


def test_line_and_band_are_the_law():
    axes = FIGURES["law"].figure.axes[0]
    line, *dots = axes.lines
    for size, loss in line.get_xydata()[::33]:
        assert loss == pytest.approx(LAW.constant * size**-LAW.exponent)
    assert [dot.get_ydata().tolist() for dot in dots] == LOSSES.tolist()
    middle = math.exp(np.log(SIZES).mean())
    band = axes.collections[0].get_paths()[0].vertices
    at_end = band[np.isclose(band[:, 0], SIZES[-1] * 1.25)][:, 1]
    low, high = LAW.interval
    ends = [LAW.loss(middle) * (SIZES[-1] * 1.25 / middle) ** -end for end in (high, low)]
    assert (at_end.min(), at_end.max()) == pytest.approx(tuple(ends))
    words = FIGURES["law"].words
    assert f"676,992: {LOSSES[:, -1].mean():.3f}" in words and str(LAW) in words

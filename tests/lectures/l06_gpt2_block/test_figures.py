"""Lecture 06's scaling-law explorer and its figures: what is drawn is what the numbers say."""

import math

import numpy as np
import pytest
import torch

from course_utils.explorers.style import BLUE, ORANGE, new_figure
from course_utils.lectures.l06_gpt2_block import figures as figures_06
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import (
    LAWS,
    chinchilla_loss,
    fit_power_law,
)
from course_utils.lectures.l06_gpt2_block.explorers.scaling_laws import (
    MODELS,
    ROOM,
    SIZES,
    TOKENS,
    ScalingLaws,
    said,
)
from tests.explorers.support_explorers import press
from tests.explorers.support_explorers import overhang

# The explorer


@pytest.fixture(scope="module")
def scaling():
    made = ScalingLaws()
    made.widget()
    return made


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
@pytest.mark.parametrize("ratio", [0.1, 20, 5000])
def test_the_budget_is_spent_as_it_is_said(scaling, power, ratio):
    state = scaling.compute(compute=power, ratio=ratio)
    assert 6 * state.parameters * state.tokens == pytest.approx(10**power)
    assert state.tokens / state.parameters == pytest.approx(ratio)
    assert state.loss == chinchilla_loss(state.parameters, state.tokens)
    assert 6 * state.best_sizes * state.best_tokens == pytest.approx(np.full(3, 10**power))


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
def test_the_dots_lie_in_the_valleys_of_their_curves(scaling, power):
    """The least loss on a fine grid of sizes, by the two equations with their printed numbers."""
    state = scaling.compute(compute=power, ratio=20)
    N = np.geomspace(*SIZES, 200_001)
    D = 10**power / 6 / N
    printed = (1.69 + 406.4 / N**0.34 + 410.7 / D**0.28, 1.8172 + 482.01 / N**0.3478
               + 2085.43 / D**0.3658)  # fmt: skip
    for at, losses in zip((1, 2), printed, strict=True):
        assert state.best_losses[at] == pytest.approx(losses.min(), rel=1e-9)
        assert state.best_sizes[at] == pytest.approx(N[losses.argmin()], rel=1e-3)
    drawn = np.interp(np.log(state.sizes), np.log(N), printed[0])
    np.testing.assert_allclose(state.losses, drawn, rtol=1e-5)
    assert state.loss_kaplan > state.best_losses[1]


def test_the_valleys_are_in_the_picture_at_every_compute(scaling):
    for value in np.linspace(18, 26, 17).round(1):
        scaling.set(compute=float(value), ratio=20)
        low, high = scaling._losses.get_ylim()
        assert high - low == pytest.approx(ROOM)
        assert low <= scaling.state.best_losses[1:].min()
        for law in LAWS:
            ((x, y),) = scaling._valleys[law].get_xydata()
            assert low <= y <= high and SIZES[0] < x < SIZES[1]
            ((x, y),) = scaling._choices[law].get_xydata()
            assert SIZES[0] < x < SIZES[1] and TOKENS[0] < y < TOKENS[1]
            # What is optimal lies on the line of its law, and on that of the budget.
            line = np.log(scaling._paths[law].get_xydata())
            on_line = np.interp(np.log(x), *line.T)
            assert on_line == pytest.approx(np.log(y), abs=1e-6)


def test_a_model_stands_where_it_was_trained(scaling):
    for name, model in MODELS.items():
        scaling.set(**model.at)
        # The sliders step by a tenth of a power of ten, and by factors of 2 to 2.5.
        assert scaling.state.compute == pytest.approx(6 * model.parameters * model.tokens, rel=0.13)
        assert scaling.state.parameters == pytest.approx(model.parameters, rel=0.35), name


def test_gpt3_was_trained_as_kaplan_advises_and_chinchilla_does_not(scaling):
    press(scaling, "GPT-3")
    state = scaling.state
    assert state.best_sizes[0] == pytest.approx(175e9, rel=0.15)
    assert state.best_tokens[0] == pytest.approx(300e9, rel=0.15)
    kaplan, chinchilla, again = state.best_tokens / state.best_sizes
    assert kaplan < 3 and 15 < again < 25 and chinchilla > 80
    assert "162 billion parameters and 325 billion tokens (black)" in scaling.words
    assert "18.7 for each" in scaling.words and "87.4 for each" in scaling.words


def test_a_loss_above_the_picture_is_said_to_be(scaling):
    scaling.set(compute=18.0, ratio=5000)
    assert "(above the picture)" in scaling.words
    scaling.set(ratio=20)
    assert "above the picture" not in scaling.words


def test_numbers_are_said_in_words():
    numbers = (29e6, 999.96e6, 162.27e9, 1e12, 1.4e15, 12345.6)
    assert [said(number) for number in numbers] == [
        "29 million", "1 billion", "162 billion", "1 trillion", "1,400 trillion", "12,346"
    ]  # fmt: skip


def test_the_explorer_cuts_nothing_off(monkeypatch):
    drawn = []
    monkeypatch.setattr(
        "course_utils.explorers.explorer.new_figure",
        lambda *size: drawn.append(new_figure(*size)) or drawn[0],
    )
    ScalingLaws().png()
    for artist in drawn[0].findobj(lambda each: each.get_animated()):
        artist.set_animated(False)
    assert overhang(drawn[0]) <= 1


# The figures

RANDOM = np.random.default_rng(6)
DEPTHS = (2, 6, 48)
POST = {d: 0.5 * np.exp(-0.1 * np.arange(d)[::-1]) * np.ones((5, 1)) for d in DEPTHS}
PRE = {d: np.linspace(2, 1, d) / d**0.5 * RANDOM.uniform(0.9, 1.1, (5, 1)) for d in DEPTHS}
NORMS = {"post-LN": POST, "pre-LN": PRE}
HALF = 7
STRIPE = np.tri(2 * HALF) / np.arange(1, 2 * HALF + 1)[:, None]
STRIPE[HALF:] *= 0.2
for _reader in range(HALF, 2 * HALF):
    STRIPE[_reader, _reader - HALF + 1] += 0.8
SCORES = np.array([[0.01, 0.05, 0.1], [0.2, 0.93, 0.0]])
WHOLE = np.array([2.0, 2.2, 2.4])
GAINS = {"whole": WHOLE, "without layer 1, head 1": 0 * WHOLE - 0.11, "without layer 0": WHOLE / 2,
         "without layer 1, head 0": 0.99 * WHOLE}  # fmt: skip
SIZES_HERE = np.array([7_001.0, 31_013.0, 120_011.0, 676_992.0])
LOSSES = 8 * SIZES_HERE**-0.08 * RANDOM.normal(1, 0.01, (3, 4))
LAW = fit_power_law(SIZES_HERE.astype(int).tolist(), torch.from_numpy(LOSSES))
FIGURES = {
    "norms": lambda: figures_06.draw_gradient_norms(NORMS),
    "one panel": lambda: figures_06.draw_gradient_norms({"post-LN": POST}),
    "induction": lambda: figures_06.draw_induction(STRIPE, SCORES, 1, 1),
    "one head": lambda: figures_06.draw_induction(STRIPE, SCORES[1:, 1:2], 0, 0),
    "ablation": lambda: figures_06.draw_ablation(GAINS),
    "sixteen rows": lambda: figures_06.draw_ablation(
        {f"without layer 11, head {n}": WHOLE for n in range(16)}
    ),
    "law": lambda: figures_06.draw_power_law(SIZES_HERE, LOSSES, LAW),
}


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_cut_off(name):
    assert overhang(FIGURES[name]()) <= 1


def test_norms_are_medians_over_the_blocks_of_each_depth():
    post, pre = FIGURES["norms"]().axes
    for axes, tables in ((post, POST), (pre, PRE)):
        for line, (depth, table) in zip(axes.lines, tables.items(), strict=True):
            assert line.get_xdata().tolist() == list(range(1, depth + 1))
            np.testing.assert_allclose(line.get_ydata(), np.median(table, axis=0))
        assert [text.get_text() for text in axes.texts] == [str(depth) for depth in DEPTHS]
    band = pre.collections[2].get_paths()[0].vertices
    first = band[band[:, 0] == 1][:, 1]
    assert first.min() == pytest.approx(PRE[48][:, 0].min())
    assert first.max() == pytest.approx(PRE[48][:, 0].max())
    words = figures_06.describe_gradient_norms(NORMS)
    assert "median of 5 seeds" in words
    assert f"48: {math.exp(4.7):.3g}" in words  # 47 steps of a tenth from the first to the last
    assert "over the first's: 2: 0.5, 6: 0.5, 48: 0.5" in words


def test_the_lines_hold_the_stripe_of_an_induction_head():
    axes, scores = FIGURES["induction"]().axes[:2]
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
    words = figures_06.describe_induction(STRIPE, SCORES, 1, 1)
    stripe = np.mean([STRIPE[r, r - HALF + 1] for r in range(HALF, 2 * HALF)])
    assert f"gives {stripe:.2f} of its weight" in words and "the score is 0.93" in words
    assert "the other heads: 0.00 to 0.20" in words
    alone = figures_06.describe_induction(STRIPE, SCORES[1:, 1:2], 0, 0)
    assert "the score is 0.93." in alone and "other heads" not in alone


def test_a_bar_is_orange_where_more_than_half_is_gone():
    axes = FIGURES["ablation"]().axes[0]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([2.2, -0.11, 1.1, 2.178])
    colours = [line.get_color() for line in axes.lines[:4]]
    assert colours == [BLUE, ORANGE, BLUE, BLUE]
    assert axes.lines[2].get_xdata().tolist() == (WHOLE / 2).tolist()
    words = figures_06.describe_ablation(GAINS)
    assert "median of 3 seeds" in words and "whole: 2.20" in words
    assert "without layer 1, head 1 -0.11 (-5% of it)" in words
    assert "without layer 0 1.10 (50% of it)" in words
    one = figures_06.describe_ablation({name: gain[:1] for name, gain in GAINS.items()})
    assert "median of one seed" in one


def test_the_line_is_the_law_and_the_band_turns_about_the_middle():
    axes = FIGURES["law"]().axes[0]
    line, *dots = axes.lines
    for size, loss in line.get_xydata()[::33]:
        assert loss == pytest.approx(LAW.constant * size**-LAW.exponent)
    assert [dot.get_ydata().tolist() for dot in dots] == LOSSES.tolist()
    middle = math.exp(np.log(SIZES_HERE).mean())
    band = axes.collections[0].get_paths()[0].vertices
    at_end = band[np.isclose(band[:, 0], SIZES_HERE[-1] * 1.25)][:, 1]
    low, high = LAW.interval
    ends = [LAW.loss(middle) * (SIZES_HERE[-1] * 1.25 / middle) ** -end for end in (high, low)]
    assert (at_end.min(), at_end.max()) == pytest.approx(tuple(ends))
    words = figures_06.describe_power_law(SIZES_HERE, LOSSES, LAW)
    assert f"676,992: {LOSSES[:, -1].mean():.3f}" in words and str(LAW) in words


def test_an_interval_without_an_end_has_no_band():
    losses = np.array([[4.0, 3.9, 3.9, 3.9], [3.9, 3.9, 4.0, 3.9]])
    law = fit_power_law([10, 20, 40, 80], torch.from_numpy(losses), irreducible=None)
    assert math.isinf(law.interval[1])
    axes = figures_06.draw_power_law(np.array([10.0, 20, 40, 80]), losses, law).axes[0]
    assert len(axes.collections) == 0

"""Lecture 06's explorer of scaling laws: what is drawn is what the published laws say."""

import numpy as np
import pytest

from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import LAWS, chinchilla_loss
from course_utils.lectures.l06_gpt2_block.explorers.scaling_laws import (
    MODELS,
    ROOM,
    SIZES,
    TOKENS,
    ScalingLaws,
    describe_number,
)
from tests.explorers.support_explorers import press


@pytest.fixture(scope="module")
def scaling():
    made = ScalingLaws()
    made.widget()
    return made


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
@pytest.mark.parametrize("ratio", [0.1, 20, 5000])
def test_the_budget_is_spent(scaling, power, ratio):
    state = scaling.compute(compute=power, ratio=ratio)
    assert 6 * state.parameters * state.tokens == pytest.approx(10**power)
    assert state.tokens / state.parameters == pytest.approx(ratio)
    assert state.loss == chinchilla_loss(state.parameters, state.tokens)
    assert 6 * state.best_sizes * state.best_tokens == pytest.approx(np.full(3, 10**power))


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
def test_dots_lie_in_the_valleys(scaling, power):
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


def test_valleys_are_in_the_picture(scaling):
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


def test_models_stand_where_trained(scaling):
    for name, model in MODELS.items():
        scaling.set(**model.at)
        # The sliders step by a tenth of a power of ten, and by factors of 2 to 2.5.
        assert scaling.state.compute == pytest.approx(6 * model.parameters * model.tokens, rel=0.13)
        assert scaling.state.parameters == pytest.approx(model.parameters, rel=0.35), name


def test_gpt3_was_trained_as_kaplan_advises(scaling):
    press(scaling, "GPT-3")
    state = scaling.state
    assert state.best_sizes[0] == pytest.approx(175e9, rel=0.15)
    assert state.best_tokens[0] == pytest.approx(300e9, rel=0.15)
    kaplan, chinchilla, again = state.best_tokens / state.best_sizes
    assert kaplan < 3 and 15 < again < 25 and chinchilla > 80
    assert "162 billion parameters and 325 billion tokens (black)" in scaling.words
    assert "18.7 for each" in scaling.words and "87.4 for each" in scaling.words


def test_a_loss_above_the_picture_is_said(scaling):
    scaling.set(compute=18.0, ratio=5000)
    assert "(above the picture)" in scaling.words
    scaling.set(ratio=20)
    assert "above the picture" not in scaling.words


def test_numbers_in_words():
    numbers = (29e6, 999.96e6, 162.27e9, 1e12, 1.4e15, 12345.6)
    assert [describe_number(number) for number in numbers] == [
        "29 million", "1 billion", "162 billion", "1 trillion", "1,400 trillion", "12,346"
    ]  # fmt: skip

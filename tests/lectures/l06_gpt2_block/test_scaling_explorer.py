"""Lecture 06's explorer of scaling laws: what is drawn is what the published laws say."""

import numpy as np
import pytest

from lectures.l06_gpt2_block.experiments.scaling_law import chinchilla_loss
from lectures.l06_gpt2_block.explorers.scaling_laws import (
    COUNT,
    SIZES,
    ScalingLaws,
)


def at(power, ratio):
    return ScalingLaws().compute(compute=power, ratio=ratio)


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
@pytest.mark.parametrize("ratio", [-1.0, 1.3, 4.0])
def test_the_budget_is_spent(power, ratio):
    state = at(power, ratio)
    assert 6 * state.parameters * state.tokens == pytest.approx(10**power)
    assert state.tokens / state.parameters == pytest.approx(10**ratio)
    assert state.loss == chinchilla_loss(state.parameters, state.tokens)
    assert 6 * state.best_sizes * state.best_tokens == pytest.approx(np.full(3, 10**power))


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
def test_dots_lie_in_the_valleys(power):
    """The least loss on a fine grid of sizes, by the two equations with their printed numbers."""
    state = at(power, 1.3)
    N = np.logspace(*SIZES, 200_001)
    D = 10**power / 6 / N
    printed = (1.69 + 406.4 / N**0.34 + 410.7 / D**0.28, 1.8172 + 482.01 / N**0.3478
               + 2085.43 / D**0.3658)  # fmt: skip
    for fit, losses in zip((1, 2), printed, strict=True):
        assert state.best_losses[fit] == pytest.approx(losses.min(), rel=1e-9)
        assert state.best_sizes[fit] == pytest.approx(N[losses.argmin()], rel=1e-3)
    places = np.linspace(*SIZES, COUNT)
    for drawn, losses in zip((state.losses, state.losses_again), printed, strict=True):
        np.testing.assert_allclose(drawn, np.interp(places, np.log10(N), losses), rtol=1e-5)
    assert state.best_losses[0] > state.best_losses[1]


def test_gpt3_was_trained_as_kaplan_advises():
    state = ScalingLaws(**ScalingLaws.presets["GPT-3"]).state
    assert state.best_sizes[0] == pytest.approx(175e9, rel=0.15)
    assert state.best_tokens[0] == pytest.approx(300e9, rel=0.15)
    kaplan, chinchilla, again = state.best_tokens / state.best_sizes
    assert kaplan < 3 and 15 < again < 25 and chinchilla > 80


def test_ten_times_the_budget():
    """The lecture: Kaplan makes the model 5 times as large, Chinchilla's fits 2.8 and 3.3 times."""
    grown = at(24.5, 0.25).best_sizes / at(23.5, 0.25).best_sizes
    np.testing.assert_allclose(grown, [5, 2.8, 3.3], rtol=0.05)

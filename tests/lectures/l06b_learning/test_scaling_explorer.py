"""Lecture 06b's explorer of scaling laws: what is drawn is what the published laws say."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import optimize

from lectures.l06b_learning.explorers.scaling_laws import ScalingLaws
from tests.explorers.support_browser import InBrowser, differences

PLACES = np.linspace(6.5, 13.5, 101)  # of the curves, in powers of ten
BUDGETS = (1e15, 3e19, 5.76e23)
# E, A, B, alpha, beta, as printed: Hoffmann et al., 2022, equation 10; Besiroglu et al., 2024,
# table 1. In the order of the laws, the first of which is Kaplan's.
PRINTED = {1: (1.69, 406.4, 410.7, 0.34, 0.28), 2: (1.8172, 482.01, 2085.43, 0.3478, 0.3658)}
LAWS = (0, 1, 2)


@pytest.fixture(scope="module")
def laws():
    with InBrowser(ScalingLaws()) as found:
        yield found


def at(laws, N, D):
    """The state of a model of N parameters that reads D tokens."""
    return laws.compute(compute=math.log10(6 * N * D), ratio=math.log10(D / N))


def loss_of(law, N, D):
    E, A, B, alpha, beta = PRINTED[law]
    return E + A / N**alpha + B / D**beta


def kaplan_after(N, C):
    """Kaplan's equations 1.4 and 1.6: the loss decides the batch, and it how many steps C pays."""

    def too_high(loss):
        steps = C / (6 * N * 2e8 / loss ** (1 / 0.21))
        return loss - (6.5e13 / N) ** 0.077 - (2.1e3 / steps) ** 0.76

    return optimize.brentq(too_high, 0.1, 1e6)


@cache
def best_size(law, C):
    """Where the two parts of a law's loss fall alike."""

    def excess(log_size):
        N = math.exp(log_size)
        if law == 0:
            of_size = (6.5e13 / N) ** 0.077
            return 0.76 * (kaplan_after(N, C) - of_size) - 0.077 * of_size
        _, A, B, alpha, beta = PRINTED[law]
        return beta * B / (C / 6 / N) ** beta - alpha * A / N**alpha

    return math.exp(optimize.brentq(excess, 5, 35, xtol=1e-12))


def spent(compute, ratio):
    C = 10**compute
    N = math.sqrt(C / 6 / 10**ratio)
    sizes = np.array([best_size(law, C) for law in LAWS])
    tokens = C / 6 / sizes
    drawn = 10**PLACES
    return {
        "parameters": N,
        "tokens": N * 10**ratio,
        "power": compute,
        "loss": loss_of(1, N, N * 10**ratio),
        "losses": loss_of(1, drawn, C / 6 / drawn),
        "losses_again": loss_of(2, drawn, C / 6 / drawn),
        "best_sizes": sizes,
        "best_tokens": tokens,
        "best_losses": [loss_of(max(law, 1), sizes[law], tokens[law]) for law in LAWS],
    }


def test_a_budget_is_spent_as_the_printed_laws_say(laws):
    assert differences(laws, spent) == []


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
@pytest.mark.parametrize("ratio", [-1.0, 1.3, 4.0])
def test_the_budget_is_spent(laws, power, ratio):
    state = laws.compute(compute=power, ratio=ratio)
    assert 6 * state.parameters * state.tokens == pytest.approx(10**power)
    assert state.tokens / state.parameters == pytest.approx(10**ratio)
    assert 6 * state.best_sizes * state.best_tokens == pytest.approx(np.full(3, 10**power))


@pytest.mark.parametrize("power", [18.0, 21.3, 23.5, 26.0])
def test_dots_lie_in_the_valleys(laws, power):
    """The least loss on a fine grid of sizes."""
    state = laws.compute(compute=power, ratio=1.3)
    N = np.logspace(PLACES[0], PLACES[-1], 200_001)
    curves = (state.losses, state.losses_again)
    for law, drawn in zip((1, 2), curves, strict=True):
        losses = loss_of(law, N, 10**power / 6 / N)
        assert state.best_losses[law] == pytest.approx(losses.min(), rel=1e-9)
        assert state.best_sizes[law] == pytest.approx(N[losses.argmin()], rel=1e-3)
        np.testing.assert_allclose(drawn, np.interp(PLACES, np.log10(N), losses), rtol=1e-5)
    assert state.best_losses[0] > state.best_losses[1]


@pytest.mark.parametrize("C", BUDGETS)
@pytest.mark.parametrize("law", LAWS)
def test_the_optimum_is_what_a_search_finds(laws, law, C):
    def loss(log_size):
        N = math.exp(log_size)
        return kaplan_after(N, C) if law == 0 else loss_of(law, N, C / (6 * N))

    best = math.log(laws.compute(compute=math.log10(C)).best_sizes[law])
    found = optimize.minimize_scalar(loss, bounds=(5, 35), method="bounded",
                                     options={"xatol": 1e-7})  # fmt: skip
    assert loss(best) == pytest.approx(found.fun, rel=1e-9)
    # Around the least loss the curve is flat: it is known better than its place.
    assert best == pytest.approx(found.x, abs=1e-3)
    assert min(loss(found.x + by) for by in (-0.5, 0.5)) > loss(best)


def test_chinchillas_own_loss(laws):
    # Hoffmann et al., section 3.3 and figure 4: Chinchilla's own 70 B and 1.4 T.
    assert abs(at(laws, 70e9, 1.4e12).loss - 1.937) < 0.001
    assert abs(at(laws, 1e30, 1e30).loss - 1.69) < 1e-3


def test_the_laws_disagree_on_how_to_spend(laws):
    few, many = laws.states([{"compute": 18.0}, {"compute": 24.0}])
    exponents = np.log10(many.best_sizes / few.best_sizes) / 6
    # Hoffmann et al., table 2, approach 3: 0.46; Besiroglu et al.: 0.513; Kaplan's formulas: 0.68.
    np.testing.assert_allclose(exponents, [0.681, 0.452, 0.513], atol=0.001)
    gopher = laws.compute(compute=math.log10(5.76e23))  # what Gopher cost
    N, D = gopher.best_sizes[2], gopher.best_tokens[2]
    assert 65e9 < N < 80e9 and 15 < D / N < 25


@pytest.mark.parametrize("days", [1e-3, 1, 1e3])
def test_kaplans_formulas_meet_the_best_runs(laws, days):
    """Equation 1.3 and appendix A sum up the runs: L = (3.1e8 / C)^0.05 and N = 1.3e9 C^0.73."""
    C = days * 8.64e19  # a petaFLOP/s for a day
    N = laws.compute(compute=math.log10(C)).best_sizes[0]
    assert abs(kaplan_after(N, C) / (3.1e8 / days) ** 0.05 - 1) < 0.03
    assert 0.3 < N / (1.3e9 * days**0.73) < 1.5


def test_gpt3_was_trained_as_kaplan_advises(laws):
    state = laws.compute(**ScalingLaws.presets["GPT-3"])
    assert state.best_sizes[0] == pytest.approx(175e9, rel=0.15)
    assert state.best_tokens[0] == pytest.approx(300e9, rel=0.15)
    kaplan, chinchilla, again = state.best_tokens / state.best_sizes
    assert kaplan < 3 and 15 < again < 25 and chinchilla > 80


def test_ten_times_the_budget(laws):
    """The lecture: Kaplan makes the model 5 times as large, Chinchilla's fits 2.8 and 3.3 times."""
    before, after = laws.states([{"compute": 23.5}, {"compute": 24.5}])
    np.testing.assert_allclose(after.best_sizes / before.best_sizes, [5, 2.8, 3.3], rtol=0.05)


@pytest.mark.parametrize(
    ("N", "D", "said"),
    [
        (175e9, 300e9, "175 billion parameters, 300 billion tokens: "),
        (1e9, 1.4e12, "1.00 billion parameters, 1.40 trillion tokens: "),
        (70e9, 1.4e12, "Chinchilla's law says loss 1.937. Its best split of 5.9 × 10²³ FLOP gives"),
        (0.25e9, 1e9, " of 1.5 × 10¹⁸ FLOP gives "),
    ],
)
def test_budgets_in_words(laws, N, D, said):
    assert said in at(laws, N, D).words

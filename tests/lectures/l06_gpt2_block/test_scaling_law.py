"""Power laws: the fit and its interval against scipy and by simulation; the published laws."""

import math

import pytest
import torch
from scipy import optimize, stats

from lectures.l06_gpt2_block.experiments.scaling_law import (
    LAWS,
    T_95,
    _student,
    chinchilla_loss,
    compute_optimal,
    fit_power_law,
)

SIZES = (4_001, 11_003, 35_023, 119_027, 300_007)
BUDGETS = (1e15, 3e19, 5.76e23)


def losses(floor, constant, exponent, *, noise=0.0, seeds=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    law = floor + constant * torch.tensor(SIZES).double() ** -exponent
    return law * (1 + noise * torch.randn(seeds, len(SIZES), generator=generator).double())


@pytest.mark.parametrize("irreducible", [0.0, 1.5, None])
@pytest.mark.parametrize("exponent", [0.05, 0.3, 0.8])
def test_a_law_without_noise_is_found(irreducible, exponent):
    floor = 1.5 if irreducible is None else irreducible
    law = fit_power_law(SIZES, losses(floor, 20, exponent), irreducible=irreducible)
    # With E unknown, the exponents tried lie 0.23 % apart, and a flat valley joins them with E.
    close = 0.004 if irreducible is None else 1e-9
    assert abs(law.exponent / exponent - 1) < close
    assert abs(law.irreducible - floor) < (0.05 if irreducible is None else 1e-12)
    for size in (SIZES[0], 20_011, SIZES[-1]):
        assert abs(law.loss(size) / (floor + 20 * size**-exponent) - 1) < 1e-4


@pytest.mark.parametrize("floor", [0.0, 1.2])
def test_the_straight_line_is_scipys(floor):
    measured = losses(floor, 9, 0.2, noise=0.02)
    law = fit_power_law(SIZES, measured, irreducible=floor)
    x = torch.tensor(SIZES).double().log().expand(3, -1).flatten()
    line = stats.linregress(x, (measured - floor).log().flatten())
    half = stats.t.ppf(0.975, 13) * line.stderr
    expected = (-line.slope - half, -line.slope + half)
    assert abs(law.exponent + line.slope) < 1e-12
    assert law.interval == pytest.approx(expected, rel=1e-3)
    assert law.constant == pytest.approx(math.exp(line.intercept), rel=1e-9)


def test_quantiles_are_scipys():
    expected = [stats.t.ppf(0.975, free) for free in range(1, len(T_95) + 1)]
    assert list(T_95) == pytest.approx(expected, rel=3e-4)
    for free in (11, 12, 17, 29, 101):
        assert _student(free) == pytest.approx(stats.t.ppf(0.975, free), rel=1e-3)


@pytest.mark.parametrize("irreducible", [0.0, None])
def test_the_interval_holds_19_of_20(irreducible):
    floor, held = 1.5 if irreducible is None else 0.0, 0
    for trial in range(300):
        measured = losses(floor, 20, 0.3, noise=0.01, seed=trial)
        low, high = fit_power_law(SIZES, measured, irreducible=irreducible).interval
        held += low <= 0.3 <= high
    # 285 of 300 expected; three standard deviations are 11. Where E is unknown the law is no
    # straight line, and the interval is an approximation.
    assert 270 <= held <= 297


def test_fewer_seeds_and_no_floor_know_less():
    def width(law):
        return law.interval[1] - law.interval[0]

    many, few = (losses(1.5, 20, 0.3, noise=0.01, seeds=seeds) for seeds in (9, 2))
    known, unknown = (fit_power_law(SIZES, few, irreducible=E) for E in (1.5, None))
    assert width(fit_power_law(SIZES, many, irreducible=1.5)) < width(known) < width(unknown) / 2


def test_losses_may_not_bound_the_exponent():
    shuffled = torch.tensor([2.0, 2.2, 1.9, 2.1, 2.0]).double()
    assert fit_power_law(SIZES, shuffled, irreducible=None).interval == (0.0, math.inf)
    low, high = fit_power_law(SIZES, shuffled).interval
    assert low < 0 < high


def test_rising_losses_give_their_mean():
    rising = torch.tensor([2.0, 2.1, 2.2, 2.3, 2.4]).double()
    law = fit_power_law(SIZES, rising, irreducible=None)
    assert law.constant == 0 and law.interval == (0.0, math.inf)
    # The least sum of ((E - L) / L)^2, by its derivative.
    assert law.irreducible == pytest.approx(float((1 / rising).sum() / (1 / rising**2).sum()))


# The published laws.


def test_chinchillas_own_loss():
    # Hoffmann et al., section 3.3 and figure 4: Chinchilla's own 70 B and 1.4 T.
    assert abs(chinchilla_loss(70e9, 1.4e12) - 1.937) < 0.001
    assert abs(chinchilla_loss(1e30, 1e30) - 1.69) < 1e-3


def kaplan_after(N, C):
    """Equations 1.4 and 1.6: the loss decides the batch, and the batch how many steps C pays."""

    def too_high(loss):
        steps = C / (6 * N * 2e8 / loss ** (1 / 0.21))
        return loss - (6.5e13 / N) ** 0.077 - (2.1e3 / steps) ** 0.76

    return optimize.brentq(too_high, 0.1, 1e6)


@pytest.mark.parametrize("C", BUDGETS)
@pytest.mark.parametrize("law", LAWS)
def test_the_optimum_is_what_a_search_finds(law, C):
    def loss(log_size):
        N = math.exp(log_size)
        return kaplan_after(N, C) if law == "kaplan" else chinchilla_loss(N, C / (6 * N), law)

    best = compute_optimal(C, law)
    assert 6 * best.parameters * best.tokens == pytest.approx(C)
    found = optimize.minimize_scalar(loss, bounds=(5, 35), method="bounded",
                                     options={"xatol": 1e-7})  # fmt: skip
    assert best.loss == pytest.approx(found.fun, rel=1e-9)
    # Around the least loss the curve is flat: it is known better than its place.
    assert best.parameters == pytest.approx(math.exp(found.x), rel=1e-3)
    assert min(loss(found.x + by) for by in (-0.5, 0.5)) > best.loss


def growth(law):
    """The exponent of N in C."""
    sizes = [compute_optimal(C, law).parameters for C in (1e18, 1e24)]
    return math.log10(sizes[1] / sizes[0]) / 6


def test_the_laws_disagree_on_how_to_spend():
    # Hoffmann et al., table 2, approach 3: 0.46; Besiroglu et al.: 0.513; Kaplan's formulas: 0.68.
    assert abs(growth("chinchilla") - 0.452) < 0.001
    assert abs(growth("chinchilla, fitted again") - 0.513) < 0.001
    assert abs(growth("kaplan") - 0.681) < 0.001
    best = compute_optimal(5.76e23, "chinchilla, fitted again")  # what Gopher cost
    assert 65e9 < best.parameters < 80e9 and 15 < best.tokens / best.parameters < 25


@pytest.mark.parametrize("days", [1e-3, 1, 1e3])
def test_kaplans_formulas_meet_the_best_runs(days):
    """Equation 1.3 and appendix A sum up the runs: L = (3.1e8 / C)^0.05 and N = 1.3e9 C^0.73."""
    best = compute_optimal(days * 8.64e19, "kaplan")
    assert abs(best.loss / (3.1e8 / days) ** 0.05 - 1) < 0.03
    assert 0.3 < best.parameters / (1.3e9 * days**0.73) < 1.5

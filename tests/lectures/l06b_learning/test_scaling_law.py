"""Power laws: the fit and its interval against scipy and by simulation."""

import math

import pytest
import torch
from scipy import stats

from lectures.l06b_learning.experiments.scaling_law import (
    T_95,
    _student,
    fit_power_law,
)

SIZES = (4_001, 11_003, 35_023, 119_027, 300_007)


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

"""What is predicted for scores, and the 2,000 scores that follow it."""

import math

import numpy as np
import pytest
import scipy.stats

from lectures.l01_scaling.explorers.score_width import (
    ALL_EQUAL,
    CAUCHY,
    COINS,
    DISTRIBUTIONS,
    UNIFORM,
    ScoreWidth,
)
from tests.explorers.support_browser import InBrowser
from tests.lectures.l01_scaling.support_vectors import SAMPLES, law

WITH_LAW = [name for name in DISTRIBUTIONS if name != CAUCHY]
SHAPES = [
    {"correlation": 0.0, "variance": 1.0, "mean": 0.0},
    {"correlation": 0.3, "variance": 1.0, "mean": 0.0},
    {"correlation": -0.7, "variance": 2.25, "mean": 0.4},
    {"correlation": 1.0, "variance": 0.25, "mean": -1.0},
    {"correlation": -1.0, "variance": 4.0, "mean": 0.0},
]


@pytest.fixture(scope="module")
def picture():
    with InBrowser(ScoreWidth()) as found:
        yield found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", WITH_LAW)
def test_law_is_the_integral(picture, name, shape):
    state = picture.compute(coordinates=name, width=128, **shape)
    assert (state.law_mean, state.law_spread) == pytest.approx(law(name, 128, **shape), abs=1e-5)


@pytest.mark.parametrize("name", ["normal", UNIFORM])
def test_fourth_moments_are_scipys(picture, name):
    scipys = {"normal": scipy.stats.norm, UNIFORM: scipy.stats.uniform}[name]
    # Where q is k, a product is a square, whose variance is the fourth moment less 1.
    square = picture.compute(coordinates=name, width=64, correlation=1.0).law_spread ** 2 / 64
    assert square + 1 == pytest.approx(scipys.stats(moments="k") + 3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [16, 64, 512])
@pytest.mark.parametrize("name", WITH_LAW)
def test_samples_follow_the_law(picture, name, width, shape):
    state = picture.compute(coordinates=name, width=width, **shape)
    mean, spread = law(name, width, **shape)
    # Four standard errors of a mean.
    assert abs(state.mean - mean) < 4 * spread / math.sqrt(SAMPLES) + 1e-9 * width
    # A standard deviation of 2000 near-normal values is good to 4 / sqrt(4000) = 6.3 %.
    # Products of equal coordinates keep the tails of one product at every width.
    good = 0.25 if name == ALL_EQUAL else 0.065
    assert state.spread == pytest.approx(spread, rel=good, abs=1e-4)


def test_predicted_density_fits_the_bars(picture):
    shown = picture.compute(width=512)
    middles = shown.start + (np.arange(len(shown.heights)) + 0.5) * shown.step
    density = shown.peak * np.exp(-0.5 * (middles / shown.law_spread) ** 2)
    # A bar of n pairs is good to the square root of n: 5 times that, relative to the tallest.
    pairs = SAMPLES * shown.step / (shown.law_spread * math.sqrt(2 * math.pi)) / shown.peak
    assert np.abs(shown.heights - density).max() < 5 / math.sqrt(pairs)
    heavy = picture.compute(coordinates=CAUCHY)
    assert heavy.peak == 0 and heavy.law_spread is None


def test_broken_assumptions(picture):
    def divided(**shape):
        state = picture.compute(width=64, divided=True, **shape)
        return state.law_mean, state.law_spread

    assert divided() == pytest.approx((0, 1))
    assert divided(variance=2.0)[1] ** 2 == pytest.approx(4)
    assert divided(correlation=0.3)[0] == pytest.approx(2.4)
    assert divided(mean=0.5)[1] ** 2 == pytest.approx(1.5)
    assert divided(coordinates=CAUCHY) == (None, None)
    assert divided(coordinates=ALL_EQUAL)[1] ** 2 == pytest.approx(64)
    assert divided(coordinates=COINS, correlation=-1.0) == (-8, 0)

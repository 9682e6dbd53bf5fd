"""Samples of scores against their definition, laws against quadrature and scipy."""

import math

import numpy as np
import pytest
import scipy.stats

from lectures.l01_scaling.experiments.score_variance import (
    ALL_EQUAL,
    CAUCHY,
    COINS,
    DISTRIBUTIONS,
    SAMPLES,
    UNIFORM,
    ScoreLaw,
    counted_coordinates,
    running_sums,
    score_law,
    scores_from,
)

SCIPY = {
    "normal": scipy.stats.norm(),
    UNIFORM: scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    CAUCHY: scipy.stats.cauchy(),
}
SHAPES = [
    {"correlation": 0.0, "variance": 1.0, "mean": 0.0},
    {"correlation": 0.3, "variance": 1.0, "mean": 0.0},
    {"correlation": -0.7, "variance": 2.25, "mean": 0.4},
    {"correlation": 1.0, "variance": 0.25, "mean": -1.0},
    {"correlation": -1.0, "variance": 4.0, "mean": 0.0},
]
# A seed is fixed, so a p-value is one number: far below this means another distribution.
DOUBT = 1e-3


def drawn(name):
    """Two sets of coordinates as the explorer counts them."""
    return [each.ravel() for each in counted_coordinates(name, 11, 251, 199)]


@pytest.mark.parametrize("name", SCIPY)
def test_coordinates_follow_scipy(name):
    for found in drawn(name):
        assert scipy.stats.kstest(found, SCIPY[name].cdf).pvalue > DOUBT
        assert scipy.stats.kstest(1.05 * found, SCIPY[name].cdf).pvalue < DOUBT


@pytest.mark.parametrize("name", ["normal", COINS, UNIFORM])
def test_counted_coordinates_are_uncorrelated(name):
    """Along a row, along a column, between a and c, and between neighbouring seeds."""
    a, c = counted_coordinates(name, 0, 400, 300)
    other, _ = counted_coordinates(name, 1, 400, 300)
    pairs = ((a, c), (a[:, 1:], a[:, :-1]), (a[1:], a[:-1]), (a[:-2], other[2:]))
    for one, two in pairs:
        assert abs((one * two).mean()) < 4 / math.sqrt(one.size)
    # A seed moves the rows by one: two seeds next to each other share all rows but one.
    assert np.array_equal(a[1:], other[:-1])


def test_rows_go_on_alike():
    short, long = (counted_coordinates("normal", 3, 5, width) for width in (7, 31))
    assert np.array_equal(short[0], long[0][:, :7]) and np.array_equal(short[1], long[1][:, :7])


@pytest.mark.parametrize("name", ["normal", UNIFORM])
def test_fourth_moments_are_scipys(name):
    mean, variance, skew, excess = SCIPY[name].stats("mvsk")
    assert (mean, skew) == (0, 0) and variance == pytest.approx(1)
    assert DISTRIBUTIONS[name] == pytest.approx(excess + 3)


@pytest.mark.parametrize("width", [1, 24, 512])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_scores_are_dot_products(name, width):
    a, c = counted_coordinates(name, 0, SAMPLES, width)
    shape = {"correlation": 0.3, "variance": 2.25, "mean": 0.4}
    q = 0.4 + 1.5 * a
    k = 0.4 + 1.5 * (0.3 * a + math.sqrt(1 - 0.09) * c)
    scores = scores_from(running_sums(name)[width], width, **shape)
    scale = 1e-10 * (1 + np.abs(q * k).sum(1))  # a Cauchy product may be 1e12 times another
    assert np.all(np.abs(scores - (q * k).sum(1)) <= scale)
    wrong = scores_from(running_sums(name)[width], width, **{**shape, "variance": 2.0})
    assert not np.all(np.abs(wrong - (q * k).sum(1)) <= scale)


def test_equal_coordinates_are_one():
    a, _ = counted_coordinates(ALL_EQUAL, 7, 3, 5)
    assert np.array_equal(a, np.repeat(a[:, :1], 5, axis=1)) and len(set(a[:, 0])) == 3


def nodes_and_weights(name):
    """A rule that integrates polynomials of degree 8 exactly over this distribution."""
    if name == "normal":
        nodes, weights = np.polynomial.hermite_e.hermegauss(6)
    elif name == "uniform":
        nodes, weights = np.polynomial.legendre.leggauss(6)
        nodes = nodes * math.sqrt(3)
    else:
        nodes, weights = np.array([-1.0, 1.0]), np.ones(2)
    return nodes, weights / weights.sum()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["normal", UNIFORM, COINS])
def test_law_is_the_integral(name, shape):
    nodes, weights = nodes_and_weights(name)
    a, c = np.meshgrid(nodes, nodes, indexing="ij")
    probability = np.outer(weights, weights)
    r, spread, m = shape["correlation"], math.sqrt(shape["variance"]), shape["mean"]
    product = (m + spread * a) * (m + spread * (r * a + math.sqrt(1 - r * r) * c))
    mean = (probability * product).sum()
    variance = (probability * (product - mean) ** 2).sum()
    law = score_law(name, 128, **shape)
    assert law.mean == pytest.approx(128 * mean)
    assert law.variance == pytest.approx(128 * variance, abs=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("width", [16, 64, 512])
@pytest.mark.parametrize("name", [n for n, fourth in DISTRIBUTIONS.items() if fourth])
def test_samples_follow_the_law(name, width, shape):
    law = score_law(name, width, **shape)
    scores = scores_from(running_sums(name)[width], width, **shape)
    spread = math.sqrt(law.variance)
    error = 4 * spread / math.sqrt(SAMPLES) + 1e-9 * width  # four standard errors of a mean
    assert abs(float(scores.mean()) - law.mean) < error
    # A standard deviation of 2000 near-normal values is good to 4 / sqrt(4000) = 6.3 %.
    # Products of equal coordinates keep the tails of one product at every width.
    good = 0.25 if name == ALL_EQUAL else 0.065
    assert float(scores.std()) == pytest.approx(spread, rel=good, abs=1e-4)


def test_broken_assumptions():
    root = math.sqrt(64)
    assert score_law("normal", 64, variance=2.0).divided_by(root).variance == pytest.approx(4)
    assert score_law("normal", 64, correlation=0.3).divided_by(root).mean == pytest.approx(2.4)
    assert score_law("normal", 64, mean=0.5).divided_by(root).variance == pytest.approx(1.5)
    assert score_law(CAUCHY, 64) == ScoreLaw(None, None)
    assert score_law(ALL_EQUAL, 64).divided_by(root).variance == pytest.approx(64)
    assert ScoreLaw(None, None).divided_by(8) == ScoreLaw(None, None)
    assert ScoreLaw(32.0, None).divided_by(8) == ScoreLaw(4.0, None)
    assert score_law(COINS, 64, correlation=-1.0) == ScoreLaw(-64.0, 0.0)

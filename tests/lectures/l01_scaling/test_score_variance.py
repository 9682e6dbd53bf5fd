"""Samples of scores against their definition, laws against quadrature and scipy."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from course_utils.lectures.l01_scaling.experiments.score_variance import (
    ALL_EQUAL,
    DISTRIBUTIONS,
    HEAVY_DEGREES,
    SAMPLES,
    WIDTHS,
    ScoreLaw,
    draw_coordinates,
    running_sums,
    sample_scores,
    score_law,
)

HEAVY_SPREAD = math.sqrt(HEAVY_DEGREES / (HEAVY_DEGREES - 2))
SCIPY = {
    "normal": scipy.stats.norm(),
    "uniform": scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    "heavy-tailed (Student t, 5)": scipy.stats.t(HEAVY_DEGREES, scale=1 / HEAVY_SPREAD),
    "Cauchy (no variance)": scipy.stats.cauchy(),
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


def coordinates(name, shape=(50_021,), seed=7):
    return draw_coordinates(name, shape, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", SCIPY)
def test_coordinates_follow_scipy(name):
    drawn = coordinates(name).double().numpy()
    assert scipy.stats.kstest(drawn, SCIPY[name].cdf).pvalue > DOUBT
    assert scipy.stats.kstest(1.05 * drawn, SCIPY[name].cdf).pvalue < DOUBT


def test_coins_are_fair():
    coins = coordinates("±1 (coin flips)")
    assert set(coins.tolist()) == {-1.0, 1.0}
    assert abs(float(coins.mean())) < 4 / math.sqrt(len(coins))  # four standard errors


@pytest.mark.parametrize("name", ["normal", "uniform", "heavy-tailed (Student t, 5)"])
def test_fourth_moments_are_scipys(name):
    mean, variance, skew, excess = SCIPY[name].stats("mvsk")
    assert (mean, skew) == (0, 0) and variance == pytest.approx(1)
    assert DISTRIBUTIONS[name] == pytest.approx(excess + 3)


@pytest.mark.parametrize("width", [1, 8, 64])
@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name != ALL_EQUAL])
def test_scores_are_dot_products(name, width):
    generator, parts = torch.Generator().manual_seed(0), []
    for before, now in zip((0, *WIDTHS), WIDTHS, strict=False):
        parts.append([draw_coordinates(name, (SAMPLES, now - before), generator) for _ in "ac"])
        if now == width:
            break
    a, c = (torch.cat(part, dim=1).double() for part in zip(*parts, strict=True))
    correlation, variance, mean = 0.3, 2.25, 0.4
    q = mean + math.sqrt(variance) * a
    k = mean + math.sqrt(variance) * (correlation * a + math.sqrt(1 - correlation**2) * c)
    scores = sample_scores(name, width, correlation=correlation, variance=variance, mean=mean)
    # float32 sums of up to 64 products; a Cauchy product may be 1e7 times another.
    scale = (q * k).abs().sum(1)
    assert torch.all((scores - (q * k).sum(1)).abs() <= 1e-5 * (1 + scale))
    wrong = sample_scores(name, width, correlation=correlation, variance=2.0, mean=mean)
    assert not torch.all((wrong - (q * k).sum(1)).abs() <= 1e-5 * (1 + scale))


def test_equal_coordinates_are_one():
    a = coordinates(ALL_EQUAL, (3, 5))
    assert torch.equal(a, a[:, :1].expand(3, 5)) and len(set(a[:, 0].tolist())) == 3
    shape = {"correlation": 0.3, "variance": 2.25, "mean": 0.4}
    one = sample_scores(ALL_EQUAL, 1, **shape)
    assert scipy.stats.kstest(one, sample_scores("normal", 1, **shape)).pvalue > DOUBT
    for width in (8, 512):
        close = {"rtol": 1e-4, "atol": 1e-4 * width}  # float32 sums of so many numbers
        assert torch.allclose(sample_scores(ALL_EQUAL, width, **shape), width * one, **close)
        assert not torch.allclose(sample_scores("normal", width, **shape), width * one, **close)


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
@pytest.mark.parametrize("name", ["normal", "uniform", "±1 (coin flips)"])
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
    law, scores = score_law(name, width, **shape), sample_scores(name, width, **shape)
    spread = math.sqrt(law.variance)
    # Four standard errors of a mean; float32 leaves 1e-5 of the size of the scores.
    error = 4 * spread / math.sqrt(SAMPLES) + 1e-5 * width
    assert abs(float(scores.mean()) - law.mean) < error
    # A standard deviation of 4000 near-normal values is good to 4 / sqrt(8000) = 4.5 %; one
    # heavy-tailed coordinate in 16 makes the tails of a product longer, and the error larger.
    # Products of equal coordinates keep the tails of one product at every width.
    heavy = name.startswith("heavy") or name == ALL_EQUAL
    assert float(scores.std()) == pytest.approx(spread, rel=0.25 if heavy else 0.06, abs=1e-4)


def test_as_taught():
    for name in ("normal", "uniform", "±1 (coin flips)", "heavy-tailed (Student t, 5)"):
        for width in WIDTHS:
            law = score_law(name, width)
            assert law == ScoreLaw(0.0, float(width))
            assert law.divided_by(math.sqrt(width)).variance == pytest.approx(1)


def test_broken_assumptions():
    root = math.sqrt(64)
    assert score_law("normal", 64, variance=2.0).divided_by(root).variance == pytest.approx(4)
    assert score_law("normal", 64, correlation=0.3).divided_by(root).mean == pytest.approx(2.4)
    assert score_law("normal", 64, mean=0.5).divided_by(root).variance == pytest.approx(1.5)
    assert score_law("Cauchy (no variance)", 64) == ScoreLaw(None, None)
    assert score_law(ALL_EQUAL, 64).divided_by(root).variance == pytest.approx(64)
    assert ScoreLaw(None, None).divided_by(8) == ScoreLaw(None, None)
    assert ScoreLaw(32.0, None).divided_by(8) == ScoreLaw(4.0, None)
    assert score_law("±1 (coin flips)", 64, correlation=-1.0) == ScoreLaw(-64.0, 0.0)


def test_samples_are_reproducible():
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    first = running_sums("normal")
    running_sums.cache_clear()
    again = running_sums("normal")
    assert torch.equal(torch.rand(5), expected), "the caller's random numbers are their own"
    assert all(torch.equal(first[width], again[width]) for width in WIDTHS)

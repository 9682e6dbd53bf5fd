"""Samples of scores against their definition, laws against quadrature and scipy's distributions."""

import math

import numpy as np
import pytest
import scipy.stats
import torch

from course_utils.lectures.l01_scaling import experiments as score_samples
from course_utils.lectures.l01_scaling.experiments import (
    ALL_EQUAL,
    COSINE_SAMPLES,
    COSINE_WIDTHS,
    DISTRIBUTIONS,
    HEAVY_DEGREES,
    SAMPLES,
    WIDTHS,
    ScoreLaw,
    cosine_density,
    draw_coordinates,
    running_sums,
    sample_cosines,
    sample_scores,
    score_law,
)
from tests.support_errors import raises_saying

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
def test_coordinates_follow_scipys_distribution(name):
    drawn = coordinates(name).double().numpy()
    assert scipy.stats.kstest(drawn, SCIPY[name].cdf).pvalue > DOUBT
    assert scipy.stats.kstest(1.05 * drawn, SCIPY[name].cdf).pvalue < DOUBT


def test_coins_show_plus_and_minus_one_equally_often():
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
def test_scores_are_dot_products_of_the_drawn_vectors(name, width):
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


def test_coordinates_that_are_all_equal_are_one_number():
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
def test_the_law_is_the_integral_over_one_coordinate(name, shape):
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
def test_samples_have_the_mean_and_variance_of_the_law(name, width, shape):
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


def test_as_taught_the_variance_is_the_width_and_the_divided_one_is_one():
    for name in ("normal", "uniform", "±1 (coin flips)", "heavy-tailed (Student t, 5)"):
        for width in WIDTHS:
            law = score_law(name, width)
            assert law == ScoreLaw(0.0, float(width))
            assert law.divided_by(math.sqrt(width)).variance == pytest.approx(1)


def test_where_the_lecture_must_warn():
    root = math.sqrt(64)
    assert score_law("normal", 64, variance=2.0).divided_by(root).variance == pytest.approx(4)
    assert score_law("normal", 64, correlation=0.3).divided_by(root).mean == pytest.approx(2.4)
    assert score_law("normal", 64, mean=0.5).divided_by(root).variance == pytest.approx(1.5)
    assert score_law("Cauchy (no variance)", 64) == ScoreLaw(None, None)
    assert score_law(ALL_EQUAL, 64).divided_by(root).variance == pytest.approx(64)
    assert ScoreLaw(None, None).divided_by(8) == ScoreLaw(None, None)
    assert ScoreLaw(32.0, None).divided_by(8) == ScoreLaw(4.0, None)
    assert score_law("±1 (coin flips)", 64, correlation=-1.0) == ScoreLaw(-64.0, 0.0)


def test_running_sums_are_the_same_each_time_and_leave_the_seed_alone():
    score_samples._running_sums.cache_clear()
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    first = running_sums("normal")
    assert torch.equal(torch.rand(5), expected)
    assert running_sums("normal", seed=0) is first, "drawn once, then kept"
    score_samples._running_sums.cache_clear()
    again = running_sums("normal")
    assert again is not first
    assert all(torch.equal(first[width], again[width]) for width in WIDTHS)
    assert not torch.equal(running_sums("normal", 1)[64], first[64])


def test_the_cosines_are_the_callers_own():
    kept = sample_cosines(64).clone()
    sample_cosines(64).zero_()
    assert torch.equal(sample_cosines(64), kept) and bool(kept.any())


@pytest.mark.parametrize("width", COSINE_WIDTHS)
def test_cosines_and_their_density_are_a_shifted_beta(width):
    # (1 + cos) / 2 of random directions is Beta((d - 1) / 2, (d - 1) / 2).
    law = scipy.stats.beta((width - 1) / 2, (width - 1) / 2, loc=-1, scale=2)
    x = torch.linspace(-0.99, 0.99, 199, dtype=torch.float64)
    assert np.allclose(cosine_density(x, width).numpy(), law.pdf(x.numpy()), rtol=1e-9)
    cosines = sample_cosines(width)
    assert len(cosines) == COSINE_SAMPLES
    assert scipy.stats.kstest(cosines.double().numpy(), law.cdf).pvalue > DOUBT
    other = scipy.stats.beta(width / 2, width / 2, loc=-1, scale=2)
    if width <= 5:  # beyond, one dimension more or less is too little to be seen in 8000 pairs
        assert scipy.stats.kstest(cosines.double().numpy(), other.cdf).pvalue < DOUBT
    # The variance of a variance: its standard error is about sqrt(2 / 8000) = 1.6 % of it.
    assert float(cosines.var()) == pytest.approx(1 / width, rel=0.065)


def test_the_density_at_the_ends():
    ends = torch.tensor([-1.0, 1.0])
    assert cosine_density(ends, 2).isinf().all()
    assert torch.equal(cosine_density(ends, 3), torch.tensor([0.5, 0.5]))
    assert torch.equal(cosine_density(ends, 5), torch.zeros(2))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: sample_scores("normal", 3),
            ValueError,
            f"width must be one of {list(WIDTHS)}; got 3",
        ),
        (
            lambda: sample_scores("normal", 8.0),
            TypeError,
            "width must be an integer, got 8.0 (float)",
        ),
        (
            lambda: score_law("normal", 8, correlation=1.1),
            ValueError,
            "correlation must lie in [-1, 1]; got 1.1",
        ),
        (
            lambda: score_law("normal", 8, variance=0),
            ValueError,
            "variance must be positive; got 0",
        ),
        (lambda: score_law("normal", 8, mean=math.inf), ValueError, "mean must be finite, got inf"),
        (
            lambda: score_law("normal", 8, variance=math.nan),
            ValueError,
            "variance must be finite, got nan",
        ),
        (
            lambda: score_law("gamma", 8),
            ValueError,
            f"distribution must be one of {', '.join(DISTRIBUTIONS)}, got 'gamma'",
        ),
        (
            lambda: ScoreLaw(1e300, 1.0).divided_by(1e-200),
            ValueError,
            "divisor must leave mean and variance finite; got 1e-200",
        ),
        (
            lambda: ScoreLaw(0.0, 1e300).divided_by(1e-200),
            ValueError,
            "divisor must leave mean and variance finite; got 1e-200",
        ),
        (
            lambda: running_sums("gamma"),
            ValueError,
            f"distribution must be one of {', '.join(DISTRIBUTIONS)}, got 'gamma'",
        ),
        (
            lambda: sample_cosines(6),
            ValueError,
            f"width must be one of {list(COSINE_WIDTHS)}; got 6",
        ),
        (lambda: cosine_density(torch.zeros(2), 1), ValueError, "width must be at least 2, got 1"),
        (
            lambda: cosine_density(torch.tensor([0.0, -1.5]), 3),
            ValueError,
            "x must lie in [-1, 1]; got values up to 1.5",
        ),
    ],
)
def test_bad_input(call, error, message):
    with raises_saying(error, message):
        call()

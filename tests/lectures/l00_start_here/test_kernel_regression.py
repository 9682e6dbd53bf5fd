"""Kernel regression as attention, against Nadaraya and Watson written out."""

import numpy as np
import pytest
import torch

from course_utils.attention import attend, effective_tokens
from course_utils.lectures.l00_start_here.experiments import kernel_regression
from course_utils.lectures.l00_start_here.experiments.kernel_regression import (
    NOISE,
    POINTS,
    compare_on_data_sets,
    kernel_estimate,
    keys,
    learned_coefficients,
    learned_precision,
    precision_features,
    queries,
    regression_data,
    static_precision,
    true_curve,
)
from tests.support_errors import raises_saying

CALM, WAVES = torch.tensor([0.15, 0.3, 0.45]), torch.tensor([0.8, 0.85, 0.9])


def written_out(at, bandwidth, x, y):
    """The estimate by its definition, in float64; one bandwidth for each point."""
    at, x, y = (np.asarray(part, dtype=np.float64) for part in (at, x, y))
    weights = np.exp(-((at[:, None] - x) ** 2) / (2 * np.asarray(bandwidth)[:, None] ** 2))
    weights /= weights.sum(1, keepdims=True)
    return weights @ y, weights


def a_problem(queries=7, points=11):
    generator = torch.Generator().manual_seed(5)
    at, x, y = (torch.rand(n, generator=generator) for n in (queries, points, points))
    return at, x, y


@pytest.mark.parametrize("bandwidth", [0.05, 0.2, 3.0])
def test_one_bandwidth_is_nadaraya_and_watson(bandwidth):
    at, x, y = a_problem()
    estimate, weights = kernel_estimate(at, static_precision(at, bandwidth), x, y)
    expected, expected_weights = written_out(at, np.full(7, bandwidth), x, y)
    # float32 exponents of up to 1 / (2 * 0.05^2) = 200, each good to 2e-5.
    assert np.allclose(estimate, expected, atol=1e-4)
    assert np.allclose(weights, expected_weights, atol=1e-4)


def test_each_query_may_have_its_own_bandwidth():
    at, x, y = a_problem()
    bandwidth = np.linspace(0.1, 0.7, 7)
    estimate, _ = kernel_estimate(at, torch.tensor(bandwidth**-2, dtype=torch.float32), x, y)
    assert np.allclose(estimate, written_out(at, bandwidth, x, y)[0], atol=1e-4)
    assert not np.allclose(estimate, written_out(at, bandwidth[::-1], x, y)[0], atol=1e-2)


def test_without_the_square_in_the_key_it_is_another_estimate():
    at, x, y = a_problem()
    precision = static_precision(at, 0.2)
    short = keys(x) * torch.tensor([1.0, 0.0])
    wrong, _ = attend(queries(at, precision), short, y[:, None], scale=1.0)
    assert not np.allclose(wrong[:, 0], written_out(at, np.full(7, 0.2), x, y)[0], atol=1e-2)


def test_the_curve_is_flat_and_then_makes_three_waves():
    x = torch.linspace(0, 1, 3001, dtype=torch.float64)
    curve = true_curve(x)
    assert torch.equal(curve[x < 0.7], torch.zeros_like(curve[x < 0.7]))
    waves = curve[x >= 0.7]
    assert int((waves[1:-1] > torch.maximum(waves[:-2], waves[2:])).sum()) == 3
    # The grid meets a top to within 1e-3 of a wave.
    assert float(waves.max()) == pytest.approx(1, abs=1e-3)


def test_the_data_are_the_curve_and_noise_and_the_same_each_time():
    data = regression_data(1)
    assert data.x.shape == data.y.shape == (POINTS,) and bool((data.x.diff() >= 0).all())
    residual = data.y - true_curve(data.x)
    # A standard deviation of 150 values is good to 4 / sqrt(300) = 23 %.
    assert float(residual.std()) == pytest.approx(NOISE, rel=0.23)
    assert torch.equal(data.truth, true_curve(data.grid))
    assert not torch.equal(regression_data(2).y, data.y)
    assert regression_data(seed=1) is data, "drawn once, then kept"
    kernel_regression._regression_data.cache_clear()
    assert regression_data(1) is not data
    assert torch.equal(regression_data(1).y, data.y)


def error_of(precision):
    data = regression_data(1)
    estimate, _ = kernel_estimate(data.grid, precision, data.x, data.y)
    return float((estimate - data.truth).square().mean())


def test_a_bandwidth_that_the_query_chooses_beats_every_fixed_one():
    grid = regression_data(1).grid
    fixed = [error_of(static_precision(grid, h)) for h in np.geomspace(0.003, 0.3, 41)]
    chosen = error_of(learned_precision(grid, 1))
    assert chosen < 0.85 * min(fixed)
    shuffled = learned_precision(grid, 1).flip(0)
    assert error_of(shuffled) > min(fixed), "the places matter, not the mixture of bandwidths"


def test_the_comparison_over_data_sets_is_the_error_of_each():
    bandwidths = (0.008, 0.016, 0.03)
    static, attention = compare_on_data_sets([1, 3], bandwidths)
    grid = regression_data(1).grid
    assert float(static[0]) == pytest.approx(
        min(error_of(static_precision(grid, h)) for h in bandwidths)
    )
    assert float(attention[0]) == pytest.approx(error_of(learned_precision(grid, 1)))
    assert static.shape == attention.shape == (2,) and static[0] != static[1]


def test_it_chooses_wide_where_the_curve_is_calm():
    calm, waves = (learned_precision(part, 1) ** -0.5 for part in (CALM, WAVES))
    assert bool((calm[:, None] > 2 * waves).all())


def test_temperature_widens():
    assert torch.allclose(
        learned_precision(CALM, 1, temperature=4.0) * 4, learned_precision(CALM, 1)
    )
    data, counts = regression_data(1), []
    for temperature in (0.1, 1.0, 16.0):
        precision = learned_precision(WAVES, 1, temperature)
        _, weights = kernel_estimate(WAVES, precision, data.x, data.y)
        counts.append(effective_tokens(weights))
    assert bool((counts[0] < counts[1]).all()) and bool((counts[1] < counts[2]).all())


def test_learning_is_the_same_each_time_and_leaves_the_seed_alone():
    first = learned_coefficients(1)
    kernel_regression._learned_coefficients.cache_clear()
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    assert torch.equal(learned_coefficients(1), first) and not first.requires_grad
    assert torch.equal(torch.rand(5), expected)
    z = 2 * CALM - 1
    assert torch.equal(precision_features(CALM), torch.stack([z**0, z, z * z], dim=1))


def test_the_coefficients_are_the_callers_own():
    kept = learned_coefficients(1).clone()
    learned_coefficients(1).zero_()
    assert torch.equal(learned_coefficients(1), kept) and bool(kept.any())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: static_precision(CALM, 0), ValueError, "bandwidth must be positive; got 0"),
        (
            lambda: static_precision(CALM, float("nan")),
            ValueError,
            "bandwidth must be finite, got nan",
        ),
        (
            lambda: learned_precision(CALM, 1, -1.0),
            ValueError,
            "temperature must be positive; got -1.0",
        ),
        (
            lambda: learned_precision(CALM, 1, "1"),
            TypeError,
            "temperature must be a real number, got '1' (str)",
        ),
        (lambda: compare_on_data_sets([]), ValueError, "seeds must not be empty, got []"),
        (
            lambda: compare_on_data_sets([1], ()),
            ValueError,
            "bandwidths must not be empty, got ()",
        ),
        (lambda: regression_data(-1), ValueError, "seed must be at least 0, got -1"),
        (
            lambda: kernel_estimate(CALM, torch.tensor([1.0, 0.0, 1.0]), WAVES, WAVES),
            ValueError,
            "precision must be positive; got 0",
        ),
        (
            lambda: kernel_estimate(CALM, torch.ones(2), WAVES, WAVES),
            ValueError,
            "precision must have one value for each of at, shape (3,); got (2,)",
        ),
        (
            lambda: kernel_estimate(CALM, torch.ones(3), WAVES, WAVES[:2]),
            ValueError,
            "y must have one value for each of x, shape (3,); got (2,)",
        ),
        (
            lambda: kernel_estimate(CALM[None], torch.ones(3), WAVES, WAVES),
            ValueError,
            "at must have 1 axes (T), got shape (1, 3)",
        ),
        (
            lambda: kernel_estimate([0.5], torch.ones(1), WAVES, WAVES),
            TypeError,
            "at must be a torch.Tensor, got list",
        ),
    ],
)
def test_bad_input(call, error, message):
    with raises_saying(error, message):
        call()

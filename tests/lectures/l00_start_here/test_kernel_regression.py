"""Kernel regression as attention, against Nadaraya and Watson written out."""

import numpy as np
import pytest
import torch

from course_utils.attention import attend, effective_tokens
from lectures.l00_start_here.experiments.kernel_regression import (
    NOISE,
    POINTS,
    kernel_estimate,
    keys,
    learned_precision,
    queries,
    regression_data,
    true_curve,
)
from lectures.l00_start_here.explorers.kernel_regression import KernelRegression
from tests.explorers.support_browser import InBrowser, differences

CALM, WAVES = torch.tensor([0.15, 0.3, 0.45]), torch.tensor([0.8, 0.85, 0.9])


def written_out(at, bandwidth, x, y):
    """The estimate by its definition, in float64; one bandwidth for each point."""
    at, x, y = (np.asarray(part, dtype=np.float64) for part in (at, x, y))
    weights = np.exp(-((at[:, None] - x) ** 2) / (2 * np.asarray(bandwidth)[:, None] ** 2))
    weights /= weights.sum(1, keepdims=True)
    return weights @ y, weights


def same_everywhere(at, bandwidth):
    """1/h^2 for each query."""
    return torch.full_like(at, bandwidth**-2)


def a_problem(queries=7, points=11):
    generator = torch.Generator().manual_seed(5)
    at, x, y = (torch.rand(n, generator=generator) for n in (queries, points, points))
    return at, x, y


@pytest.mark.parametrize("bandwidth", [0.05, 0.2, 3.0])
def test_estimate_is_nadaraya_watsons(bandwidth):
    at, x, y = a_problem()
    estimate, weights = kernel_estimate(at, same_everywhere(at, bandwidth), x, y)
    expected, expected_weights = written_out(at, np.full(7, bandwidth), x, y)
    # float32 exponents of up to 1 / (2 * 0.05^2) = 200, each good to 2e-5.
    assert np.allclose(estimate, expected, atol=1e-4)
    assert np.allclose(weights, expected_weights, atol=1e-4)


def test_each_query_has_its_bandwidth():
    at, x, y = a_problem()
    bandwidth = np.linspace(0.1, 0.7, 7)
    estimate, _ = kernel_estimate(at, torch.tensor(bandwidth**-2, dtype=torch.float32), x, y)
    assert np.allclose(estimate, written_out(at, bandwidth, x, y)[0], atol=1e-4)
    assert not np.allclose(estimate, written_out(at, bandwidth[::-1], x, y)[0], atol=1e-2)


def test_keys_need_their_square():
    at, x, y = a_problem()
    precision = same_everywhere(at, 0.2)
    short = keys(x) * torch.tensor([1.0, 0.0])
    wrong, _ = attend(queries(at, precision), short, y[:, None], scale=1.0)
    assert not np.allclose(wrong[:, 0], written_out(at, np.full(7, 0.2), x, y)[0], atol=1e-2)


def test_curve_is_flat_then_three_waves():
    x = torch.linspace(0, 1, 3001, dtype=torch.float64)
    curve = true_curve(x)
    assert torch.equal(curve[x < 0.7], torch.zeros_like(curve[x < 0.7]))
    waves = curve[x >= 0.7]
    assert int((waves[1:-1] > torch.maximum(waves[:-2], waves[2:])).sum()) == 3
    # The grid meets a top to within 1e-3 of a wave.
    assert float(waves.max()) == pytest.approx(1, abs=1e-3)


def test_data_are_curve_and_noise():
    data = regression_data(1)
    assert data.x.shape == data.y.shape == (POINTS,) and bool((data.x.diff() >= 0).all())
    residual = data.y - true_curve(data.x)
    # A standard deviation of 150 values is good to 4 / sqrt(300) = 23 %.
    assert float(residual.std()) == pytest.approx(NOISE, rel=0.23)
    assert torch.equal(data.truth, true_curve(data.grid))
    assert not torch.equal(regression_data(2).y, data.y)
    regression_data.cache_clear()
    assert torch.equal(regression_data(1).y, data.y)


def error_of(precision):
    data = regression_data(1)
    estimate, _ = kernel_estimate(data.grid, precision, data.x, data.y)
    return float((estimate - data.truth).square().mean())


def test_learned_beats_every_fixed():
    grid = regression_data(1).grid
    fixed = [error_of(same_everywhere(grid, h)) for h in np.geomspace(0.003, 0.3, 41)]
    chosen = error_of(learned_precision(grid, 1))
    assert chosen < 0.85 * min(fixed)
    shuffled = learned_precision(grid, 1).flip(0)
    assert error_of(shuffled) > min(fixed), "the places matter, not the mixture of bandwidths"


def test_wide_where_the_curve_is_calm():
    calm, waves = (learned_precision(part, 1) ** -0.5 for part in (CALM, WAVES))
    assert bool((calm[:, None] > 2 * waves).all())


# The picture


@pytest.fixture(scope="module")
def picture():
    with InBrowser(KernelRegression()) as found:
        yield found


def squared_error(curve, truth):
    return np.square(curve - truth).mean()


def expected(at, bandwidth, chooses, point, shift):
    data = regression_data(1)
    x, y, grid, truth = (each.double().numpy() for each in (data.x, data.y, data.grid, data.truth))
    values = y.copy()
    values[point] = np.clip(y[point] + shift, -2, 2)
    queries = torch.tensor([*grid, at], dtype=torch.float64)
    same = np.full(len(queries), bandwidth)
    own = learned_precision(queries).rsqrt().numpy() if chooses else same
    out, weights = written_out(queries, own, x, values)
    fixed, _ = written_out(grid, same[:-1], x, values)
    moved = values[point] - y[point]
    return {
        "bandwidth": own[-1],
        "weights": weights[-1],
        "values": values,
        "out": out[-1],
        "effective": effective_tokens(torch.from_numpy(weights[-1])),
        "curve": out[:-1],
        "fixed": fixed,
        "error": squared_error(out[:-1], truth),
        "fixed_bandwidth": bandwidth,
        "fixed_error": squared_error(fixed, truth),
        "moved": moved,
        "effect": weights[-1, point] * moved,
    }


def test_the_picture_is_nadaraya_watsons(picture):
    assert differences(picture, expected) == []


def test_choosing_beats_one_bandwidth(picture):
    for chooses in (False, True):
        state = picture.compute(at=0.83, bandwidth=0.02, chooses=chooses)
        assert (state.error < state.fixed_error) is chooses


def test_a_moved_value_moves_the_output_by_its_weight(picture):
    effects = {}
    for point in (42, 120):
        before = picture.compute(at=0.3, point=point)
        after = picture.compute(at=0.3, point=point, shift=1.5)
        assert after.moved == pytest.approx(1.5)
        assert after.out - before.out == pytest.approx(after.effect, abs=1e-12)
        assert np.array_equal(after.weights, before.weights), "values do not enter the weights"
        effects[point] = abs(after.effect)
    assert effects[120] < 1e-12 < effects[42]

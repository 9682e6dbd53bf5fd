"""Confidence intervals against scipy, and by how often they hold."""

import pytest
import scipy.stats
import torch

from course_utils.measure.estimates import Z_99, estimate_mean


def test_the_quantile_is_scipys():
    assert pytest.approx(scipy.stats.norm.ppf(0.995), abs=1e-15) == Z_99


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_interval_is_scipys(dtype):
    samples = 3 + 2 * torch.randn(997, generator=torch.Generator().manual_seed(1), dtype=dtype)
    interval = estimate_mean(samples)
    low, high = scipy.stats.norm.interval(
        0.99, loc=samples.double().mean(), scale=scipy.stats.sem(samples.double().numpy())
    )
    assert interval.mean - interval.half_width == pytest.approx(low)
    assert interval.mean + interval.half_width == pytest.approx(high)
    assert 3.0 in interval and 3.5 not in interval


def test_holds_99_times_in_100():
    repeats, count = 3000, 499
    samples = torch.empty(repeats, count).exponential_(generator=torch.Generator().manual_seed(2))
    held = sum(1.0 in estimate_mean(each) for each in samples) / repeats
    # Four standard errors of a share of 0.99 are 0.007; an exponential mean of 499 is itself
    # skewed, which costs about 0.003. An interval of 95 % would be found out.
    assert 0.98 < held < 0.997


def test_large_offset_keeps_precision():
    samples = torch.tensor([2.0**20 - 1, 2.0**20 + 1] * 50)
    interval = estimate_mean(samples)
    assert interval.mean == 2.0**20
    assert interval.half_width == pytest.approx(Z_99 * (100 / 99) ** 0.5 / 10)

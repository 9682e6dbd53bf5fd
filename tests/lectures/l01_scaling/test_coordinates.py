"""Coordinates that are made by counting, against scipy's distributions."""

import math

import numpy as np
import pytest
import scipy.stats

from lectures.l01_scaling.explorers.score_width import ALL_EQUAL, CAUCHY, COINS, UNIFORM
from tests.lectures.l01_scaling.support_vectors import coordinates

SCIPY = {
    "normal": scipy.stats.norm(),
    UNIFORM: scipy.stats.uniform(-math.sqrt(3), 2 * math.sqrt(3)),
    CAUCHY: scipy.stats.cauchy(),
}
# A seed is fixed, so a p-value is one number: far below this means another distribution.
DOUBT = 1e-3


@pytest.mark.parametrize("name", SCIPY)
def test_coordinates_follow_scipy(name):
    for found in coordinates(name, 251, 199, seed=11):
        sample = found.ravel()
        assert scipy.stats.kstest(sample, SCIPY[name].cdf).pvalue > DOUBT
        assert scipy.stats.kstest(1.05 * sample, SCIPY[name].cdf).pvalue < DOUBT


def test_coins_are_fair():
    for found in coordinates(COINS, 251, 199, seed=11):
        assert set(np.unique(found)) == {-1, 1}
        assert abs(found.mean()) < 4 / math.sqrt(found.size)


@pytest.mark.parametrize("name", ["normal", COINS, UNIFORM])
def test_counted_coordinates_are_uncorrelated(name):
    """Along a row, along a column, between a and c, and between neighbouring seeds."""
    a, c = coordinates(name, 400, 300, seed=0)
    other, _ = coordinates(name, 400, 300, seed=1)
    pairs = ((a, c), (a[:, 1:], a[:, :-1]), (a[1:], a[:-1]), (a[:-2], other[2:]))
    for one, two in pairs:
        assert abs((one * two).mean()) < 4 / math.sqrt(one.size)
    # A seed moves the rows by one: two seeds next to each other share all rows but one.
    assert np.array_equal(a[1:], other[:-1])


def test_queries_share_no_row():
    queries = coordinates("normal", 64, 1, queries=list(range(1, 13)))
    every = np.r_[queries.ravel(), coordinates("normal", 2000, 1).ravel()]
    assert len(np.unique(every)) == len(every)


def test_rows_go_on_alike():
    short, long = (coordinates("normal", 5, width, seed=3) for width in (7, 31))
    assert np.array_equal(short, long[:, :, :7])


def test_equal_coordinates_are_one():
    a, c = coordinates(ALL_EQUAL, 3, 5, seed=7)
    for each in (a, c):
        assert np.array_equal(each, np.repeat(each[:, :1], 5, axis=1)) and len(set(each[:, 0])) == 3
    assert not np.array_equal(a, c)

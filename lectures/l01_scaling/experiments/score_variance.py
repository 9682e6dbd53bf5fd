"""Coordinates of queries and keys from several distributions, and what their scores are by formula.

What the explorer draws is made by counting, not by a generator's state: the same few lines in
Python and in the browser (score_width.samples.js) give the same numbers. With q = m + s a and
k = m + s b, b = r a + sqrt(1 - r^2) c, where a and c are independent with mean 0 and variance 1,

    q . k = d m^2 + m s sum(a + b) + s^2 sum(a b)

and all sums over the first d coordinates are linear in four running sums: of a, c, a^2 and a c.
So moving a slider costs a few vector operations, and the numbers are still real samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

# Between two powers of two lies one width more, so that a dragged spread follows the hand.
WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
SAMPLES = 2000
KEYS = 64
QUERIES = 12
TYPICAL = 7  # its largest weight at widths 4, 16, 64 and 512 is nearest to the mean over queries
# One normal number for all coordinates of q, another for those of k: not independent.
ALL_EQUAL = "normal, all equal"
COINS, UNIFORM, CAUCHY = "±1 (coin flips)", "uniform", "Cauchy (infinite variance)"
# name → fourth moment E[a^4] of the standardised coordinate (None: it has no variance).
DISTRIBUTIONS: dict[str, float | None] = {
    "normal": 3.0,
    COINS: 1.0,
    UNIFORM: 9 / 5,
    CAUCHY: None,
    ALL_EQUAL: 3.0,
}
GOLDEN = 0x9E3779B9  # 2^32 divided by the golden ratio: far-apart seeds from 0, 1, 2, …


@dataclass(frozen=True)
class ScoreLaw:
    """What the proof predicts for q . k: its mean and variance, or None where none exists."""

    mean: float | None
    variance: float | None

    def divided_by(self, divisor: float) -> ScoreLaw:
        """The law of q . k / divisor.

        >>> ScoreLaw(32.0, 64.0).divided_by(8.0)
        ScoreLaw(mean=4.0, variance=1.0)
        """
        return ScoreLaw(
            None if self.mean is None else self.mean / divisor,
            None if self.variance is None else self.variance / divisor**2,
        )


def mixed(x: np.ndarray) -> np.ndarray:
    """Each 32-bit number scrambled; neighbours come out unrelated.

    Source: C. Wellons, "Prospecting for hash functions" (2018), lowbias32.

    >>> mixed(np.array([0, 1, 2], dtype=np.uint32)).tolist()
    [0, 1753845952, 3507691905]
    """
    x = x ^ (x >> np.uint32(16))
    x = x * np.uint32(0x7FEB352D)
    x = x ^ (x >> np.uint32(15))
    x = x * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def counted_coordinates(
    distribution: str, seed: int, rows: int, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates a and c, (rows, width) each, the same for a seed."""
    count = 1 if distribution == ALL_EQUAL else width
    # From 1, for 0 stays 0 when it is mixed.
    key = mixed(np.uint32(seed) + np.arange(1, rows + 1, dtype=np.uint32))[:, None]
    words = mixed(key + np.arange(2 * count, dtype=np.uint32) * np.uint32(GOLDEN))
    first, second = words[:, ::2], words[:, 1::2]
    if distribution == COINS:
        a, c = (1 - 2.0 * (half >> np.uint32(31)) for half in (first, second))
    elif distribution == UNIFORM:
        a, c = (math.sqrt(3) * (2 * (half + 0.5) / 2**32 - 1) for half in (first, second))
    elif distribution == CAUCHY:
        a, c = (_cauchy(half) for half in (first, second))
    else:  # Box and Muller: a pair of normals
        radius = np.sqrt(-2 * np.log((first + 0.5) / 2**32))
        angle = 2 * math.pi * ((second + 0.5) / 2**32)
        a, c = radius * np.cos(angle), radius * np.sin(angle)
    wide = (rows, width)
    return np.broadcast_to(a, wide), np.broadcast_to(c, wide)


def _cauchy(words: np.ndarray) -> np.ndarray:
    """The last bit is the sign, so that the tangent is never taken next to its pole."""
    share = ((words >> np.uint32(1)) + 0.5) / 2**31
    return (1 - 2.0 * (words & np.uint32(1))) / np.tan(math.pi / 2 * share)


@lru_cache(maxsize=len(DISTRIBUTIONS))
def running_sums(distribution: str) -> dict[int, np.ndarray]:
    """For each width d: the sums over d coordinates of a, c, a^2 and a c, (4, 2000), one a pair."""
    return _sums(*counted_coordinates(distribution, 0, SAMPLES, WIDTHS[-1]))


@lru_cache(maxsize=64)
def query_sums(distribution: str, query: int, keys: int) -> dict[int, np.ndarray]:
    """The same for one query and several keys: all of them have the query's a."""
    a, c = counted_coordinates(distribution, query_seed(query), keys, WIDTHS[-1])
    return _sums(np.broadcast_to(a[:1], a.shape), c)


def query_seed(query: int) -> int:
    """Far from that of the 2,000 pairs, 0, and of other queries; a typical one is number 7."""
    return GOLDEN * (query + 13) % 2**32


def _sums(a: np.ndarray, c: np.ndarray) -> dict[int, np.ndarray]:
    sums = np.stack([part.cumsum(axis=1) for part in (a, c, a * a, a * c)])
    return {width: sums[:, :, width - 1].copy() for width in WIDTHS}


def scores_from(
    sums: np.ndarray,
    width: int,
    *,
    correlation: float = 0.0,
    variance: float = 1.0,
    mean: float = 0.0,
) -> np.ndarray:
    """Undivided scores q . k, (N,), from their running sums (4, N) at this width.

    >>> round(float(scores_from(running_sums("normal")[64], 64).std()))  # the square root of 64
    8
    """
    sum_a, sum_c, sum_aa, sum_ac = sums
    rest = math.sqrt(1 - correlation * correlation)
    sum_b = correlation * sum_a + rest * sum_c
    sum_ab = correlation * sum_aa + rest * sum_ac
    return width * mean * mean + mean * math.sqrt(variance) * (sum_a + sum_b) + variance * sum_ab


def score_law(
    distribution: str,
    width: int,
    *,
    correlation: float = 0.0,
    variance: float = 1.0,
    mean: float = 0.0,
) -> ScoreLaw:
    """Mean and variance of q . k by formula, for symmetric coordinates.

        mean = d (m^2 + r s^2)
        variance = d (2 m^2 s^2 (1 + r) + s^4 (1 + r^2 (E[a^4] - 2)))

    Coordinates that are all equal add up instead of averaging out: d^2 in the place of d there.
    With r = 0, m = 0, s = 1 this is the lecture's: mean 0, variance d.

    >>> score_law("uniform", 64)
    ScoreLaw(mean=0.0, variance=64.0)
    >>> score_law("normal", 64, correlation=0.5).mean
    32.0
    """
    fourth = DISTRIBUTIONS[distribution]
    if fourth is None:
        return ScoreLaw(None, None)
    shifted = 2 * mean**2 * variance * (1 + correlation)
    product = variance**2 * (1 + correlation**2 * (fourth - 2))
    terms = width**2 if distribution == ALL_EQUAL else width
    return ScoreLaw(width * (mean**2 + correlation * variance), terms * (shifted + product))

"""Samples of dot products at every head width, drawn once and reused by every slider position.

With q = m + s a and k = m + s (r a + sqrt(1 - r^2) c), where a and c are independent with mean 0
and variance 1, the score is

    q . k = d m^2 + m s sum(a + b) + s^2 sum(a b),    b = r a + sqrt(1 - r^2) c

and all sums over the first d coordinates are linear in four running sums: of a, c, a^2 and a c.
So moving a slider costs a few vector operations, and the numbers are still real samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.shapes import Float

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SAMPLES = 4000
HEAVY_DEGREES = 5

# One normal number for all coordinates of q, another for those of k: not independent.
ALL_EQUAL = "normal, all equal"
# name → fourth moment E[a^4] of the standardised coordinate (None: it has no variance).
DISTRIBUTIONS: dict[str, float | None] = {
    "normal": 3.0,
    "±1 (coin flips)": 1.0,
    "uniform": 9 / 5,
    "heavy-tailed (Student t, 5)": 3 + 6 / (HEAVY_DEGREES - 4),
    "Cauchy (no variance)": None,
    ALL_EQUAL: 3.0,
}


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


def draw_coordinates(
    distribution: str, shape: tuple[int, ...], generator: torch.Generator
) -> Tensor:
    """Coordinates of mean 0 and variance 1 (the Cauchy ones have neither), along the last axis.

    They are independent, but for ALL_EQUAL, where they are one and the same number.
    """
    if distribution == ALL_EQUAL:
        return torch.randn((*shape[:-1], 1), generator=generator).expand(shape)
    normal = torch.randn(shape, generator=generator)
    if distribution == "normal":
        return normal
    if distribution == "±1 (coin flips)":
        return torch.where(normal > 0, 1.0, -1.0)
    if distribution == "uniform":
        return math.sqrt(3) * (2 * torch.rand(shape, generator=generator) - 1)
    if distribution == "Cauchy (no variance)":
        return normal / torch.randn(shape, generator=generator)
    return _student_t(shape, generator) * math.sqrt((HEAVY_DEGREES - 2) / HEAVY_DEGREES)


def _student_t(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Student's t by Bailey's polar method (Mathematics of Computation 62, 1994)."""
    radius, angle = (torch.rand(shape, generator=generator) for _ in range(2))
    away = (1 - radius) ** (-2 / HEAVY_DEGREES) - 1  # 1 - radius lies in (0, 1]
    return (HEAVY_DEGREES * away).sqrt() * torch.cos(2 * math.pi * angle)


@lru_cache(maxsize=len(DISTRIBUTIONS))
def running_sums(distribution: str) -> dict[int, Float[Tensor, "4 N"]]:
    """For each width d: the sums over d coordinates of a, c, a^2 and a c, for 4000 pairs."""
    generator = torch.Generator().manual_seed(0)
    total = torch.zeros(4, SAMPLES)
    sums, done = {}, 0
    for width in WIDTHS:
        if distribution == ALL_EQUAL:
            generator.manual_seed(0)  # the same numbers for the further coordinates
        a, c = (
            draw_coordinates(distribution, (SAMPLES, width - done), generator) for _ in range(2)
        )
        total = total + torch.stack([part.sum(1) for part in (a, c, a * a, a * c)])
        sums[width], done = total, width
    return sums


def sample_scores(
    distribution: str,
    width: int,
    *,
    correlation: float = 0.0,
    variance: float = 1.0,
    mean: float = 0.0,
) -> Float[Tensor, " N"]:
    """4000 unscaled scores q . k of this head width.

    Args:
        distribution: one of DISTRIBUTIONS.
        width: d_k, one of WIDTHS.
        correlation: r between coordinate i of q and of k.
        variance: s^2 of every coordinate.
        mean: m of every coordinate.

    >>> float(sample_scores("normal", 64).std().round())  # the square root of 64
    8.0
    """
    sum_a, sum_c, sum_aa, sum_ac = running_sums(distribution)[width]
    rest = math.sqrt(1 - correlation**2)
    sum_b = correlation * sum_a + rest * sum_c
    sum_ab = correlation * sum_aa + rest * sum_ac
    return width * mean**2 + mean * math.sqrt(variance) * (sum_a + sum_b) + variance * sum_ab


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

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

from course_utils.checks import (
    check_choice,
    check_finite,
    check_generator,
    check_int,
    check_seed,
    check_sequence,
    check_values,
)
from course_utils.shapes import Float

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SAMPLES = 4000
HEAVY_DEGREES = 5
# Beyond it, squares of a mean or a variance would leave the range of float32.
LARGEST_MOMENT = 1e12
WIDEST = 10**6

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
    """What the proof predicts for q . k: its mean and variance, or None where none exists.

    Raises:
        TypeError, ValueError: when one is neither None nor a finite number, or the variance is
            negative.
    """

    mean: float | None
    variance: float | None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None:
                check_finite(name, value)
        if self.variance is not None and self.variance < 0:
            raise ValueError(f"variance must not be negative; got {self.variance}")

    def divided_by(self, divisor: float) -> ScoreLaw:
        """The law of q . k / divisor.

        Raises:
            TypeError, ValueError: when the divisor is not a positive finite number, or too small
                for the result to be finite.

        >>> ScoreLaw(32.0, 64.0).divided_by(8.0)
        ScoreLaw(mean=4.0, variance=1.0)
        """
        if check_finite("divisor", divisor) <= 0:
            raise ValueError(f"divisor must be positive; got {divisor}")
        mean = None if self.mean is None else self.mean / divisor
        # Divided twice: the square of a small divisor would be 0.
        variance = None if self.variance is None else self.variance / divisor / divisor
        if not all(math.isfinite(value) for value in (mean, variance) if value is not None):
            raise ValueError(f"divisor must leave mean and variance finite; got {divisor}")
        return ScoreLaw(mean, variance)


def draw_coordinates(
    distribution: str, shape: tuple[int, ...], generator: torch.Generator
) -> Tensor:
    """Coordinates of mean 0 and variance 1 (the Cauchy ones have neither), along the last axis.

    They are independent, but for ALL_EQUAL, where they are one and the same number.

    Raises:
        TypeError: when `shape` is not a sequence of integers, or `generator` no torch.Generator.
        ValueError: for an unknown distribution, or an axis without a coordinate.

    >>> coins = draw_coordinates("±1 (coin flips)", (3, 5), torch.Generator().manual_seed(0))
    >>> sorted(set(coins.flatten().tolist()))
    [-1.0, 1.0]
    """
    check_choice("distribution", distribution, DISTRIBUTIONS)
    shape = tuple(
        check_int(f"shape[{axis}]", size)
        for axis, size in enumerate(check_sequence("shape", shape))
    )
    check_generator("generator", generator)
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


def running_sums(distribution: str, seed: int = 0) -> dict[int, Float[Tensor, "4 N"]]:
    """For each width d: the sums over d coordinates of a, c, a^2 and a c, for 4000 pairs.

    They are kept and shared: do not change them in place.

    Raises:
        TypeError, ValueError: for an unknown distribution, or a seed that is not an integer of at
            least 0.

    >>> running_sums("normal")[64].shape
    torch.Size([4, 4000])
    """
    check_choice("distribution", distribution, DISTRIBUTIONS)
    return _running_sums(distribution, check_seed(seed))


@lru_cache(maxsize=len(DISTRIBUTIONS))
def _running_sums(distribution: str, seed: int) -> dict[int, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    total = torch.zeros(4, SAMPLES)
    sums, done = {}, 0
    for width in WIDTHS:
        if distribution == ALL_EQUAL:
            generator.manual_seed(seed)  # the same numbers for the further coordinates
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
        correlation: r between coordinate i of q and of k, in [-1, 1].
        variance: s^2 of every coordinate, positive, at most 1e12.
        mean: m of every coordinate, at most 1e12 in size.

    Raises:
        TypeError, ValueError: for a value outside those.

    >>> float(sample_scores("normal", 64).std().round())  # the square root of 64
    8.0
    """
    _check_law(distribution, width, correlation, variance, mean)
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

    Raises:
        TypeError, ValueError: for a value that `sample_scores` would not take.

    >>> score_law("uniform", 64)
    ScoreLaw(mean=0.0, variance=64.0)
    >>> score_law("normal", 64, correlation=0.5).mean
    32.0
    """
    _check_law(distribution, width, correlation, variance, mean)
    fourth = DISTRIBUTIONS[distribution]
    if fourth is None:
        return ScoreLaw(None, None)
    shifted = 2 * mean**2 * variance * (1 + correlation)
    product = variance**2 * (1 + correlation**2 * (fourth - 2))
    terms = width**2 if distribution == ALL_EQUAL else width
    return ScoreLaw(width * (mean**2 + correlation * variance), terms * (shifted + product))


def _check_law(
    distribution: str, width: int, correlation: float, variance: float, mean: float
) -> None:
    check_choice("distribution", distribution, DISTRIBUTIONS)
    if check_int("width", width) not in WIDTHS:
        raise ValueError(f"width must be one of {list(WIDTHS)}; got {width}")
    if not -1 <= check_finite("correlation", correlation) <= 1:
        raise ValueError(f"correlation must lie in [-1, 1]; got {correlation}")
    if check_finite("variance", variance) <= 0:
        raise ValueError(f"variance must be positive; got {variance}")
    for what, value in (("variance", variance), ("mean", mean)):
        if abs(check_finite(what, value)) > LARGEST_MOMENT:
            raise ValueError(f"{what} must be at most {LARGEST_MOMENT:g} in size; got {value}")


COSINE_WIDTHS = (2, 3, 4, 5, 8, 16, 32, 64, 128, 256, 512, 1024)
COSINE_SAMPLES = 8000


@lru_cache(maxsize=1)
def _cosine_table() -> dict[int, Tensor]:
    generator = torch.Generator().manual_seed(0)
    sums = {name: torch.zeros(COSINE_SAMPLES) for name in ("qq", "kk", "qk")}
    table, done = {}, 0
    for width in COSINE_WIDTHS:
        q, k = (torch.randn(COSINE_SAMPLES, width - done, generator=generator) for _ in range(2))
        for name, product in (("qq", q * q), ("kk", k * k), ("qk", q * k)):
            sums[name] = sums[name] + product.sum(1)
        table[width] = sums["qk"] / (sums["qq"] * sums["kk"]).sqrt()
        done = width
    return table


def sample_cosines(width: int) -> Float[Tensor, " N"]:
    """8000 cosines between independent random directions in `width` dimensions.

    Raises:
        TypeError, ValueError: for a width that is not one of COSINE_WIDTHS.

    >>> round(float(sample_cosines(64).var()) * 64, 1)
    1.0
    """
    if check_int("width", width) not in COSINE_WIDTHS:
        raise ValueError(f"width must be one of {list(COSINE_WIDTHS)}; got {width}")
    # A copy: the caller may change it, the kept one must stay.
    return _cosine_table()[width].clone()


def cosine_density(x: Float[Tensor, " N"], width: int) -> Float[Tensor, " N"]:
    """The density of that cosine: Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) (1 - x^2)^((d-3)/2).

    In two dimensions it grows without bound at ±1, in three it is flat.

    >>> cosine_density(torch.tensor([0.0, 0.9]), 3).tolist()
    [0.5, 0.5]

    Raises:
        TypeError: when x is not a floating-point tensor, or width not an integer.
        ValueError: when width is below 2, where there are only two directions, or above 10^6,
            where lgamma has no digits to spare; when x has not one axis, or an x is no cosine.
    """
    check_int("width", width, minimum=2, maximum=WIDEST)
    check_values("x", x, "N")
    if not bool((x.abs() <= 1).all()):
        raise ValueError(f"x must lie in [-1, 1]; got values up to {float(x.abs().max()):.3g}")
    log_norm = math.lgamma(width / 2) - math.lgamma((width - 1) / 2) - 0.5 * math.log(math.pi)
    return math.exp(log_norm) * (1 - x.square()) ** ((width - 3) / 2)

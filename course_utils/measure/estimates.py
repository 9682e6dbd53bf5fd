"""An estimate with its uncertainty: a mean and the half-width of its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from course_utils.checks import check_finite, check_values

# Two-sided 99 % quantile of the normal distribution.
Z_99 = 2.5758293035489004


@dataclass(frozen=True)
class Interval:
    """A mean and the half-width of its 99 % confidence interval.

    Raises:
        TypeError, ValueError: when one is not a finite number, or the half-width is negative.

    >>> interval = Interval(1.02, 0.03)
    >>> print(interval), 1.0 in interval, 1.1 in interval
    1.020 ± 0.030
    (None, True, False)
    """

    mean: float
    half_width: float

    def __post_init__(self) -> None:
        check_finite("mean", self.mean)
        if check_finite("half_width", self.half_width) < 0:
            raise ValueError(f"half_width must not be negative, got {self.half_width}")

    def __contains__(self, value: float) -> bool:
        return abs(value - self.mean) <= self.half_width

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.half_width:.3f}"


def estimate_mean(samples: Tensor) -> Interval:
    """The mean of independent samples with its 99 % confidence interval.

    mean ± 2.576 s / sqrt(n), with s the standard deviation (n - 1) of the n samples: the central
    limit theorem's interval, so n should be some hundreds. It leaves out the true mean once in a
    hundred times.

    Args:
        samples: shape (n,), floating point, n at least 2, in the unit of the result.

    Raises:
        TypeError: when the samples are not floating point.
        ValueError: for another rank, fewer than two samples, or one that is not finite.

    >>> import torch
    >>> 0.0 in estimate_mean(torch.randn(1000, generator=torch.Generator().manual_seed(0)))
    True
    """
    check_values("samples", samples, "n")
    if len(samples) < 2:
        raise ValueError(f"samples must be at least 2, to have a spread, got {len(samples)}")
    values = samples.double()
    return Interval(float(values.mean()), Z_99 * float(values.std()) / math.sqrt(len(values)))

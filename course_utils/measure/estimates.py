"""An estimate with its uncertainty: a mean and the half-width of its confidence interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

# Two-sided 99 % quantile of the normal distribution.
Z_99 = 2.5758293035489004


@dataclass(frozen=True)
class Interval:
    """A mean and the half-width of its 99 % confidence interval.

    >>> interval = Interval(1.02, 0.03)
    >>> print(interval), 1.0 in interval, 1.1 in interval
    1.020 ± 0.030
    (None, True, False)
    """

    mean: float
    half_width: float

    def __contains__(self, value: float) -> bool:
        return abs(value - self.mean) <= self.half_width

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.half_width:.3f}"


def estimate_mean(samples: Tensor) -> Interval:
    """The mean of independent samples with its 99 % confidence interval.

    mean ± 2.576 s / sqrt(n), with s the standard deviation (n - 1) of the n samples: the central
    limit theorem's interval, so n should be some hundreds. It misses the true mean once in a
    hundred times.

    Args:
        samples: shape (n,), floating point, n at least 2, in the unit of the result.

    >>> import torch
    >>> 0.0 in estimate_mean(torch.randn(1000, generator=torch.Generator().manual_seed(0)))
    True
    """
    values = samples.cpu().double()
    return Interval(float(values.mean()), Z_99 * float(values.std()) / math.sqrt(len(values)))

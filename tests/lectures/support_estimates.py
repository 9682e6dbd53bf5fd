"""An estimate with its uncertainty."""

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """A mean and the half-width of its 99 % confidence interval."""

    mean: float
    half_width: float

    def __contains__(self, value):
        return abs(value - self.mean) <= self.half_width


def estimate_mean(samples):
    """The mean of independent samples: the central limit theorem's interval misses 1 in 100."""
    values = samples.double()
    return Interval(float(values.mean()), 2.576 * float(values.std()) / math.sqrt(len(values)))

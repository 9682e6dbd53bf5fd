"""What the lecture measures."""

from lectures.l00_start_here.experiments.context_shift import (
    BAT_ANIMAL,
    BAT_CLUB,
    BAT_ELSEWHERE,
    measure_context_shift,
)
from lectures.l00_start_here.experiments.kernel_regression import (
    BANDWIDTHS,
    kernel_estimate,
    learned_precision,
    regression_data,
)

__all__ = [
    "BANDWIDTHS",
    "BAT_ANIMAL",
    "BAT_CLUB",
    "BAT_ELSEWHERE",
    "kernel_estimate",
    "learned_precision",
    "measure_context_shift",
    "regression_data",
]

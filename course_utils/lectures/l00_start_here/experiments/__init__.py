"""What the lecture measures; what it trains besides is for its claims."""

from course_utils.lectures.l00_start_here.experiments.context_shift import (
    BAT_ANIMAL,
    BAT_CLUB,
    BAT_ELSEWHERE,
    measure_context_shift,
)
from course_utils.lectures.l00_start_here.experiments.kernel_regression import regression_data

__all__ = ["BAT_ANIMAL", "BAT_CLUB", "BAT_ELSEWHERE", "measure_context_shift", "regression_data"]

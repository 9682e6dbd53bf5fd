"""What the lecture trains and measures."""

from course_utils.lectures.l00_start_here.experiments.context_shift import (
    BAT_ANIMAL,
    BAT_CLUB,
    measure_context_shift,
)
from course_utils.lectures.l00_start_here.experiments.kernel_regression import (
    compare_on_data_sets,
    regression_data,
)

__all__ = [
    "BAT_ANIMAL",
    "BAT_CLUB",
    "compare_on_data_sets",
    "measure_context_shift",
    "regression_data",
]

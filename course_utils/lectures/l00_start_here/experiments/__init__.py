"""What the lecture trains and measures."""

from course_utils.lectures.l00_start_here.experiments.context_shift import (
    BAT_ANIMAL,
    BAT_CLUB,
    BAT_ELSEWHERE,
    measure_context_shift,
)
from course_utils.lectures.l00_start_here.experiments.fixed_state import (
    AttentionRecall,
    LSTMRecall,
    pairs_known,
    train_recall,
)
from course_utils.lectures.l00_start_here.experiments.gradient_reach import powers_left
from course_utils.lectures.l00_start_here.experiments.kernel_regression import (
    compare_on_data_sets,
    regression_data,
)

__all__ = [
    "BAT_ANIMAL",
    "BAT_CLUB",
    "BAT_ELSEWHERE",
    "AttentionRecall",
    "LSTMRecall",
    "compare_on_data_sets",
    "measure_context_shift",
    "pairs_known",
    "powers_left",
    "regression_data",
    "train_recall",
]

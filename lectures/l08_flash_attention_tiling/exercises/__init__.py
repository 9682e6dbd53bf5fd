"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l08_flash_attention_tiling.exercises.causal_kernel import CAUSAL_KERNEL
from lectures.l08_flash_attention_tiling.exercises.merge import MERGE
from lectures.l08_flash_attention_tiling.exercises.missing_rescale import (
    MISSING_RESCALE,
)
from lectures.l08_flash_attention_tiling.exercises.tiled_bytes import TILED_BYTES

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_causal_kernel",
    "check_merge",
    "check_missing_rescale",
    "check_tiled_bytes",
    "guesses",
    "predict",
]

EXERCISES = (MERGE, TILED_BYTES, MISSING_RESCALE, CAUSAL_KERNEL)

check_merge = MERGE.check
check_tiled_bytes = TILED_BYTES.check
check_missing_rescale = MISSING_RESCALE.check
check_causal_kernel = CAUSAL_KERNEL.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l08_flash_attention_tiling.exercises.merge import check_merge
from course_utils.lectures.l08_flash_attention_tiling.exercises.missing_rescale import (
    check_missing_rescale,
)
from course_utils.lectures.l08_flash_attention_tiling.exercises.tiled_bytes import check_tiled_bytes
from course_utils.teaching.quiz import read_quiz

__all__ = ["QUIZ", "check_merge", "check_missing_rescale", "check_tiled_bytes"]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

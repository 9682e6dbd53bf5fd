"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l05_causal_mask.exercises.cached_step import check_cached_step
from course_utils.lectures.l05_causal_mask.exercises.leak import check_leak
from course_utils.lectures.l05_causal_mask.exercises.leak_models import leak_suspects, tokens
from course_utils.lectures.l05_causal_mask.exercises.masks import check_masks
from course_utils.teaching.quiz import read_quiz

__all__ = ["QUIZ", "check_cached_step", "check_leak", "check_masks", "leak_suspects", "tokens"]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

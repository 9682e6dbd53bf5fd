"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l07_dynamic_pruning.exercises.balance import check_balance
from course_utils.lectures.l07_dynamic_pruning.exercises.dispatch import check_dispatch
from course_utils.lectures.l07_dynamic_pruning.exercises.grouped_scores import check_grouped_scores
from course_utils.lectures.l07_dynamic_pruning.exercises.merge_lora import check_merge_lora
from course_utils.teaching.quiz import read_quiz

__all__ = ["QUIZ", "check_balance", "check_dispatch", "check_grouped_scores", "check_merge_lora"]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

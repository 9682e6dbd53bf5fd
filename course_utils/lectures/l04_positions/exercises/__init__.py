"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l04_positions.exercises.moving_matrix import check_moving_matrix
from course_utils.lectures.l04_positions.exercises.pairings import check_pairings
from course_utils.lectures.l04_positions.exercises.rotate import check_rotate
from course_utils.teaching.quiz import read_quiz

__all__ = ["QUIZ", "check_moving_matrix", "check_pairings", "check_rotate"]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

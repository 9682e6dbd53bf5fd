"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l06_gpt2_block.exercises.block import check_block
from course_utils.lectures.l06_gpt2_block.exercises.count import check_count
from course_utils.lectures.l06_gpt2_block.exercises.nucleus import check_nucleus
from course_utils.lectures.l06_gpt2_block.exercises.tie import Untied, check_tie
from course_utils.teaching.quiz import read_quiz

__all__ = ["QUIZ", "Untied", "check_block", "check_count", "check_nucleus", "check_tie"]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

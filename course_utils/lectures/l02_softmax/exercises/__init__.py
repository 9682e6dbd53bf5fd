"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l02_softmax.exercises.entropy_gradient import check_entropy_gradient
from course_utils.lectures.l02_softmax.exercises.jacobian_product import check_jacobian_product
from course_utils.lectures.l02_softmax.exercises.softmax import check_softmax
from course_utils.teaching.quiz import read_quiz

__all__ = ["QUIZ", "check_entropy_gradient", "check_jacobian_product", "check_softmax"]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

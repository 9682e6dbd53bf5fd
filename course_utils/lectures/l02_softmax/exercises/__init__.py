"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l02_softmax.exercises.entropy_gradient import ENTROPY_GRADIENT
from course_utils.lectures.l02_softmax.exercises.jacobian_product import JACOBIAN_PRODUCT
from course_utils.lectures.l02_softmax.exercises.softmax import SOFTMAX
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_entropy_gradient",
    "check_jacobian_product",
    "check_softmax",
    "guesses",
    "predict",
]

EXERCISES = (SOFTMAX, JACOBIAN_PRODUCT, ENTROPY_GRADIENT)

check_softmax = SOFTMAX.check
check_jacobian_product = JACOBIAN_PRODUCT.check
check_entropy_gradient = ENTROPY_GRADIENT.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

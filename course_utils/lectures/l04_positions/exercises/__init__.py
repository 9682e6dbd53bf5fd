"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l04_positions.exercises.moving_matrix import MOVING_MATRIX
from course_utils.lectures.l04_positions.exercises.pairings import PAIRINGS
from course_utils.lectures.l04_positions.exercises.rotate import ROTATE
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_moving_matrix",
    "check_pairings",
    "check_rotate",
    "guesses",
    "predict",
]

EXERCISES = (ROTATE, MOVING_MATRIX, PAIRINGS)
check_rotate = ROTATE.check
check_moving_matrix = MOVING_MATRIX.check
check_pairings = PAIRINGS.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

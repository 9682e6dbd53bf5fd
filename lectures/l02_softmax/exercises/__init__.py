"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l02_softmax.exercises.entropy_gradient import ENTROPY_GRADIENT
from lectures.l02_softmax.exercises.sampler import SAMPLER, mystery_sampler
from lectures.l02_softmax.exercises.softmax import SOFTMAX

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_entropy_gradient",
    "check_find_settings",
    "check_softmax",
    "guesses",
    "mystery_sampler",
    "predict",
]

EXERCISES = (SOFTMAX, SAMPLER, ENTROPY_GRADIENT)

check_softmax = SOFTMAX.check
check_find_settings = SAMPLER.check
check_entropy_gradient = ENTROPY_GRADIENT.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

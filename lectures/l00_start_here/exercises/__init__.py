"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l00_start_here.exercises.attend import ATTEND
from lectures.l00_start_here.exercises.find_milk import FIND_MILK

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_attend",
    "check_find_milk",
    "guesses",
    "predict",
]

EXERCISES = (ATTEND, FIND_MILK)
check_attend = ATTEND.check
check_find_milk = FIND_MILK.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

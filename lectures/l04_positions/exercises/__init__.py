"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l04_positions.exercises.diagnose import DIAGNOSE, three_programs
from lectures.l04_positions.exercises.rope import ROPE

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_apply_rope",
    "check_diagnose",
    "guesses",
    "predict",
    "three_programs",
]

EXERCISES = (ROPE, DIAGNOSE)
check_apply_rope = ROPE.check
check_diagnose = DIAGNOSE.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

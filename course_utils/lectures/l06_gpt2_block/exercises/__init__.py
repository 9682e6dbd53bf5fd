"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l06_gpt2_block.exercises.block import BLOCK
from course_utils.lectures.l06_gpt2_block.exercises.count import COUNT
from course_utils.lectures.l06_gpt2_block.exercises.nucleus import NUCLEUS
from course_utils.lectures.l06_gpt2_block.exercises.tie import TIE, Untied
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "Untied",
    "check_block",
    "check_count",
    "check_nucleus",
    "check_tie",
    "guesses",
    "predict",
]

EXERCISES = (BLOCK, COUNT, TIE, NUCLEUS)
check_block = BLOCK.check
check_count = COUNT.check
check_tie = TIE.check
check_nucleus = NUCLEUS.check
QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

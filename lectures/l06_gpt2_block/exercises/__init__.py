"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l06_gpt2_block.exercises.block import BLOCK
from lectures.l06_gpt2_block.exercises.count import COUNT
from lectures.l06_gpt2_block.exercises.fault import FAULT, faulty_gpt
from lectures.l06_gpt2_block.exercises.nucleus import NUCLEUS

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_block",
    "check_count",
    "check_fault",
    "check_nucleus",
    "faulty_gpt",
    "guesses",
    "predict",
]

EXERCISES = (BLOCK, FAULT, COUNT, NUCLEUS)
check_block = BLOCK.check
check_count = COUNT.check
check_fault = FAULT.check
check_nucleus = NUCLEUS.check
QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

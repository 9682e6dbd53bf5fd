"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l07_dynamic_pruning.exercises.balance import BALANCE
from lectures.l07_dynamic_pruning.exercises.dispatch import DISPATCH
from lectures.l07_dynamic_pruning.exercises.grouped_scores import GROUPED_SCORES
from lectures.l07_dynamic_pruning.exercises.merge_lora import MERGE_LORA

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_balance",
    "check_dispatch",
    "check_grouped_scores",
    "check_merge_lora",
    "guesses",
    "predict",
]

EXERCISES = (DISPATCH, BALANCE, MERGE_LORA, GROUPED_SCORES)

check_dispatch = DISPATCH.check
check_balance = BALANCE.check
check_merge_lora = MERGE_LORA.check
check_grouped_scores = GROUPED_SCORES.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

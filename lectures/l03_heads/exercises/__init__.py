"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l03_heads.exercises.multi_head import MULTI_HEAD
from lectures.l03_heads.exercises.previous_token import PREVIOUS_TOKEN
from lectures.l03_heads.exercises.wrong_split import (
    WRONG_SPLIT,
    some_tokens,
    split_suspects,
)

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_MultiHead",
    "check_find_wrong_split",
    "check_previous_token_head",
    "guesses",
    "predict",
    "some_tokens",
    "split_suspects",
]

EXERCISES = (MULTI_HEAD, WRONG_SPLIT, PREVIOUS_TOKEN)
check_MultiHead = MULTI_HEAD.check
check_find_wrong_split = WRONG_SPLIT.check
check_previous_token_head = PREVIOUS_TOKEN.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

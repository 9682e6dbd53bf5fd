"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l03_heads.exercises.cross_attention import CROSS_ATTENTION
from course_utils.lectures.l03_heads.exercises.previous_token import PREVIOUS_TOKEN
from course_utils.lectures.l03_heads.exercises.split_and_merge import MERGE_HEADS, SPLIT_HEADS
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_cross_attention",
    "check_merge_heads",
    "check_previous_token_head",
    "check_split_heads",
    "guesses",
    "predict",
]

EXERCISES = (SPLIT_HEADS, MERGE_HEADS, CROSS_ATTENTION, PREVIOUS_TOKEN)
check_split_heads = SPLIT_HEADS.check
check_merge_heads = MERGE_HEADS.check
check_cross_attention = CROSS_ATTENTION.check
check_previous_token_head = PREVIOUS_TOKEN.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

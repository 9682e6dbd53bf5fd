"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l03_heads.exercises.cross_attention import CROSS_ATTENTION
from course_utils.lectures.l03_heads.exercises.previous_token import PREVIOUS_TOKEN
from course_utils.lectures.l03_heads.exercises.split_and_merge import MERGE_HEADS, SPLIT_HEADS
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "EXERCISES",
    "QUIZ",
    "check_cross_attention",
    "check_merge_heads",
    "check_previous_token_head",
    "check_split_heads",
]

EXERCISES = (SPLIT_HEADS, MERGE_HEADS, CROSS_ATTENTION, PREVIOUS_TOKEN)
check_split_heads = SPLIT_HEADS.check
check_merge_heads = MERGE_HEADS.check
check_cross_attention = CROSS_ATTENTION.check
check_previous_token_head = PREVIOUS_TOKEN.check

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

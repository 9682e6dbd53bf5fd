"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.lectures.l03_heads.exercises.cross_attention import check_cross_attention
from course_utils.lectures.l03_heads.exercises.heads import check_merge_heads, check_split_heads
from course_utils.lectures.l03_heads.exercises.previous_token import check_previous_token_head
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "QUIZ",
    "check_cross_attention",
    "check_merge_heads",
    "check_previous_token_head",
    "check_split_heads",
]

QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")

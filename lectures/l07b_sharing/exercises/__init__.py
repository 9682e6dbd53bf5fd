"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l07b_sharing.exercises.grouped_scores import GROUPED_SCORES
from lectures.l07b_sharing.exercises.merge_lora import MERGE_LORA

globals().update(
    asks(Path(__file__).parents[1], merge_lora=MERGE_LORA, grouped_scores=GROUPED_SCORES)
)

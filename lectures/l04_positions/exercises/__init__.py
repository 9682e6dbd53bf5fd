"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l04_positions.exercises.diagnose import DIAGNOSE, three_programs
from lectures.l04_positions.exercises.rope_stages import ROPE

__all__ = ["three_programs"]

globals().update(asks(Path(__file__).parents[1], apply_rope=ROPE, diagnose=DIAGNOSE))

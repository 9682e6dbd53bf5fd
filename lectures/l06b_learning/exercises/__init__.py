"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l06b_learning.exercises.nucleus import NUCLEUS

globals().update(asks(Path(__file__).parents[1], nucleus=NUCLEUS))

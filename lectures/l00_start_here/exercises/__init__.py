"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l00_start_here.exercises.attend_stages import ATTEND
from lectures.l00_start_here.exercises.find_milk import FIND_MILK

globals().update(asks(Path(__file__).parents[1], attend=ATTEND, find_milk=FIND_MILK))

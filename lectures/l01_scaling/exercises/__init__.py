"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l01_scaling.exercises.score_variance import SCORE_VARIANCE
from lectures.l01_scaling.exercises.suspect import MYSTERY_MODEL
from lectures.l01_scaling.exercises.unit_attend import UNIT_ATTEND

globals().update(
    asks(
        Path(__file__).parents[1],
        suspect=MYSTERY_MODEL,
        unit_attend=UNIT_ATTEND,
        score_variance=SCORE_VARIANCE,
    )
)

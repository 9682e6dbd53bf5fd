"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l09_since_gpt2.exercises.absorb import ABSORB
from lectures.l09_since_gpt2.exercises.broken_gpts import NAME
from lectures.l09_since_gpt2.exercises.recurrent import RECURRENT
from lectures.l09_since_gpt2.exercises.rolling_step import ROLLING_STEP

globals().update(
    asks(
        Path(__file__).parents[1],
        rolling_step=ROLLING_STEP,
        absorbed_scores=ABSORB,
        recurrent=RECURRENT,
        fault=NAME,
    )
)

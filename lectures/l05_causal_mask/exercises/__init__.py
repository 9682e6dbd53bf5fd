"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l05_causal_mask.exercises.causal_mask import CAUSAL_MASK
from lectures.l05_causal_mask.exercises.leak import LEAK
from lectures.l05_causal_mask.exercises.leak_models import leak_suspects, tokens
from lectures.l05_causal_mask.exercises.step import STEP

__all__ = ["leak_suspects", "tokens"]

globals().update(
    asks(
        Path(__file__).parents[1],
        causal_mask=CAUSAL_MASK,
        step=STEP,
        leak=LEAK,
    )
)

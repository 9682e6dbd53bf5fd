"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l05_causal_mask.exercises.causal_mask import CAUSAL_MASK
from lectures.l05_causal_mask.exercises.leak import LEAK
from lectures.l05_causal_mask.exercises.leak_models import leak_suspects, tokens
from lectures.l05_causal_mask.exercises.step import STEP

__all__ = ["check_leak", "leak_suspects", "tokens"]

check_leak = LEAK.check  # what the notebook calls it; its function is `find_leak`
globals().update(asks(Path(__file__).parents[1], [CAUSAL_MASK, STEP, LEAK]))

"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l07_dynamic_pruning.exercises.balance import BALANCE
from lectures.l07_dynamic_pruning.exercises.dispatch import DISPATCH
from lectures.l07_dynamic_pruning.exercises.grouped_scores import GROUPED_SCORES
from lectures.l07_dynamic_pruning.exercises.merge_lora import MERGE_LORA

__all__ = ["check_balance", "check_merge_lora"]

# What the notebook calls them; their functions are `balance_loss` and `merge`.
check_balance, check_merge_lora = BALANCE.check, MERGE_LORA.check
globals().update(asks(Path(__file__).parents[1], [DISPATCH, BALANCE, MERGE_LORA, GROUPED_SCORES]))

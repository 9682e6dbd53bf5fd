"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l07_dynamic_pruning.exercises.balance import BALANCE
from lectures.l07_dynamic_pruning.exercises.dispatch import DISPATCH
from lectures.l07_dynamic_pruning.exercises.mixture import MIXTURE

globals().update(
    asks(Path(__file__).parents[1], dispatch=DISPATCH, balance=BALANCE, mixture=MIXTURE)
)

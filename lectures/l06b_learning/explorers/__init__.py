"""The lecture's explorers."""

from lectures.l06b_learning.explorers.induction import Induction
from lectures.l06b_learning.explorers.scaling_laws import ScalingLaws

__all__ = ["explore_induction", "explore_scaling_laws"]

explore_scaling_laws = ScalingLaws
explore_induction = Induction

"""The lecture's explorers."""

from lectures.l06b_learning.explorers.induction import Induction
from lectures.l06b_learning.explorers.moments import Moments
from lectures.l06b_learning.explorers.sampler import Sampler
from lectures.l06b_learning.explorers.scaling_laws import ScalingLaws

__all__ = ["explore_induction", "explore_moments", "explore_sampler", "explore_scaling_laws"]

explore_moments = Moments
explore_induction = Induction
explore_sampler = Sampler
explore_scaling_laws = ScalingLaws

"""The lecture's explorers."""

from lectures.l01_scaling.explorers.largest_weight import LargestWeight
from lectures.l01_scaling.explorers.score_width import ScoreWidth

__all__ = ["explore_largest_weight", "explore_score_width"]

explore_largest_weight = LargestWeight
explore_score_width = ScoreWidth

"""The lecture's explorers."""

from course_utils.lectures.l01_scaling.explorers.random_cosines import RandomCosines
from course_utils.lectures.l01_scaling.explorers.score_variance import ScoreVariance

__all__ = ["explore_random_cosines", "explore_score_variance"]

explore_score_variance = ScoreVariance
explore_random_cosines = RandomCosines

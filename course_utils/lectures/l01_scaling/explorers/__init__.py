"""The lecture's explorer."""

from course_utils.lectures.l01_scaling.explorers.score_width import ScoreWidth

__all__ = ["explore_score_width"]

explore_score_width = ScoreWidth

"""The lecture's explorers."""

from course_utils.lectures.l03_heads.explorers.split import SplitSteps

__all__ = ["explore_split"]

explore_split = SplitSteps

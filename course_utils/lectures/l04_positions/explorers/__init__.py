"""The lecture's explorers."""

from course_utils.lectures.l04_positions.explorers.rope import RopeClock
from course_utils.lectures.l04_positions.explorers.sphere import RopeSphere

__all__ = ["explore_rope", "explore_rope_sphere"]

explore_rope = RopeClock
explore_rope_sphere = RopeSphere

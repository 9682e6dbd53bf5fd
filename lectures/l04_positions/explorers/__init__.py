"""The lecture's explorers."""

from lectures.l04_positions.explorers.codes import PositionCodes
from lectures.l04_positions.explorers.rope import RopeClock
from lectures.l04_positions.explorers.torus import RopeTorus

__all__ = ["explore_position_codes", "explore_rope", "explore_rope_torus"]

explore_position_codes = PositionCodes
explore_rope = RopeClock
explore_rope_torus = RopeTorus

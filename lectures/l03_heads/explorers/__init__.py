"""The lecture's explorers."""

from lectures.l03_heads.explorers.split import Split
from lectures.l03_heads.explorers.two_places import TwoPlaces

__all__ = ["explore_split", "explore_two_places"]

explore_two_places = TwoPlaces
explore_split = Split

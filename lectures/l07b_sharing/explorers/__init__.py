"""The lecture's explorers."""

from lectures.l07b_sharing.explorers.depths import Depths
from lectures.l07b_sharing.explorers.ranks import Ranks
from lectures.l07b_sharing.explorers.shared_heads import SharedHeads

__all__ = ["explore_depths", "explore_ranks", "explore_shared_heads"]

explore_shared_heads = SharedHeads
explore_ranks = Ranks
explore_depths = Depths

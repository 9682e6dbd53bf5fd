"""The lecture's explorers."""

from lectures.l07_dynamic_pruning.explorers.depths import Depths
from lectures.l07_dynamic_pruning.explorers.experts import Experts
from lectures.l07_dynamic_pruning.explorers.ranks import Ranks
from lectures.l07_dynamic_pruning.explorers.shared_heads import SharedHeads

__all__ = ["explore_depths", "explore_experts", "explore_ranks", "explore_shared_heads"]

explore_experts = Experts
explore_shared_heads = SharedHeads
explore_ranks = Ranks
explore_depths = Depths

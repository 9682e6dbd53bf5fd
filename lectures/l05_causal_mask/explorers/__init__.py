"""The lecture's explorers."""

from lectures.l05_causal_mask.explorers.cache import CacheBytes
from lectures.l05_causal_mask.explorers.masks import Masks

__all__ = ["explore_cache", "explore_masks"]

explore_masks = Masks
explore_cache = CacheBytes

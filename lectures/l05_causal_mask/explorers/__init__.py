"""The lecture's explorers."""

from lectures.l05_causal_mask.explorers.cache import CacheBytes
from lectures.l05_causal_mask.explorers.masks import Masks
from lectures.l05_causal_mask.explorers.story_cache import StoryCache

__all__ = ["explore_cache", "explore_masks", "explore_story_cache"]

explore_masks = Masks
explore_cache = CacheBytes
explore_story_cache = StoryCache

"""The lecture's explorers."""

from lectures.l09_since_gpt2.explorers.broken_gpts import BrokenGPTs
from lectures.l09_since_gpt2.explorers.two_models import TwoModels

__all__ = ["explore_broken_gpts", "explore_two_models"]

explore_two_models = TwoModels
explore_broken_gpts = BrokenGPTs

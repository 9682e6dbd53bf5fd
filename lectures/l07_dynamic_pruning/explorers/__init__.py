"""The lecture's explorers."""

from lectures.l07_dynamic_pruning.explorers.experts import Experts

__all__ = ["explore_experts"]

explore_experts = Experts

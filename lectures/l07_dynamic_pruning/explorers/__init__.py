"""The lecture's explorers."""

from lectures.l07_dynamic_pruning.explorers.experts import Experts
from lectures.l07_dynamic_pruning.explorers.phone_book import PhoneBook

__all__ = ["explore_experts", "explore_phone_book"]

explore_phone_book = PhoneBook
explore_experts = Experts

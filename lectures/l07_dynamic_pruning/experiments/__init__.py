"""What the lecture trains and measures."""

from lectures.l07_dynamic_pruning.experiments.phone_books import known_by_layer
from lectures.l07_dynamic_pruning.experiments.pruning import (
    pruned_accuracies,
    pruned_in_rounds,
    rescale_units,
    train_digit_readers,
)
from lectures.l07_dynamic_pruning.experiments.story_runs import STORY_STEPS, story_runs

__all__ = [
    "STORY_STEPS",
    "known_by_layer",
    "pruned_accuracies",
    "pruned_in_rounds",
    "rescale_units",
    "story_runs",
    "train_digit_readers",
]

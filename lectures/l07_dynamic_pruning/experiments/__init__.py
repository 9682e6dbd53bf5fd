"""What the lecture trains and measures."""

from lectures.l07_dynamic_pruning.experiments.phone_books import known_by_layer
from lectures.l07_dynamic_pruning.experiments.pruning import (
    pruned_accuracies,
    pruned_in_rounds,
    rescale_units,
    train_digit_readers,
)

__all__ = [
    "known_by_layer",
    "pruned_accuracies",
    "pruned_in_rounds",
    "rescale_units",
    "train_digit_readers",
]

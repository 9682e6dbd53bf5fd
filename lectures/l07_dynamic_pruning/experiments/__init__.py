"""What the lecture trains and measures."""

from lectures.l07_dynamic_pruning.experiments.measured import book_runs, story_runs
from lectures.l07_dynamic_pruning.experiments.pruning import (
    pruned_accuracies,
    pruned_in_rounds,
    rescale_units,
    train_digit_readers,
)

__all__ = [
    "book_runs",
    "pruned_accuracies",
    "pruned_in_rounds",
    "rescale_units",
    "story_runs",
    "train_digit_readers",
]

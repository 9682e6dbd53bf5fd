"""What the lecture trains and measures."""

from lectures.l07_dynamic_pruning.experiments.experts import (
    ROUTERS,
    PlaneExperts,
    expert_angles,
    expert_shares,
    follow_largest_share,
    plane_batch,
    plane_error,
    train_experts,
)
from lectures.l07_dynamic_pruning.experiments.pruning import (
    pruned_accuracies,
    pruned_in_rounds,
    rescale_units,
    train_digit_readers,
)

__all__ = [
    "ROUTERS",
    "PlaneExperts",
    "expert_angles",
    "expert_shares",
    "follow_largest_share",
    "plane_batch",
    "plane_error",
    "pruned_accuracies",
    "pruned_in_rounds",
    "rescale_units",
    "train_digit_readers",
    "train_experts",
]

"""What the lecture trains and measures."""

from lectures.l07_dynamic_pruning.experiments import adapting
from lectures.l07_dynamic_pruning.experiments.adapting import adapt_to_code
from lectures.l07_dynamic_pruning.experiments.cost_formulas import Sizes
from lectures.l07_dynamic_pruning.experiments.cost_table import pruning_table
from lectures.l07_dynamic_pruning.experiments.depths import (
    card_scores,
    expected_loss,
    flipped_decisions,
    train_card_readers,
)
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
from lectures.l07_dynamic_pruning.experiments.lora_runs import lora_runs
from lectures.l07_dynamic_pruning.experiments.pruning import (
    pruned_accuracies,
    pruned_in_rounds,
    rescale_units,
    train_digit_readers,
)
from lectures.l07_dynamic_pruning.experiments.shared_heads import share_heads

__all__ = [
    "ROUTERS",
    "PlaneExperts",
    "Sizes",
    "adapt_to_code",
    "adapting",
    "card_scores",
    "expected_loss",
    "expert_angles",
    "expert_shares",
    "flipped_decisions",
    "follow_largest_share",
    "lora_runs",
    "plane_batch",
    "plane_error",
    "pruned_accuracies",
    "pruned_in_rounds",
    "pruning_table",
    "rescale_units",
    "share_heads",
    "train_card_readers",
    "train_digit_readers",
    "train_experts",
]

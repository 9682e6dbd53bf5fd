"""What the lecture trains and measures."""

from lectures.l07b_sharing.experiments import adapting
from lectures.l07b_sharing.experiments.adapting import adapt_to_code
from lectures.l07b_sharing.experiments.cost_formulas import Sizes
from lectures.l07b_sharing.experiments.cost_table import pruning_table
from lectures.l07b_sharing.experiments.depths import (
    card_scores,
    expected_loss,
    train_card_readers,
)
from lectures.l07b_sharing.experiments.lora_runs import lora_runs
from lectures.l07b_sharing.experiments.shared_heads import share_heads

__all__ = [
    "Sizes",
    "adapt_to_code",
    "adapting",
    "card_scores",
    "expected_loss",
    "lora_runs",
    "pruning_table",
    "share_heads",
    "train_card_readers",
]

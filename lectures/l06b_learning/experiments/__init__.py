"""What the lecture trains and measures."""

from lectures.l06b_learning.experiments.ablation import without_heads
from lectures.l06b_learning.experiments.induction import (
    induction_scores,
    loss_without_each_head,
    previous_token_scores,
    repeat_loss,
    repeated_tokens,
    train_induction,
)
from lectures.l06b_learning.experiments.norms import gradient_norms, train_with_warmup
from lectures.l06b_learning.experiments.scaling_law import fit_power_law
from lectures.l06b_learning.experiments.sizes import final_losses, train_sizes
from lectures.l06b_learning.experiments.small_text import (
    LIVE_GPT,
    bigram_loss,
    train_gpt,
)

__all__ = [
    "LIVE_GPT",
    "bigram_loss",
    "final_losses",
    "fit_power_law",
    "gradient_norms",
    "induction_scores",
    "loss_without_each_head",
    "previous_token_scores",
    "repeat_loss",
    "repeated_tokens",
    "train_gpt",
    "train_induction",
    "train_sizes",
    "train_with_warmup",
    "without_heads",
]

"""What the lecture measures beside its cells."""

from lectures.l06b_learning.experiments.induction import repeat_loss, repeated_tokens
from lectures.l06b_learning.experiments.induction_runs import load_induction_run
from lectures.l06b_learning.experiments.scaling_law import fit_power_law
from lectures.l06b_learning.experiments.sizes import final_losses, train_sizes

__all__ = [
    "final_losses",
    "fit_power_law",
    "load_induction_run",
    "repeat_loss",
    "repeated_tokens",
    "train_sizes",
]

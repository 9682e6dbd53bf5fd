"""Trained experts of the plane, ready to look at: they come with the package.

``experts`` says what they were trained to do; tools/scripts/train_toy_experts.py trained them, for
each number of experts, each k and each weight of the balance loss, with one seed.
"""

from functools import lru_cache

import safetensors.torch
import torch
from torch import Tensor

from course_utils.data.package_files import read_packaged
from course_utils.lectures.l07_dynamic_pruning.experiments.experts import PlaneExperts

__all__ = ["TOY_BALANCES", "TOY_EXPERTS", "TOY_FILE", "TOY_KS", "load_toy_experts", "toy_name"]

TOY_EXPERTS, TOY_KS, TOY_BALANCES = (2, 4, 8), (1, 2), (0.0, 0.01, 0.03, 0.1)
TOY_FILE = "toy_experts.safetensors"


def toy_name(num_experts: int, k: int, balance: float) -> str:
    """Return what one of the trained models is called in the file.

    >>> toy_name(4, 1, 0.01)
    '4 experts, k 1, balance 0.01'
    """
    return f"{num_experts} experts, k {k}, balance {balance:g}"


def load_toy_experts(
    num_experts: int, k: int, balance: float, *, capacity: float | None = None
) -> PlaneExperts:
    """Return one of the trained models.

    Without a balance loss one expert has taken over (with k = 2, two or three); with 0.1 all work.

    Args:
        num_experts: one of ``TOY_EXPERTS``.
        k: one of ``TOY_KS``.
        balance: weight of the balance loss in training, one of ``TOY_BALANCES``.
        capacity: the capacity factor; None for no limit, as in the training.

    >>> from course_utils.lectures.l07_dynamic_pruning.experiments.experts import expert_shares
    >>> for balance in (0.0, 0.1):
    ...     print(round(expert_shares(load_toy_experts(4, 1, balance)).max().item(), 1))
    1.0
    0.3
    """
    start = f"{toy_name(num_experts, k, balance)}/"
    with torch.device("meta"):  # no weights are drawn: the reader's random numbers stay as they are
        model = PlaneExperts(num_experts, k, capacity=capacity)
    saved = {
        key.removeprefix(start): value.clone()
        for key, value in _all_weights().items()
        if key.startswith(start)
    }
    model.load_state_dict(saved, assign=True)
    return model.eval()


@lru_cache
def _all_weights() -> dict[str, Tensor]:
    return safetensors.torch.load(read_packaged(TOY_FILE))

"""Routers of the plane's experts while they train, ready to look at: they come with the package.

``experts`` says what they learn; tools/scripts/train_expert_runs.py trains them, once for each way
of balancing and each size of the coordinate that all points share, each from one seed.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from course_utils.data.package_files import read_packaged
from course_utils.shapes import Float
from course_utils.training import TEST_SEED
from lectures.l07_dynamic_pruning.experiments.experts import (
    PlaneExperts,
    plane_batch,
)

EXPERT_RUNS_FILE = "expert_runs.safetensors"
EXPERTS, POINTS = 4, 256
# What all points share → arguments of PlaneExperts. A router's bias would be a 1.
SHARED: dict[str, dict[str, Any]] = {
    "nothing": {"common": 0.0},
    "1": {"common": 1.0},
    "2": {"common": 2.0},
    "5": {},
    "5, weights from 0": {"even_start": True},
}
# Close together where the shares move fast.
STEPS = (*range(0, 200, 20), *range(200, 1000, 50), *range(1000, 3001, 200))


@dataclass(frozen=True)
class ExpertRun:
    """One training, with the router after each of ``STEPS``.

    Attributes:
        routers: the weights W_r.
        biases: what is added to the probabilities for the choice; 0 without the loss-free bias.
        errors: on ``unseen_points``, in the first column without a limit, in the second with a
            capacity factor of 1.
    """

    routers: Float[Tensor, "steps experts 3"]
    biases: Float[Tensor, "steps experts"]
    errors: Float[Tensor, "steps 2"]


def expert_run(shared: str, balance: str) -> ExpertRun:
    """Return one of the trainings, by a name of ``SHARED`` and one of ``BALANCES``."""
    saved = _all_saved()
    return ExpertRun(
        *(saved[f"{shared}/{balance}/{name}"] for name in ("routers", "biases", "errors"))
    )


def load_trained_experts(
    shared: str,
    balance: str,
    *,
    capacity: float | None = None,  # the capacity factor; None for no limit, as in the training
) -> PlaneExperts:
    """Return the model as it is after the last of ``STEPS``."""
    start = f"{shared}/{balance}/model/"
    with torch.device("meta"):  # no weights are drawn: the reader's random numbers stay as they are
        model = PlaneExperts(EXPERTS, capacity=capacity, **SHARED[shared])
    saved = {
        key.removeprefix(start): value.clone()
        for key, value in _all_saved().items()
        if key.startswith(start)
    }
    model.load_state_dict(saved, assign=True)
    return model.eval()


def unseen_points() -> tuple[Float[Tensor, "N 2"], Float[Tensor, "N 2"]]:
    """Return points that no training has seen, and what to predict for them."""
    return plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=POINTS)


@lru_cache
def _all_saved() -> dict[str, Tensor]:
    return safetensors.torch.load(read_packaged(EXPERT_RUNS_FILE))

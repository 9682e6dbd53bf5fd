"""Trained experts of the plane, ready to look at: they come with the package.

``experts`` says what they were trained to do; tools/scripts/train_toy_experts.py trained them, for
each number of experts, each k and each weight of the balance loss, with one seed.
"""

from dataclasses import dataclass
from functools import lru_cache

import safetensors.torch
import torch
from torch import Tensor

from course_utils.data.packaged import read_packaged
from course_utils.layers.moe import Routing, expert_capacity
from course_utils.lectures.l07_dynamic_pruning.experiments.experts import PlaneExperts, plane_batch
from course_utils.shapes import Float, Int
from course_utils.training import TEST_SEED

__all__ = [
    "TOY_BALANCES",
    "TOY_EXPERTS",
    "TOY_FILE",
    "TOY_KS",
    "ToyRouting",
    "load_toy_experts",
    "toy_name",
    "toy_routing",
]

TOY_EXPERTS, TOY_KS, TOY_BALANCES = (2, 4, 8), (1, 2), (0.0, 0.01, 0.03, 0.1)
TOY_FILE = "toy_experts.safetensors"
POINTS = 512
EXTENT, CELLS = 1.7, 61  # the picture: [-1.7, 1.7] in both directions, 61 cells each way


@dataclass(frozen=True)
class ToyRouting:
    """Where 512 points of the plane went.

    Attributes:
        points: in the order in which they were dispatched.
        routing: their experts, gates, drops and loads.
        error: mean squared error of the predictions; predicting zero costs 1. A dropped point is
            predicted by the residual alone.
        plane: the first choice at each place of a grid over the plane; rows from the bottom up,
            columns from left to right.
        extent: the grid's left, right, bottom and top edge, as matplotlib's imshow takes it with
            ``origin="lower"``.
        expert_capacity: how many points an expert can take; None without a limit.
    """

    points: Float[Tensor, "N 2"]
    routing: Routing
    error: float
    plane: Int[Tensor, "rows columns"]
    extent: tuple[float, float, float, float]
    expert_capacity: int | None


def toy_name(num_experts: int, k: int, balance: float) -> str:
    """Return what one of the trained models is called in the file.

    >>> toy_name(4, 1, 0.01)
    '4 experts, k 1, balance 0.01'
    """
    return f"{num_experts} experts, k {k}, balance {balance:g}"


def load_toy_experts(
    num_experts: int, k: int, balance: float, *, capacity: float | None = None
) -> PlaneExperts:
    """Return one of the trained models: at each call a model of its own.

    Args:
        num_experts: one of ``TOY_EXPERTS``.
        k: one of ``TOY_KS``.
        balance: one of ``TOY_BALANCES``.
        capacity: the capacity factor; None for no limit, as in the training.

    >>> from course_utils.lectures.l07_dynamic_pruning.experiments.experts import expert_shares
    >>> for balance in (0.0, 0.1):
    ...     print(round(expert_shares(load_toy_experts(4, 1, balance)).max().item(), 1))
    1.0
    0.3
    """
    start = f"{toy_name(num_experts, k, balance)}/"
    model = PlaneExperts(num_experts, k, capacity=capacity)
    saved = {key: value for key, value in _all_weights().items() if key.startswith(start)}
    model.load_state_dict({key.removeprefix(start): value for key, value in saved.items()})
    return model.eval()


@lru_cache
def _all_weights() -> dict[str, Tensor]:
    return safetensors.torch.load(read_packaged(TOY_FILE))


@torch.no_grad()
def toy_routing(num_experts: int, k: int, capacity: float | None, balance: float) -> ToyRouting:
    """Return where 512 points of the plane go, with a trained router and this capacity.

    Without a balance loss one expert has taken over (with k = 2, two or three); with 0.1 all work.
    The capacity had no part in the training: it is set here.

    Args:
        num_experts: one of ``TOY_EXPERTS``.
        k: experts for each point, one of ``TOY_KS``.
        capacity: the capacity factor; None for no limit.
        balance: weight of the balance loss in training, one of ``TOY_BALANCES``.

    >>> tight = toy_routing(num_experts=4, k=1, capacity=1.0, balance=0.0)
    >>> tight.expert_capacity, tight.routing.load.max().item(), tight.routing.dropped > 256
    (128, 128, True)
    """
    model = load_toy_experts(num_experts, k, balance, capacity=capacity)
    points, targets = _points()
    predicted, routing = model(points)
    return ToyRouting(
        points=points,
        routing=routing,
        error=(predicted - targets).square().mean().item(),
        plane=_plane(num_experts, k, balance),
        extent=(-EXTENT, EXTENT, -EXTENT, EXTENT),
        expert_capacity=None
        if capacity is None
        else expert_capacity(POINTS, num_experts, k, capacity),
    )


@lru_cache
def _points() -> tuple[Tensor, Tensor]:
    return plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=POINTS)


@lru_cache
def _plane(num_experts: int, k: int, balance: float) -> Tensor:
    """The first choice at the middle of each cell."""
    middles = EXTENT * (2 * torch.arange(CELLS) + 1 - CELLS) / CELLS
    y, x = torch.meshgrid(middles, middles, indexing="ij")
    model = load_toy_experts(num_experts, k, balance)
    _, routing = model(torch.stack([x, y], dim=-1).view(-1, 2))
    return routing.chosen[:, 0].view(CELLS, CELLS)

"""A task in the plane on which experts collapse, and two ways to keep them all at work.

Points lie in eight blobs on a circle. In each blob another rule holds: a point's distance from the
blob's centre, turned by an angle that is the blob's own, is what to predict. One small network does
badly on eight rules; four experts of the same size, two blobs each, do better.

What brings the collapse about. Each token is the point and a third coordinate, ``common``, that is
the same for all. A router's random weights for it prefer one expert for every token, before any
training. Training undoes that slowly: over twelve seeds the largest share of four experts has a
median of 1.00 at the start, 0.86 after 500 steps and 0.65 after 3,000. Where these weights start at
0, the share starts at 0.40, rises to 0.72 within 200 steps (who is chosen learns, and is chosen
more) and is back at 0.38 after 3,000. A bias is a shared coordinate of 1. With neither, an expert
that has the largest score at x has the smallest at -x, so that it cannot take both: its share of
the eight blobs, which lie symmetrically, stays near or below one half, trained or not.

Trained networks' hidden states have such a part: their mean is 0.1 to 0.5 times as long as what is
left in MiniLM and in the course's small GPT, and much longer at the end of GPT-2 (Ethayarajh, "How
contextual are contextualized word representations?", 2019). Ours, 5, is chosen so that a few
hundred steps show it. To learn nothing at all is an error of 1.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from course_utils.layers.moe import MixtureOfExperts, Routing, balance_loss
from course_utils.seeds import own_random_numbers
from course_utils.shapes import Float
from course_utils.training import TEST_SEED, Training, train

BALANCES = ("none", "loss", "bias")
BLOBS, SPREAD, TURN = 8, 0.18, 2.4  # blobs, their standard deviation, radians from rule to rule
COMMON = 5.0
BIAS_RATE, LEARNING_RATE = 0.005, 0.01
# What the router can see besides the point; its weights for that start at random, or at 0.
ROUTERS: dict[str, dict[str, Any]] = {
    "a shared coordinate": {},
    "the same, weights from 0": {"even_start": True},
    "a bias": {"common": 0.0, "bias": True},
    "neither": {"common": 0.0},
}


def plane_batch(
    generator: torch.Generator, *, batch: int = 256
) -> tuple[Float[Tensor, "N 2"], Float[Tensor, "N 2"]]:
    """Draw points of the eight blobs, and what to predict for each.

    Blob b has its centre at the angle ``2 pi b / 8`` of the unit circle, and its points scatter
    around it by 0.18. The target is ``R(2.4 b) (point - centre) / 0.18``, R being a rotation: of
    variance 1, so that predicting zero costs 1.
    """
    blob = torch.randint(BLOBS, (batch,), generator=generator)
    offset = torch.randn(batch, 2, generator=generator)
    place = 2 * torch.pi / BLOBS * blob
    centre = torch.stack([place.cos(), place.sin()], dim=-1)
    turn = torch.polar(torch.ones(batch), TURN * blob)
    targets = torch.view_as_real(torch.view_as_complex(offset) * turn)
    return centre + SPREAD * offset, targets


class PlaneExperts(nn.Module):
    """A mixture of experts on the residual of points in the plane: ``(token + moe(token))[:2]``.

    A token is ``(x, y, common)``. Each expert is a network of 3 to 16 to 3 with ReLU. One expert
    gets all points with a gate of 1: a dense network.

    Args:
        num_experts: number of experts.
        k: how many of them each point takes.
        common: the coordinate that all tokens share.
        bias: whether the router has one, as nn.Linear draws it.
        even_start: whether the router's weights for the common coordinate start at 0.
        capacity: the capacity factor, as in ``MixtureOfExperts``; None for no limit.
        hidden: width of each expert.
    """

    def __init__(
        self,
        num_experts: int = 4,
        k: int = 1,
        *,
        common: float = COMMON,
        bias: bool = False,
        even_start: bool = False,
        capacity: float | None = None,
        hidden: int = 16,
    ) -> None:
        super().__init__()
        self.common = common
        self.layer = MixtureOfExperts(
            3, hidden, num_experts, k, activation="relu", capacity=capacity
        )
        if bias:
            self.layer.router = nn.Linear(3, num_experts)
        if even_start:
            self.layer.router.weight.data[:, 2] = 0

    def forward(
        self,
        points: Float[Tensor, "N 2"],
        *,
        every_expert: bool = False,
        bias_rate: float | None = None,
    ) -> tuple[Float[Tensor, "N 2"], Routing]:
        """Return the predictions, and how the points were routed.

        Args:
            points: of the plane.
            every_expert: whether all experts compute all points, those not chosen for nothing. The
                result is the same. ``torch.func.vmap`` needs it: it stacks runs, in each of which
                an expert gets another number of points.
            bias_rate: moves the bias of the choice by one ``balance_step``, for the next batch.
        """
        tokens = nn.functional.pad(points, (0, 1), value=self.common)[None]  # (1, N, 3)
        if every_expert:
            routing = self.layer.route(tokens)
            out = _mix_all(self.layer, tokens, routing)
        else:
            out, routing = self.layer(tokens)
        if bias_rate is not None:
            self.layer.rebalance(routing, bias_rate)
        return (tokens + out)[0, :, :2], routing


def _mix_all(
    layer: MixtureOfExperts, x: Float[Tensor, "B T C"], routing: Routing
) -> Float[Tensor, "B T C"]:
    """Return the layer's output, each expert run on each token: a gate of 0 where not chosen."""
    gates = torch.zeros_like(routing.probabilities)
    gates = gates.scatter(1, routing.chosen, routing.gates * routing.kept)  # (N, experts)
    gates = gates.view(*x.shape[:2], -1)
    return sum(gates[..., [i]] * expert(x) for i, expert in enumerate(layer.experts))  # type: ignore


def train_experts(
    balances: Iterable[str] = BALANCES,
    *,
    num_experts: int = 4,
    k: int = 1,
    common: float = COMMON,
    seeds: Iterable[int] = range(3),
    steps: int = 500,
    weight: float = 0.2,
    hidden: int = 16,
) -> dict[str, Training]:
    """Train ``PlaneExperts`` with each way of balancing: the same seeds, data and steps.

    With ``"none"`` nothing is done; with ``"loss"`` ``weight * balance_loss`` is added to the loss;
    with ``"bias"`` the bias of the choice is moved by a ``balance_step`` at each step.
    """
    losses = {
        "none": _loss,
        "loss": partial(_loss, weight=weight),
        "bias": partial(_loss, bias_rate=BIAS_RATE),
    }
    return {
        balance: train(
            lambda: PlaneExperts(num_experts, k, common=common, hidden=hidden),
            plane_batch,
            losses[balance],
            seeds=seeds,
            steps=steps,
            learning_rate=LEARNING_RATE,
            label=f"experts, balanced by {balance}",
        )
        for balance in balances
    }


def share_at_start(seed: int, **model: Any) -> Float[Tensor, ""]:
    """Return what the busiest expert takes before any training, as ``train`` builds the model."""
    with own_random_numbers(seed):
        return _largest_share(PlaneExperts(**model))


def _largest_share(model: nn.Module) -> Float[Tensor, ""]:
    return expert_shares(model).max()


class LargestShares(NamedTuple):
    """How the busiest expert fares while the models train.

    Attributes:
        steps: after which it was measured; the first is 0.
        shares: of the tokens, that the busiest expert takes; a row for each seed.
        models: as trained.
    """

    steps: tuple[int, ...]
    shares: Float[Tensor, "runs steps"]
    models: list[nn.Module]


def follow_largest_share(
    router: str,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    steps: int = 1000,
    every: int = 25,
    **model: Any,
) -> LargestShares:
    """Train without a cure, and measure on the way what the busiest expert takes.

    Args:
        router: one of ``ROUTERS``.
        seeds: one run for each.
        steps: of the training.
        every: how many steps there are between two measurements.
        model: further arguments of ``PlaneExperts``.
    """
    how = ROUTERS[router] | model
    fresh = torch.stack([share_at_start(seed, **how) for seed in seeds])
    done = train(
        lambda: PlaneExperts(**how),
        plane_batch,
        _loss,
        seeds=seeds,
        steps=steps,
        learning_rate=LEARNING_RATE,
        evaluate=_largest_share,
        every=every,
        label=f"router with {router}",
    )
    shares = torch.cat([fresh[:, None], done.scores.float()], dim=1)
    return LargestShares((0, *done.steps_checked), shares, done.models)


def _loss(
    model: Callable[..., tuple[Tensor, Routing]],
    points: Tensor,
    targets: Tensor,
    *,
    weight: float = 0.0,
    bias_rate: float | None = None,
) -> Tensor:
    predicted, routing = model(points, every_expert=True, bias_rate=bias_rate)
    return (predicted - targets).square().mean() + weight * balance_loss(routing)


@torch.no_grad()
def expert_shares(model: nn.Module) -> Float[Tensor, " experts"]:
    """Return the share of all choices that each expert gets, on 4096 points of their own.

    >>> expert_shares(PlaneExperts(num_experts=3)).sum()
    tensor(1.)
    """
    points, _ = plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=4096)
    routing = model(points)[1]
    return routing.assigned / routing.chosen.numel()


@torch.no_grad()
def plane_error(model: nn.Module) -> float:
    """Return the mean squared error on the points of ``expert_shares``; predicting zero costs 1."""
    points, targets = plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=4096)
    return (model(points)[0] - targets).square().mean().item()


@torch.no_grad()
def expert_angles(
    layer: MixtureOfExperts, x: Float[Tensor, "B T C"]
) -> Float[Tensor, "experts experts"]:
    """Return the angles between experts, in degrees; 0 on the diagonal.

    They are the angles between what two experts make of the same tokens, read as two vectors of
    ``B * T * C`` numbers. Weights would say little: networks of one function may have their hidden
    units in different orders.
    """
    rows = torch.stack([expert(x).flatten() for expert in layer.experts]).double()
    rows = nn.functional.normalize(rows, dim=-1)
    return (rows @ rows.T).clamp(-1, 1).fill_diagonal_(1).arccos().rad2deg().to(torch.float32)

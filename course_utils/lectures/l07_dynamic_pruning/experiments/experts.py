"""A task in the plane on which experts collapse, and two ways to keep them all at work.

Points lie in eight blobs on a circle. In each blob another rule holds: a point's distance from the
blob's centre, turned by an angle that is the blob's own, is what to predict. One small network does
badly on eight rules; four experts of the same size, two blobs each, do better.

What brings the collapse about. Each token is the point and a third coordinate, ``common``, that is
the same for all. To a router without a bias it is one. The expert that is ahead at the start gets
most tokens and learns most, and what the router gains by it is written into the weight of the
common part, which lifts that expert for **all** tokens. The others get nothing and learn nothing.

Trained networks' hidden states have such a part: their mean is 0.1 to 0.5 times as long as what is
left in MiniLM and in the course's small GPT, and much longer at the end of GPT-2 (Ethayarajh, "How
contextual are contextualized word representations?", 2019). Ours, 5, is chosen so that a few
hundred steps show it. Over ten seeds, the mean number of dead experts out of 4, and the error: 0
and 0.35 at ``common=0``, where the router can only cut the plane into sectors; 1.1 and 0.46 at 1;
1.6 and 0.64 at 2; 1.7 and 0.87 at 5. To learn nothing at all is an error of 1. With 5 shown to the
experts and hidden from the router they are 0.2 and 0.51: it is the router that collapses.
"""

from collections.abc import Iterable
from functools import partial
from itertools import chain, product
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from course_utils.checks import (
    check_choice,
    check_finite,
    check_flag,
    check_generator,
    check_int,
    check_seeds,
    check_sequence,
    check_values,
)
from course_utils.layers.moe import MixtureOfExperts, Routing, balance_loss, balance_step
from course_utils.shapes import Float
from course_utils.training import TEST_SEED, Training, with_bar

__all__ = [
    "BALANCES",
    "BLOBS",
    "COMMON",
    "PlaneExperts",
    "expert_angles",
    "expert_shares",
    "plane_batch",
    "plane_error",
    "train_experts",
]

BALANCES = ("none", "loss", "bias")
BLOBS, SPREAD, TURN = 8, 0.18, 2.4  # blobs, their standard deviation, radians from rule to rule
COMMON = 5.0
EVERY = 20  # steps between two scores of a training


def plane_batch(
    generator: torch.Generator, *, batch: int = 256
) -> tuple[Float[Tensor, "N 2"], Float[Tensor, "N 2"]]:
    """Draw points of the eight blobs, and what to predict for each.

    Blob b has its centre at the angle ``2 pi b / 8`` of the unit circle, and its points scatter
    around it by 0.18. The target is ``R(2.4 b) (point - centre) / 0.18``, R being a rotation: of
    variance 1, so that predicting zero costs 1.

    Args:
        generator: where the random numbers come from.
        batch: number of points, N.

    Raises:
        TypeError: if generator is not a torch.Generator, or batch not an integer.
        ValueError: if batch is less than 1.

    >>> points, targets = plane_batch(torch.Generator().manual_seed(0), batch=4096)
    >>> tuple(points.shape), round(targets.square().mean().item(), 1)
    ((4096, 2), 1.0)
    """
    check_generator("generator", generator)
    blob = torch.randint(BLOBS, (check_int("batch", batch),), generator=generator)
    offset = torch.randn(batch, 2, generator=generator)
    place = 2 * torch.pi / BLOBS * blob
    centre = torch.stack([place.cos(), place.sin()], dim=-1)
    turn = torch.polar(torch.ones(batch), TURN * blob)
    targets = torch.view_as_real(torch.view_as_complex(offset) * turn)
    return centre + SPREAD * offset, targets


class PlaneExperts(nn.Module):
    """A mixture of experts on the residual of points in the plane: ``(token + moe(token))[:2]``.

    A token is ``(x, y, common)``. Each expert is a network of 3 to ``hidden`` to 3 with ReLU.

    Args:
        num_experts: number of experts.
        k: how many of them each point takes.
        hidden: width inside each expert.
        common: the coordinate that all tokens share.
        capacity: factor of the room in each expert, as in ``MixtureOfExperts``; None for no limit.

    Raises:
        TypeError, ValueError: as ``MixtureOfExperts`` does, or if common is not finite.

    >>> points, _ = plane_batch(torch.Generator().manual_seed(0), batch=7)
    >>> predicted, routing = PlaneExperts()(points)
    >>> tuple(predicted.shape), tuple(routing.probabilities.shape)
    ((7, 2), (7, 4))
    """

    def __init__(
        self,
        num_experts: int = 4,
        k: int = 1,
        *,
        hidden: int = 16,
        common: float = COMMON,
        capacity: float | None = None,
    ) -> None:
        common = check_finite("common", common)
        layer = MixtureOfExperts(3, hidden, num_experts, k, activation="relu", capacity=capacity)
        super().__init__()
        self.common, self.layer = common, layer

    def forward(
        self, points: Float[Tensor, "N 2"], *, every_expert: bool = False
    ) -> tuple[Float[Tensor, "N 2"], Routing]:
        """Return the predictions, and how the points were routed.

        Args:
            points: of the plane.
            every_expert: whether all experts compute all points, those not chosen for nothing. The
                result is the same. ``torch.func.vmap`` needs it: it stacks runs, in each of which
                an expert gets another number of points.

        Raises:
            TypeError, ValueError: if points are no finite floating-point tensor (N, 2), or
                every_expert is no flag.
        """
        check_flag("every_expert", every_expert)
        _check_points(points)
        tokens = nn.functional.pad(points, (0, 1), value=self.common)[None]  # (1, N, 3)
        if every_expert:
            routing = self.layer.route(tokens)
            out = _mix_all(self.layer, tokens, routing)
        else:
            out, routing = self.layer(tokens)
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
    learning_rate: float = 0.01,
    weight: float = 0.2,
    rate: float = 0.005,
) -> dict[str, Training]:
    """Train ``PlaneExperts`` with each way of balancing: the same seeds, data and steps.

    All runs share every step, as in ``training.train``, which has no place for a bias that is moved
    by a rule of its own. The optimiser is Adam.

    Args:
        balances: some of ``BALANCES``: nothing is done; ``weight * balance_loss`` is added to the
            loss; or the bias of the choice is moved by ``balance_step`` after each step.
        num_experts: as in ``PlaneExperts``.
        k: as in ``PlaneExperts``.
        common: as in ``PlaneExperts``.
        seeds: the runs of each training.
        steps: how many updates each run makes.
        learning_rate: of Adam.
        weight: of the auxiliary loss.
        rate: of the bias.

    Returns:
        For each way of balancing a ``Training``. Its losses are the squared error alone, without
        the auxiliary loss. Its scores are the share of points that chose the most frequent expert,
        over the 20 steps before.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, k above the number of experts, a
            number not finite and positive, a balance unknown or missing, or the seeds are not as
            ``train`` takes them.

    >>> done = train_experts(["bias"], seeds=[0], steps=40)
    >>> done["bias"].losses.shape, done["bias"].steps_checked
    (torch.Size([1, 40]), (20, 40))
    """
    chosen = [
        check_choice("balances", one, BALANCES) for one in check_sequence("balances", balances)
    ]
    numbers = check_seeds(seeds)
    check_int("steps", steps)
    for name, value in (("learning_rate", learning_rate), ("weight", weight), ("rate", rate)):
        if check_finite(name, value) <= 0:
            raise ValueError(f"{name} must be positive, got {value}")
    runs = list(product(chosen, numbers))
    models = [_build(seed, num_experts, k, common) for _, seed in runs]
    streams = [torch.Generator().manual_seed(seed) for seed in numbers]
    parameters, buffers = stack_module_state(models)  # type: ignore[arg-type]
    bias = buffers["layer.balance_bias"]  # (runs, experts)
    weights = torch.tensor([weight if balance == "loss" else 0.0 for balance, _ in runs])
    step_of_runs = vmap(partial(_loss_of_one_run, models[0]))
    adam = torch.optim.Adam(parameters.values(), lr=learning_rate)
    losses, asked, start = [], [], perf_counter()
    for _ in with_bar(range(steps), "experts"):
        data = zip(*(plane_batch(stream) for stream in streams), strict=True)
        points, targets = (torch.stack(part).repeat(len(chosen), 1, 1) for part in data)
        total, (error, asks) = step_of_runs(parameters, buffers, weights, points, targets)
        adam.zero_grad()
        total.sum().backward()
        adam.step()
        for row, (balance, _) in enumerate(runs):
            if balance == "bias":
                bias[row] = balance_step(bias[row], asks[row], rate)
        losses.append(error.detach())
        asked.append(asks)
    _copy_back(models, parameters | buffers)
    scores, steps_checked = _biggest_shares(torch.stack(asked, dim=1))
    table = torch.stack(losses, dim=1)
    each = [slice(at, at + len(numbers)) for at in range(0, len(runs), len(numbers))]
    return {
        balance: Training(
            table[part], scores[part], steps_checked, models[part], "", perf_counter() - start
        )
        for balance, part in zip(chosen, each, strict=True)
    }


def _build(seed: int, num_experts: int, k: int, common: float) -> nn.Module:
    with torch.random.fork_rng(devices=[]):  # the reader's own random numbers stay as they are
        torch.manual_seed(seed)
        return PlaneExperts(num_experts, k, common=common)


def _loss_of_one_run(
    model: nn.Module, parameters: dict, buffers: dict, weight: Tensor, *data: Tensor
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    points, targets = data
    predicted, routing = functional_call(
        model, (parameters, buffers), (points,), {"every_expert": True}
    )
    error = (predicted - targets).square().mean()
    return error + weight * balance_loss(routing), (error, routing.asked)


@torch.no_grad()
def _copy_back(models: list[nn.Module], stacked: dict[str, Tensor]) -> None:
    for row, model in enumerate(models):
        for name, tensor in chain(model.named_parameters(), model.named_buffers()):
            tensor.copy_(stacked[name][row])


def _biggest_shares(asked: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """Return the biggest share of the choices in each stretch of steps, and where each ends."""
    parts = asked.split(EVERY, dim=1)  # each (runs, steps, experts)
    counts = torch.stack([part.sum(dim=1) for part in parts], dim=1).double()
    ends = torch.tensor([part.shape[1] for part in parts]).cumsum(0).tolist()
    return (counts / counts.sum(dim=-1, keepdim=True)).amax(dim=-1), tuple(ends)


@torch.no_grad()
def expert_shares(model: PlaneExperts) -> Float[Tensor, " experts"]:
    """Return the share of all choices that each expert gets, on 4096 points of their own.

    Args:
        model: trained or not.

    Raises:
        TypeError: if model is no PlaneExperts.

    >>> expert_shares(PlaneExperts(num_experts=3)).sum()
    tensor(1.)
    """
    _check_model(model)
    points, _ = plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=4096)
    routing = model(points)[1]
    return routing.asked / routing.chosen.numel()


@torch.no_grad()
def plane_error(model: PlaneExperts) -> float:
    """Return the mean squared error on the points of ``expert_shares``; predicting zero costs 1.

    Args:
        model: trained or not.

    Raises:
        TypeError: if model is no PlaneExperts.

    >>> plane_error(PlaneExperts()) > 0.9
    True
    """
    _check_model(model)
    points, targets = plane_batch(torch.Generator().manual_seed(TEST_SEED), batch=4096)
    return (model(points)[0] - targets).square().mean().item()


@torch.no_grad()
def expert_angles(
    layer: MixtureOfExperts, x: Float[Tensor, "B T C"] | None = None
) -> Float[Tensor, "experts experts"]:
    """Return the angles between experts, in degrees; 0 on the diagonal.

    Without x: between all weights and biases of one and of the other, read as two vectors. Networks
    with the same function can have their hidden units in another order, so this says little; of
    two random ones it is near 90. With x: between what the two make of the same tokens, read as
    two vectors of ``B * T * C`` numbers. That is 0 for experts of one function, and does not know
    how they are written.

    Args:
        layer: whose experts to compare.
        x: tokens, all given to every expert.

    Raises:
        TypeError: if layer is no MixtureOfExperts, or x of another dtype than the weights.
        ValueError: for a wrong rank, width or device of x, or no token.

    >>> angles = expert_angles(MixtureOfExperts(5, 20, num_experts=3, k=1))
    >>> angles.shape, round(angles[0, 0].item())
    (torch.Size([3, 3]), 0)
    """
    if not isinstance(layer, MixtureOfExperts):
        raise TypeError(
            f"layer must be a MixtureOfExperts, got {layer!r:.40} ({type(layer).__name__})"
        )
    if x is not None:
        layer.route(x)  # checks x
    rows = torch.stack(
        [
            torch.cat([weight.flatten() for weight in expert.parameters()])
            if x is None
            else expert(x).flatten()
            for expert in layer.experts
        ]
    ).double()
    rows = nn.functional.normalize(rows, dim=-1)
    return (rows @ rows.T).clamp(-1, 1).fill_diagonal_(1).arccos().rad2deg().to(torch.float32)


def _check_points(points: Tensor) -> None:
    __tracebackhide__ = True
    check_values("points", points, "N 2")
    if points.shape[1] != 2:
        raise ValueError(f"points must be of the plane, (N, 2), got shape {tuple(points.shape)}")


def _check_model(model: object) -> None:
    __tracebackhide__ = True
    if not isinstance(model, PlaneExperts):
        raise TypeError(f"model must be a PlaneExperts, got {model!r:.40} ({type(model).__name__})")

"""Which expert takes which token: the choice, the room in each expert, and two ways to balance.

Letters: N tokens, ``experts`` experts, of which each token takes k. All functions here are pure,
and run under ``torch.func.vmap``.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.checks import (
    check_flag,
    check_floating,
    check_instance,
    check_int,
    check_like,
    check_positive,
    check_rank,
)
from course_utils.shapes import Bool, Float, Int

__all__ = [
    "Routing",
    "balance_loss",
    "balance_step",
    "check_routing",
    "choose_experts",
    "expert_capacity",
]


class Routing(NamedTuple):
    """What a router decided for N tokens, in their order: all of the first sequence, and so on.

    Attributes:
        chosen: the experts of each token, the best first.
        gates: what each chosen expert's output is multiplied by.
        kept: False where a choice was dropped: its expert had no room left.
        probabilities: of all experts, before the choice. Each row sums to 1.
    """

    chosen: Int[Tensor, "N k"]
    gates: Float[Tensor, "N k"]
    kept: Bool[Tensor, "N k"]
    probabilities: Float[Tensor, "N experts"]

    @property
    def asked(self) -> Int[Tensor, " experts"]:
        """How many tokens chose each expert. They sum to ``N * k``."""
        return self._count(torch.ones_like(self.kept))

    @property
    def load(self) -> Int[Tensor, " experts"]:
        """How many tokens each expert computes: those that chose it, less those dropped."""
        return self._count(self.kept)

    @property
    def dropped(self) -> int:
        """How many choices found no room. With ``load`` they sum to ``N * k``."""
        return int((~self.kept).sum())

    def _count(self, counted: Tensor) -> Tensor:
        experts = torch.arange(self.probabilities.shape[-1], device=self.chosen.device)
        return ((self.chosen[..., None] == experts) & counted[..., None]).sum(dim=(-3, -2))


def expert_capacity(num_tokens: int, num_experts: int, k: int, factor: float) -> int:
    """Return how many tokens one expert has room for: ``ceil(factor * N * k / experts)``.

    With a factor of 1 there is room for every choice if the experts are chosen equally often, and
    for no more. Capacity is of an expert; k is of a token.

    Args:
        num_tokens: tokens that are routed together, N: the whole batch.
        num_experts: number of experts.
        k: experts that each token takes.
        factor: the capacity factor, positive.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, k is above the number of
            experts, or the factor is not finite and positive.

    Source: Lepikhin et al., "GShard", 2020, section 2.2; Fedus, Zoph, Shazeer, "Switch
    transformers", 2021, equation 3, where k is 1.

    >>> expert_capacity(num_tokens=512, num_experts=8, k=2, factor=1.25)
    160
    """
    num_tokens = check_int("num_tokens", num_tokens)
    num_experts = check_int("num_experts", num_experts)
    k = check_int("k", k, maximum=num_experts)
    room = check_positive("factor", factor) * num_tokens * k / num_experts
    # Without rounding, 0.1 * 30 would be 3.0000000000000004, and its ceiling 4.
    return max(1, math.ceil(round(room, 9)))


def choose_experts(
    probabilities: Float[Tensor, "N experts"],
    k: int,
    *,
    bias: Float[Tensor, " experts"] | None = None,
    capacity: float | None = None,
    normalise: bool = True,
) -> Routing:
    """Choose for each token the k experts with the highest ``probability + bias``.

    The bias moves the choice alone: the gates come from the probabilities. Equal ones go to the
    expert with the lower number.

    Where a capacity is set, an expert takes choices until it is full. Earlier tokens go first, and
    of one token its better choice. So no token is dropped because of what comes after it. (GShard
    serves all first choices before any second one. Then a later token's first choice may push out
    an earlier token's second: a look into the future.) The number of tokens still sets the room.

    Args:
        probabilities: of the experts, for each token.
        k: number of experts that each token takes.
        bias: added to the probabilities for the choice; None for zeros.
        capacity: factor of ``expert_capacity``; None for no limit.
        normalise: whether the k gates of a token are divided by their sum. With k = 1 that makes
            the gate 1, so that no gradient of the output reaches the router.

    Raises:
        TypeError: if the probabilities or the bias are no floating-point tensors, k is not an
            integer, or normalise not a bool.
        ValueError: for a wrong rank or size, k above the number of experts, or a capacity that is
            not finite and positive.

    Source: Shazeer et al., "Outrageously large neural networks", 2017, equations 3 to 5, without
    the noise; Jiang et al., "Mixtral of experts", 2024, section 2.1, for the normalised gates;
    Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts", 2024,
    equation 3, for the bias.

    >>> probabilities = torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3], [0.5, 0.1, 0.4]])
    >>> routing = choose_experts(probabilities, k=1, capacity=1.0, normalise=False)
    >>> routing.asked.tolist(), routing.load.tolist(), routing.dropped
    ([3, 0, 0], [1, 0, 0], 2)
    """
    check_rank("probabilities", probabilities, "N experts")
    check_floating("probabilities", probabilities)
    num_tokens, num_experts = probabilities.shape
    k = check_int("k", k, maximum=num_experts)
    check_flag("normalise", normalise)
    scores = probabilities.detach()  # a choice has no gradient
    if bias is not None:
        _check_bias(bias, probabilities)
        scores = scores + bias.detach()
    # torch.topk leaves open which of equal ones it takes; a stable sort takes the first.
    chosen = scores.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    gates = probabilities.gather(-1, chosen)
    if normalise:
        gates = gates / gates.sum(dim=-1, keepdim=True)
    kept = torch.ones_like(chosen, dtype=torch.bool)
    if capacity is not None:
        check_positive("capacity", capacity)
        if num_tokens:
            room = expert_capacity(num_tokens, num_experts, k, capacity)
            kept = _place_in_queue(chosen, num_experts) <= room
    return Routing(chosen, gates, kept, probabilities)


def _place_in_queue(chosen: Int[Tensor, "N k"], num_experts: int) -> Int[Tensor, "N k"]:
    """Return which one each choice is among those of its expert, counted from 1."""
    asks = chosen.flatten()[:, None] == torch.arange(num_experts, device=chosen.device)
    places = asks.long().cumsum(dim=0)  # (N * k, experts)
    return places.gather(1, chosen.flatten()[:, None]).view_as(chosen)


def balance_loss(routing: Routing) -> Float[Tensor, ""]:
    """Return the auxiliary loss that pulls the load towards equal: ``experts * sum_i f_i P_i``.

    f_i is the share of all choices that went to expert i, dropped ones included, and P_i the mean
    of its probability. It is 1 where either is equal for all experts, and up to the number of
    experts where one of them gets everything. f is a count, without a gradient; P brings it: what
    is chosen often has its probability pushed down. It is added to the loss with a small weight,
    0.01 in Switch.

    Args:
        routing: of at least one token.

    Raises:
        TypeError: if routing is not a Routing.
        ValueError: if it has no token.

    Source: Fedus, Zoph, Shazeer, "Switch transformers", 2021, equations 4 to 6, with the choices
    of k experts counted as GShard counts the first.

    >>> rows = torch.tensor([[0.9, 0.1], [0.8, 0.2]])
    >>> balance_loss(choose_experts(rows, k=1)), balance_loss(choose_experts(rows, k=2))
    (tensor(1.7000), tensor(1.))
    """
    check_routing(routing)
    if not len(routing.chosen):
        raise ValueError("routing must be of at least one token, got 0")
    shares = routing.asked / routing.chosen.numel()
    return routing.probabilities.shape[-1] * (shares * routing.probabilities.mean(dim=0)).sum()


def balance_step(
    bias: Float[Tensor, " experts"], load: Int[Tensor, " experts"], rate: float
) -> Float[Tensor, " experts"]:
    """Return the bias of ``choose_experts`` after a batch: ``bias + rate * sign(mean - load)``.

    An expert that was chosen less often than the mean gets easier to choose, by a fixed step. No
    loss and no gradient is changed: the gates do not know the bias.

    Args:
        bias: as it was.
        load: how often each expert was chosen: ``Routing.asked``.
        rate: the step, positive; the paper's is 0.001.

    Raises:
        TypeError: if bias is not a floating-point tensor, load none of int64, or rate not a number.
        ValueError: if they differ in size, or the rate is not finite and positive.

    Source: Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts",
    2024, algorithm 1; DeepSeek-V3 trains so, 2024, section 2.1.2.

    >>> balance_step(torch.zeros(3), torch.tensor([6, 3, 0]), rate=0.001)
    tensor([-0.0010,  0.0000,  0.0010])
    """
    check_rank("bias", bias, "experts")
    check_floating("bias", bias)
    check_rank("load", load, "experts")
    if load.dtype != torch.int64:
        raise TypeError(f"load must be torch.int64, got {load.dtype}")
    if load.shape != bias.shape:
        raise ValueError(
            f"load must have the shape of bias {tuple(bias.shape)}, got shape {tuple(load.shape)}"
        )
    check_positive("rate", rate)
    # Counts are compared as whole numbers: the mean need not be one.
    below_mean = load.sum() - load * load.shape[0]
    return bias + rate * below_mean.sign()


def check_routing(routing: object) -> None:
    """Raise TypeError unless routing is a ``Routing``."""
    __tracebackhide__ = True
    check_instance("routing", routing, Routing, "a Routing")


def _check_bias(bias: Tensor, probabilities: Tensor) -> None:
    __tracebackhide__ = True
    check_rank("bias", bias, "experts")
    check_like("bias", bias, "probabilities", probabilities)
    if bias.shape != probabilities.shape[1:]:
        raise ValueError(
            f"bias must have a number for each expert ({probabilities.shape[1]}), "
            f"got shape {tuple(bias.shape)}"
        )

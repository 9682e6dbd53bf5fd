"""Which expert computes which token: the choice, the capacity, and two ways to balance the load.

Letters: N tokens, ``experts`` experts, k of them for each token. All functions are pure, and run
under ``torch.func.vmap``.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.checks import check_int
from course_utils.formats import round_up
from course_utils.shapes import Bool, Float, Int

__all__ = [
    "Routing",
    "balance_loss",
    "balance_step",
    "choose_experts",
    "expert_capacity",
]


class Routing(NamedTuple):
    """A router's decisions for N tokens: those of the first sequence, then of the second, ...

    Attributes:
        chosen: the experts of each token, the best first.
        gates: the factor of each chosen expert's output.
        kept: False where a choice was dropped because its expert was full.
        probabilities: of all experts, before the choice. Each row sums to 1.
    """

    chosen: Int[Tensor, "N k"]
    gates: Float[Tensor, "N k"]
    kept: Bool[Tensor, "N k"]
    probabilities: Float[Tensor, "N experts"]

    @property
    def assigned(self) -> Int[Tensor, " experts"]:
        """The number of tokens that chose each expert. They sum to ``N * k``."""
        return self._count(torch.ones_like(self.kept))

    @property
    def load(self) -> Int[Tensor, " experts"]:
        """The number of tokens that each expert computes: those assigned, minus those dropped."""
        return self._count(self.kept)

    @property
    def dropped(self) -> int:
        """The number of dropped choices. With ``load`` they sum to ``N * k``."""
        return int((~self.kept).sum())

    def _count(self, counted: Tensor) -> Tensor:
        experts = torch.arange(self.probabilities.shape[-1], device=self.chosen.device)
        return ((self.chosen[..., None] == experts) & counted[..., None]).sum(dim=(-3, -2))


def expert_capacity(num_tokens: int, num_experts: int, k: int, factor: float) -> int:
    """Return how many tokens one expert can take: ``ceil(factor * N * k / experts)``.

    With a factor of 1, all choices fit if the experts are chosen equally often.

    Args:
        num_tokens: tokens that are routed together, N: the whole batch.
        num_experts: number of experts.
        k: experts per token.
        factor: the capacity factor, positive.

    Source: Lepikhin et al., "GShard", 2020, section 2.2; Fedus, Zoph, Shazeer, "Switch
    transformers", 2021, equation 3, where k is 1.

    >>> expert_capacity(num_tokens=512, num_experts=8, k=2, factor=1.25)
    160
    """
    return max(1, round_up(factor * num_tokens * k / num_experts))


def choose_experts(
    probabilities: Float[Tensor, "N experts"],
    k: int,
    *,
    bias: Float[Tensor, " experts"] | None = None,
    capacity: float | None = None,
    normalise: bool = True,
) -> Routing:
    """Choose for each token the k experts with the highest ``probability + bias``.

    The bias changes only the choice, not the gates. Of equal experts, the one with the lower number
    is chosen.

    With a capacity, an expert takes choices until it is full. Earlier tokens come first, and the
    better choice of each token. So whether a token is dropped does not depend on later ones.
    (GShard serves all first choices before any second one. Then a later token's first choice may
    displace an earlier token's second choice: the future leaks in.)

    Args:
        probabilities: of the experts, for each token.
        k: number of experts per token.
        bias: added to the probabilities for the choice; None for zeros.
        capacity: factor in ``expert_capacity``; None for no limit.
        normalise: whether the k gates of a token are divided by their sum. With k = 1 the gate is
            then 1, and the router gets no gradient from the output.

    Raises:
        TypeError, ValueError: if k is not an integer from 1 to the number of experts.

    Source: Shazeer et al., "Outrageously large neural networks", 2017, equations 3 to 5, without
    the noise; Jiang et al., "Mixtral of experts", 2024, section 2.1, for the normalised gates;
    Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts", 2024,
    equation 3, for the bias.

    >>> probabilities = torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.1, 0.3], [0.5, 0.1, 0.4]])
    >>> routing = choose_experts(probabilities, k=1, capacity=1.0, normalise=False)
    >>> routing.assigned.tolist(), routing.load.tolist(), routing.dropped
    ([3, 0, 0], [1, 0, 0], 2)
    """
    num_tokens, num_experts = probabilities.shape
    k = check_int("k", k, maximum=num_experts)
    scores = probabilities.detach()  # a choice has no gradient
    if bias is not None:
        scores = scores + bias.detach()
    # torch.topk may take any of equal ones; a stable sort takes the first.
    chosen = scores.sort(dim=-1, descending=True, stable=True).indices[:, :k]
    gates = probabilities.gather(-1, chosen)
    if normalise:
        gates = gates / gates.sum(dim=-1, keepdim=True)
    kept = torch.ones_like(chosen, dtype=torch.bool)
    if capacity is not None:
        limit = expert_capacity(num_tokens, num_experts, k, capacity)
        kept = _rank_in_queue(chosen, num_experts) <= limit
    return Routing(chosen, gates, kept, probabilities)


def _rank_in_queue(chosen: Int[Tensor, "N k"], num_experts: int) -> Int[Tensor, "N k"]:
    """Count each choice among the choices of the same expert, from 1."""
    one_hot = chosen.flatten()[:, None] == torch.arange(num_experts, device=chosen.device)
    ranks = one_hot.long().cumsum(dim=0)  # (N * k, experts)
    return ranks.gather(1, chosen.flatten()[:, None]).view_as(chosen)


def balance_loss(routing: Routing) -> Float[Tensor, ""]:
    """Return the auxiliary loss that balances the load: ``experts * sum_i f_i P_i``.

    f_i is the share of all choices assigned to expert i, and P_i its mean probability. The loss is
    1 if either is the same for all experts, and the number of experts if one of them gets
    everything. f is a count and has no gradient. P has one: it lowers the probability of experts
    that are chosen often. The loss is added with a small weight, 0.01 in Switch.

    Args:
        routing: of at least one token.

    Source: Fedus, Zoph, Shazeer, "Switch transformers", 2021, equations 4 to 6, with the choices
    of k experts counted as GShard counts the first.

    >>> rows = torch.tensor([[0.9, 0.1], [0.8, 0.2]])
    >>> balance_loss(choose_experts(rows, k=1)), balance_loss(choose_experts(rows, k=2))
    (tensor(1.7000), tensor(1.))
    """
    shares = routing.assigned / routing.chosen.numel()
    return routing.probabilities.shape[-1] * (shares * routing.probabilities.mean(dim=0)).sum()


def balance_step(
    bias: Float[Tensor, " experts"], load: Int[Tensor, " experts"], rate: float
) -> Float[Tensor, " experts"]:
    """Return the bias of ``choose_experts`` after a batch: ``bias + rate * sign(mean - load)``.

    An expert that was chosen less often than the mean becomes easier to choose, by a fixed step.
    The gates do not contain the bias, so no loss and no gradient changes.

    Args:
        bias: before the batch.
        load: how often each expert was chosen: ``Routing.assigned``.
        rate: the step; 0.001 in the paper.

    Source: Wang et al., "Auxiliary-loss-free load balancing strategy for mixture-of-experts",
    2024, algorithm 1; DeepSeek-V3 trains so, 2024, section 2.1.2.

    >>> balance_step(torch.zeros(3), torch.tensor([6, 3, 0]), rate=0.001)
    tensor([-0.0010,  0.0000,  0.0010])
    """
    # Compared as integers, multiplied by the number of experts: the mean need not be one.
    below_mean = load.sum() - load * load.shape[0]
    return bias + rate * below_mean.sign()

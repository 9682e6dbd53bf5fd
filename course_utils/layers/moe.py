"""A mixture of experts: many feed-forward networks, of which each token uses a few.

``out = sum over the k chosen i of g_i(x) * expert_i(x)``, with ``p(x) = softmax(W_r x)`` and
``g_i = p_i``, or p_i over the sum of the chosen ones. The k experts with the highest p are chosen.

The dispatch makes it cheap: each expert computes only the tokens that chose it, in one batch. N
tokens cost ``N * k`` passes through one expert, not ``N * experts``.
"""

import torch
from torch import Tensor, nn

from course_utils.checks import check_int
from course_utils.layers.feedforward import FeedForward, SwiGLU
from course_utils.layers.moe_routing import (
    Routing,
    balance_loss,
    balance_step,
    choose_experts,
    expert_capacity,
)
from course_utils.shapes import Float

__all__ = [
    "MixtureOfExperts",
    "Routing",
    "balance_loss",
    "balance_step",
    "choose_experts",
    "expert_capacity",
    "make_expert",
]


def make_expert(width: int, hidden: int, activation: str) -> nn.Module:
    """Return one expert with random weights: a feed-forward network, (..., C) to (..., C).

    Args:
        width: model width, C.
        hidden: width of the hidden layer, F.
        activation: one of ``ACTIVATIONS`` for two matrices with biases, ``2 C F + F + C`` numbers;
            ``"swiglu"`` for three without, ``3 C F``.

    >>> sum(weight.numel() for weight in make_expert(6, 24, "gelu").parameters())
    318
    """
    if activation == "swiglu":
        return SwiGLU(width, hidden)
    return FeedForward(width, hidden, activation)


class MixtureOfExperts(nn.Module):
    """Several feed-forward networks and a router that selects k of them for each token.

    With ``k=1`` and the default gates this is a Switch layer. With ``num_shared`` and many narrow
    experts it is DeepSeekMoE's: cutting each expert into m narrower ones and choosing k * m of them
    costs the same, and allows many more combinations.

    If an expert is full, the choice is dropped: it adds nothing. A token whose choices are all
    dropped gets zeros, plus the shared experts' output; the block's residual connection carries it.
    ``Routing.kept`` and ``Routing.dropped`` report the drops.

    Args:
        width: model width, C.
        hidden: width inside each expert, F.
        num_experts: number of experts to choose from.
        k: number of experts per token.
        capacity: factor in ``expert_capacity``; None for no limit.
        num_shared: number of extra experts that compute every token, with a gate of 1.
        activation: one of ``ACTIVATIONS``, or ``"swiglu"``.
        normalise: whether a token's k gates are scaled to sum to 1. None means yes for k of 2 or
            more, and no for 1, where the gate would be constant and give the router no gradient.

    Attributes:
        router: the layer W_r (experts, C), without a bias.
        balance_bias: (experts,), added to the probabilities only for the choice. It is zero until
            ``rebalance`` changes it. It is a buffer: saved with the weights, and not trained.

    Raises:
        TypeError, ValueError: if k is not an integer from 1 to the number of experts.

    Source: Shazeer et al., "Outrageously large neural networks", 2017; Fedus, Zoph, Shazeer,
    "Switch transformers", 2021, section 2.1; Jiang et al., "Mixtral of experts", 2024,
    section 2.1; Dai et al., "DeepSeekMoE", 2024, equations 9 to 11, for shared experts.

    >>> layer = MixtureOfExperts(width=6, hidden=24, num_experts=5, k=2)
    >>> out, routing = layer(torch.randn(3, 7, 6))
    >>> tuple(out.shape), tuple(routing.chosen.shape), int(routing.load.sum())
    ((3, 7, 6), (21, 2), 42)
    """

    balance_bias: Tensor

    def __init__(
        self,
        width: int,
        hidden: int,
        num_experts: int,
        k: int,
        *,
        capacity: float | None = None,
        num_shared: int = 0,
        activation: str = "gelu",
        normalise: bool | None = None,
    ) -> None:
        width, num_experts = check_int("width", width), check_int("num_experts", num_experts)
        k = check_int("k", k, maximum=num_experts)
        super().__init__()
        self.k, self.capacity = k, capacity
        self.normalise = k > 1 if normalise is None else normalise
        experts = [make_expert(width, hidden, activation) for _ in range(num_experts)]
        self.router = nn.Linear(width, num_experts, bias=False)
        self.experts = nn.ModuleList(experts)
        self.shared = nn.ModuleList(
            make_expert(width, hidden, activation) for _ in range(num_shared)
        )
        self.register_buffer("balance_bias", torch.zeros(num_experts))

    @property
    def active_parameters(self) -> int:
        """Active parameters per token: the router, k experts and the shared ones."""
        one = _count(self.experts[0])
        return _count(self.router) + (self.k + len(self.shared)) * one

    def forward(self, x: Float[Tensor, "B T C"]) -> tuple[Float[Tensor, "B T C"], Routing]:
        """Return the experts' output for each token, and how the tokens were routed.

        An expert computes only the tokens that chose it. One without a token is not called.
        """
        routing = self.route(x)
        tokens = x.flatten(0, 1)  # (N, C)
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, place = torch.where((routing.chosen == number) & routing.kept)
            if len(token):
                gates = routing.gates[token, place, None]  # (load, 1)
                computed = gates * expert(tokens[token])
                # Under autocast an expert answers in 16 bits.
                out.index_add_(0, token, computed.to(out.dtype))
        for expert in self.shared:
            out = out + expert(tokens)
        return out.view_as(x), routing

    def route(self, x: Float[Tensor, "B T C"]) -> Routing:
        """Return only the router's decisions; no expert is computed."""
        logits = self.router(x.flatten(0, 1))  # (N, experts)
        return choose_experts(
            logits.softmax(dim=-1),
            self.k,
            bias=self.balance_bias,
            capacity=self.capacity,
            normalise=self.normalise,
        )

    @torch.no_grad()
    def rebalance(self, routing: Routing, rate: float = 0.001) -> None:
        """Change ``balance_bias`` by one ``balance_step``, after a training step.

        Args:
            routing: what ``forward`` returned for the step's batch.
            rate: the size of the change.
        """
        self.balance_bias.copy_(balance_step(self.balance_bias, routing.assigned, rate))


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())

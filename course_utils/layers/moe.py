"""A mixture of experts: many feed-forward networks, of which each token is computed by a few.

``out = sum over the k chosen i of g_i(x) * expert_i(x)``, with ``p(x) = softmax(W_r x)`` and
``g_i = p_i``, or p_i over the sum of the chosen ones. The k experts with the highest p are chosen.

What makes it cheap is the dispatch. Each expert is handed the tokens that chose it, all at once,
and computes nothing else: N tokens cost ``N * k`` passes through one expert, not ``N * experts``.
"""

import torch
from torch import Tensor, nn

from course_utils.checks import (
    check_all_finite,
    check_choice,
    check_flag,
    check_int,
    check_positive,
)
from course_utils.layers.checks import check_tokens
from course_utils.layers.feedforward import ACTIVATIONS, FeedForward, SwiGLU
from course_utils.layers.moe_routing import (
    Routing,
    balance_loss,
    balance_step,
    check_routing,
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
        hidden: width in between, F.
        activation: one of ``ACTIVATIONS`` for two matrices with biases, ``2 C F + F + C`` numbers;
            ``"swiglu"`` for three without, ``3 C F``.

    Raises:
        TypeError, ValueError: if a size is not a positive integer, or the activation is unknown.

    >>> sum(weight.numel() for weight in make_expert(6, 24, "gelu").parameters())
    318
    """
    check_choice("activation", activation, (*ACTIVATIONS, "swiglu"))
    check_int("hidden", hidden)
    if activation == "swiglu":
        return SwiGLU(width, hidden)
    return FeedForward(width, hidden, activation)


class MixtureOfExperts(nn.Module):
    """In the place of one feed-forward network: several, a router, and k of them for each token.

    With ``k=1`` and its default gates this is a Switch layer. With ``num_shared`` and many narrow
    experts it is DeepSeekMoE's: an expert cut into m of hidden / m, of which k * m are chosen,
    costs the same and can be combined in many more ways.

    A choice that finds no room in its expert is dropped: it adds nothing. A token all of whose
    choices are dropped leaves with zeros (and with what the shared experts say), and the block
    around passes it by on the residual. Drops are in ``Routing.kept`` and ``Routing.dropped``.

    Args:
        width: model width, C.
        hidden: width inside each expert, F.
        num_experts: number of experts to choose from.
        k: how many of them each token takes.
        capacity: factor of the room in each expert, ``ceil(capacity * N * k / experts)`` tokens of
            the N in a batch; None for no limit.
        num_shared: number of experts that every token passes, with a gate of 1, beside the k.
        activation: one of ``ACTIVATIONS``, or ``"swiglu"``.
        normalise: whether a token's k gates are made to sum to 1; None says yes for k of 2 or more,
            no for 1, where the gate would be constant and the router would learn nothing from
            the output.

    Attributes:
        router: the layer W_r (experts, C), without a bias. A token goes where its product with a
            row is largest; between rows of one length that is the nearest row.
        balance_bias: (experts,), added to the probabilities for the choice alone. It is zero until
            ``rebalance`` moves it. It is a buffer: saved with the weights, and not trained.

    Raises:
        TypeError: if a size is not an integer, the capacity not a number, or normalise not a bool.
        ValueError: if a size is not positive, k is above the number of experts, the capacity not
            finite and positive, or the activation unknown.

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
        num_experts = check_int("num_experts", num_experts)
        k = check_int("k", k, maximum=num_experts)
        if capacity is not None:
            check_positive("capacity", capacity)
        num_shared = check_int("num_shared", num_shared, minimum=0)
        normalise = k > 1 if normalise is None else check_flag("normalise", normalise)
        experts = [make_expert(width, hidden, activation) for _ in range(num_experts)]
        super().__init__()
        self.width, self.k, self.capacity, self.normalise = width, k, capacity, normalise
        self.router = nn.Linear(width, num_experts, bias=False)
        self.experts = nn.ModuleList(experts)
        self.shared = nn.ModuleList(
            make_expert(width, hidden, activation) for _ in range(num_shared)
        )
        self.register_buffer("balance_bias", torch.zeros(num_experts))

    @property
    def active_parameters(self) -> int:
        """Numbers that one token meets: the router, k experts and the shared ones."""
        one = _count(self.experts[0])
        return _count(self.router) + (self.k + len(self.shared)) * one

    def forward(self, x: Float[Tensor, "B T C"]) -> tuple[Float[Tensor, "B T C"], Routing]:
        """Return what the experts make of each token, and how the tokens were routed.

        Only the tokens that chose an expert pass through it; an expert without a token is not
        called. An empty batch (B = 0) gives an empty output and zero loads.

        Raises:
            TypeError: if x has another dtype than the weights.
            ValueError: for a wrong rank, width or device, no token, or NaN or infinity.
        """
        routing = self.route(x)
        tokens = x.flatten(0, 1)  # (N, C)
        out = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            token, place = torch.where((routing.chosen == number) & routing.kept)
            if len(token):
                gates = routing.gates[token, place, None]  # (load, 1)
                out.index_add_(0, token, gates * expert(tokens[token]))
        for expert in self.shared:
            out = out + expert(tokens)
        return out.view_as(x), routing

    def route(self, x: Float[Tensor, "B T C"]) -> Routing:
        """Return the router's decisions alone; no expert is computed.

        Raises:
            TypeError, ValueError: as ``forward`` does.
        """
        check_tokens("x", x, self.router.weight, self.width)
        check_all_finite("x", x)  # a NaN has no nearest expert
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
        """Move ``balance_bias`` by one ``balance_step``: after each training step, if at all.

        Args:
            routing: what ``forward`` returned for the step's batch.
            rate: the step, positive.

        Raises:
            TypeError, ValueError: if routing is not a Routing of so many experts, or the rate not
                finite and positive.
        """
        check_routing(routing)
        if (experts := routing.probabilities.shape[-1]) != len(self.experts):
            raise ValueError(f"routing must be of {len(self.experts)} experts, got {experts}")
        self.balance_bias.copy_(balance_step(self.balance_bias, routing.asked, rate))


def _count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())

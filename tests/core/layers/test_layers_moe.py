"""The mixture of experts: against every expert run on every token, and against Mixtral's block."""

import pytest
import torch
from torch.nn import functional as F
from transformers import MixtralConfig
from transformers.models.mixtral.modeling_mixtral import (
    MixtralSparseMoeBlock,
    load_balancing_loss_func,
)

from course_utils.layers.moe import MixtureOfExperts, balance_loss, choose_experts

B, T, C, HIDDEN, EXPERTS = 2, 11, 5, 13, 7
N = B * T
# Two float32 paths through two small products: numbers of size 1, some ten roundings of 6e-8.
CLOSE = {"rtol": 0, "atol": 1e-5}
LAYERS = {
    "top 2": {"k": 2},
    "switch": {"k": 1},
    "top 3 of raw gates": {"k": 3, "normalise": False},
    "all": {"k": EXPERTS},
    "shared": {"k": 2, "num_shared": 3},
    "swiglu": {"k": 2, "activation": "swiglu"},
    "relu": {"k": 2, "activation": "relu"},
}


def mixture(**options):
    options = {"k": 2} | options
    return MixtureOfExperts(C, HIDDEN, EXPERTS, options.pop("k"), **options)


def dense_loop(layer, x):
    """Every expert on every token, k times over, and most of it times zero."""
    probabilities = F.softmax(F.linear(x, layer.router.weight), dim=-1)
    chosen = torch.topk(probabilities + layer.balance_bias, layer.k, dim=-1).indices
    gates = torch.take_along_dim(probabilities, chosen, dim=-1)
    if layer.normalise:
        gates = gates / gates.sum(dim=-1, keepdim=True)
    out = sum((expert(x) for expert in layer.shared), torch.zeros_like(x))
    for place in range(layer.k):
        for number, expert in enumerate(layer.experts):
            asks = (chosen[..., place] == number)[..., None]
            out = out + expert(x) * gates[..., [place]] * asks
    return out


def gradients(out, inputs):
    """Of a sum in which each number has another weight; zeros where nothing is felt."""
    weights = torch.linspace(-1, 1, out.numel()).view_as(out)
    found = torch.autograd.grad((weights * out).sum(), inputs, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(found, inputs, strict=True)]


@pytest.mark.parametrize("options", LAYERS.values(), ids=LAYERS.keys())
def test_dispatch_as_the_dense_loop(options):
    layer, x = mixture(**options), torch.randn(B, T, C, requires_grad=True)
    layer.balance_bias.copy_(torch.randn(EXPERTS) / 10)
    inputs = [x, *layer.parameters()]
    ours, expected = layer(x)[0], dense_loop(layer, x)
    torch.testing.assert_close(ours, expected, **CLOSE)
    found, wanted = gradients(ours, inputs), gradients(expected, inputs)
    for mine, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, theirs, **CLOSE)
    assert found[1].abs().max() > 1e-3  # the router's


def test_agrees_with_mixtrals_block():
    config = MixtralConfig(
        hidden_size=C, intermediate_size=HIDDEN, num_local_experts=EXPERTS,
        num_experts_per_tok=2, experts_implementation="eager",
    )  # fmt: skip
    theirs, ours = MixtralSparseMoeBlock(config), mixture(activation="swiglu")
    with torch.no_grad():
        theirs.gate.weight.copy_(ours.router.weight)
        for number, expert in enumerate(ours.experts):
            both = torch.cat([expert.gate.weight, expert.expand.weight])
            theirs.experts.gate_up_proj[number].copy_(both)
            theirs.experts.down_proj[number].copy_(expert.contract.weight)
    x = torch.randn(B, T, C)
    torch.testing.assert_close(ours(x)[0], theirs(x), **CLOSE)
    ours.normalise = False
    assert not torch.allclose(ours(x)[0], theirs(x), atol=1e-2)


# What it costs, in parameters; in work: row 23 of the corrections


@pytest.mark.parametrize("activation, matrices, biases", [("gelu", 2, 1), ("swiglu", 3, 0)])
def test_parameters_all_and_active(activation, matrices, biases):
    layer = mixture(k=2, num_shared=3, activation=activation)
    expert = matrices * C * HIDDEN + biases * (C + HIDDEN)
    router = EXPERTS * C
    assert sum(p.numel() for p in layer.parameters()) == router + (EXPERTS + 3) * expert
    assert layer.active_parameters == router + (2 + 3) * expert


def test_capacity_is_causal():
    layer, x = mixture(capacity=0.5), torch.randn(1, T, C)
    out, routing = layer(x)
    assert routing.dropped > 0
    for changed in range(T):
        other = x.clone()
        other[:, changed:] = torch.randn(1, T - changed, C)
        later, rerouted = layer(other)
        assert torch.equal(rerouted.kept[:changed], routing.kept[:changed])
        torch.testing.assert_close(later[:, :changed], out[:, :changed], **CLOSE)


def test_dropped_choices():
    layer, x = mixture(k=1, capacity=0.5), torch.randn(B, T, C)
    out, routing = layer(x)
    lost = ~routing.kept[:, 0]
    assert routing.dropped == lost.sum() > 0
    assert torch.equal(out.flatten(0, 1)[lost], torch.zeros(int(lost.sum()), C))
    assert (out.flatten(0, 1)[~lost] != 0).all()
    # Of two choices the one that is kept goes on, with its own gate.
    layer = mixture(k=2, capacity=0.5)
    out, routing = layer(x)
    half = torch.where(routing.kept.sum(dim=1) == 1)[0]
    assert len(half)
    for token in half.tolist():
        (place,) = routing.kept[token].nonzero()[0].tolist()
        expert = layer.experts[routing.chosen[token, place]]
        expected = routing.gates[token, place] * expert(x.flatten(0, 1)[token])
        torch.testing.assert_close(out.flatten(0, 1)[token], expected, **CLOSE)


# The router


def test_one_normalised_gate():
    x = torch.randn(B, T, C)
    sizes = {}
    for normalise in (None, False, True):
        torch.manual_seed(0)
        layer = mixture(k=1, normalise=normalise)
        out, routing = layer(x)
        sizes[normalise] = gradients(out, [layer.router.weight])[0].abs().max()
        best = routing.probabilities.amax(dim=1, keepdim=True)
        assert torch.equal(routing.gates, torch.ones(N, 1) if normalise else best)
    assert sizes[None] == sizes[False] > 1e-2
    assert sizes[True] < 1e-6  # p / p: rounding


def test_rebalancing_evens_the_load_out():
    """Seven experts and a router that has one favourite; the inputs do not change."""
    layer, x = mixture(k=1), torch.randn(1, 997, C)
    with torch.no_grad():
        layer.router.weight[2] *= 5
    spread = [layer.route(x).assigned.max().item()]
    for _ in range(300):
        layer.rebalance(layer.route(x), rate=0.003)
    spread.append(layer.route(x).assigned.max().item())
    assert spread[0] > 2 * 997 / EXPERTS
    assert spread[1] < 1.5 * 997 / EXPERTS  # steps of one size swing about the mean
    assert layer.balance_bias.argmin() == 2
    assert "balance_bias" in layer.state_dict() and not layer.balance_bias.requires_grad


def test_balance_loss_as_mixtral():
    logits = torch.randn(N, EXPERTS, requires_grad=True)
    for k in (1, 2, 3):
        ours = balance_loss(choose_experts(logits.softmax(dim=-1), k))
        theirs = load_balancing_loss_func((logits,), EXPERTS, k) / k
        torch.testing.assert_close(ours, theirs)
        mine, other = (torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs))
        torch.testing.assert_close(mine, other)


# What comes at the edges


@pytest.mark.parametrize("capacity", [None, 1.0])
def test_all_tokens_to_one_expert(capacity):
    layer = mixture(k=1, capacity=capacity)
    out, routing = layer(torch.ones(B, T, C))
    assert out.isfinite().all() and routing.assigned.max() == N
    room = N if capacity is None else 4  # ceil(22 / 7)
    assert routing.load.max() == room and routing.dropped == N - room
    # Where everything goes to one of them, the loss is their number times its probability.
    largest = routing.probabilities.mean(dim=0).max()
    torch.testing.assert_close(balance_loss(routing), EXPERTS * largest)

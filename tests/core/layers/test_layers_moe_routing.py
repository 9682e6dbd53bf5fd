"""Choosing experts, the room in each, and the step of the bias: against loops that one can read."""

import math
from fractions import Fraction

import pytest
import torch
from torch.func import vmap

from course_utils.layers.moe_routing import (
    balance_loss,
    balance_step,
    choose_experts,
    expert_capacity,
)

N, EXPERTS = 23, 5


def random_rows(*shape):
    return torch.randn(*shape, N, EXPERTS).softmax(dim=-1)


def serve(chosen, room):
    """One token after the other, its better choice first, while there is room."""
    taken, kept = [0] * EXPERTS, []
    for choices in chosen.tolist():
        kept.append([taken[expert] < room for expert in choices])
        for expert in choices:
            taken[expert] += 1
    return torch.tensor(kept)


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("factor", [0.01, 0.5, 1.0, 1.25, 9.0])
def test_room_by_order_of_tokens(k, factor):
    routing = choose_experts(random_rows(), k, capacity=factor)
    room = expert_capacity(N, EXPERTS, k, factor)
    assert torch.equal(routing.kept, serve(routing.chosen, room))
    assert routing.load.max() <= room
    assert torch.equal(routing.load, routing.assigned.clamp(max=room))
    assert routing.assigned.sum() == N * k == routing.load.sum() + routing.dropped


@pytest.mark.parametrize("num_experts", [1, 3, 7])
@pytest.mark.parametrize("factor", ["0.1", "1", "1.25", "0.3", "2.7"])
def test_room_in_exact_arithmetic(num_experts, factor):
    for tokens in (1, 7, 30, 100):
        exact = Fraction(factor) * tokens / num_experts
        assert expert_capacity(tokens, num_experts, 1, float(factor)) == math.ceil(exact)
    assert expert_capacity(1, 8, 1, 1e-12) == 1


def test_equal_probabilities():
    even = torch.full((N, EXPERTS), 1 / EXPERTS)
    assert choose_experts(even, 2).chosen.tolist() == [[0, 1]] * N
    bias = torch.tensor([0.0, 0.0, 0.1, 0.0, 0.1])
    assert choose_experts(even, 3, bias=bias).chosen.tolist() == [[2, 4, 0]] * N


def test_chosen_and_gates():
    probabilities = random_rows()
    routing = choose_experts(probabilities, 3, normalise=False)
    best = probabilities.topk(3)
    assert torch.equal(routing.gates, best.values) and torch.equal(routing.chosen, best.indices)
    assert routing.kept.all() and routing.dropped == 0
    shared = choose_experts(probabilities, 3).gates
    torch.testing.assert_close(shared, best.values / best.values.sum(dim=1, keepdim=True))


def test_routing_under_vmap():
    stacked, biases = random_rows(3), torch.randn(3, EXPERTS) / 5

    def route(probabilities, bias):
        routing = choose_experts(probabilities, 2, bias=bias, capacity=0.7)
        return (*routing, routing.assigned, routing.load, balance_loss(routing))

    together = vmap(route)(stacked, biases)
    for run, alone in enumerate(map(route, stacked, biases)):
        for one, each in zip(alone, together, strict=True):
            torch.testing.assert_close(each[run], one)


def test_balance_loss_counts_dropped():
    probabilities = random_rows()
    free, tight = choose_experts(probabilities, 1), choose_experts(probabilities, 1, capacity=0.2)
    assert tight.dropped and balance_loss(free) == balance_loss(tight)


def test_step_of_the_bias():
    bias = torch.randn(EXPERTS, dtype=torch.float64)
    load = torch.tensor([2, 9, 5, 0, 4])  # mean 4
    step = balance_step(bias, load, 0.25) - bias
    torch.testing.assert_close(step, 0.25 * torch.tensor([1, -1, -1, 1, 0], dtype=torch.float64))
    # A mean that is no whole number leaves nobody in the middle.
    assert (balance_step(bias, torch.tensor([2, 9, 5, 0, 5]), 0.25) != bias).all()

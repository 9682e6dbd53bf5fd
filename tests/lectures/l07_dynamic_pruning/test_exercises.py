"""Lecture 07's exercises: references against the course's layers, right answers."""

import copy
import itertools
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from course_utils.layers.moe import MixtureOfExperts, Routing, balance_loss
from lectures.l07_dynamic_pruning.exercises import check_balance, check_dispatch, check_mixture
from lectures.l07_dynamic_pruning.exercises.balance import BALANCE
from lectures.l07_dynamic_pruning.exercises.dispatch import DISPATCH
from lectures.l07_dynamic_pruning.exercises.mixture import BANDWIDTH, MODELS

# 1 · Dispatch the tokens


@pytest.mark.parametrize(("capacity", "room"), [(None, 22), (0.5, 4)])
def test_dispatch_is_our_layer(capacity, room):
    layer = MixtureOfExperts(5, 7, 3, 2, capacity=capacity)
    x = torch.randn(1, 11, 5)
    out, routing = layer(x)
    assert bool(routing.dropped) is (capacity is not None)
    decided = (routing.chosen, routing.gates, list(layer.experts), room)
    torch.testing.assert_close(DISPATCH.reference(x[0], *decided), out[0])


@pytest.mark.parametrize("probe", DISPATCH.probes, ids=["an unused expert", "three choices"])
def test_dispatch_is_each_token_alone(probe):
    x, chosen, gates, experts, room = copy.deepcopy(probe).values()  # its experts count
    expected = torch.zeros_like(x)
    for n, j in itertools.product(range(len(x)), range(chosen.shape[1])):
        expected[n] += gates[n, j] * torch.tanh(x[n] @ experts[chosen[n, j]].weight)
    torch.testing.assert_close(DISPATCH.reference(x, chosen, gates, experts, room), expected)


def dispatch_in_each_place(x, chosen, gates, experts, room):
    out = torch.zeros_like(x)
    one_hot = F.one_hot(chosen, len(experts))  # (N, k, E)
    queue = one_hot.flatten(0, 1).cumsum(0).view_as(one_hot)
    for j in range(chosen.shape[1]):
        for e, expert in enumerate(experts):
            mine = (chosen[:, j] == e) & (queue[:, j, e] <= room)
            out[mine] += gates[mine, j, None] * expert(x[mine])
    return out


def dispatch_from_a_flat_list(x, chosen, gates, experts, room):
    k = chosen.shape[1]
    out = torch.zeros(len(x), x.shape[1])
    for e in range(len(experts)):
        pick = (chosen.flatten() == e).nonzero()[:room, 0]
        out[pick // k] += gates.flatten()[pick].unsqueeze(1) * experts[e](x[pick // k])
    return out


@pytest.mark.parametrize("answer", [dispatch_in_each_place, dispatch_from_a_flat_list])
def test_other_right_dispatches(answer):
    assert check_dispatch(answer)


# 2 · The balance loss


@pytest.mark.parametrize("probe", BALANCE.probes, ids=["unused", "one", "three"])
def test_the_library_has_loss_and_gradient(probe):
    p, chosen = probe.values()
    routing = Routing(chosen, p.gather(1, chosen), torch.ones_like(chosen) > 0, p)
    ours, loss = balance_loss(routing), BALANCE.reference(p, chosen)
    torch.testing.assert_close(loss, ours)
    torch.testing.assert_close(torch.autograd.grad(loss, p), torch.autograd.grad(ours, p))


def balance_by_loop(probabilities, chosen):
    loss, (_, E) = 0, probabilities.shape
    for e in range(E):
        loss = loss + (chosen == e).float().mean() * probabilities[:, e].mean()
    return loss * E


def balance_by_one_hot(probabilities, chosen):
    N, E = probabilities.shape
    return E * (F.one_hot(chosen, E).float().mean(dim=(0, 1)) @ probabilities.sum(0)) / N


@pytest.mark.parametrize("answer", [balance_by_loop, balance_by_one_hot])
def test_other_right_balances(answer):
    assert check_balance(answer)


# 3 · Which of these is a mixture?


def by_the_largest_step(measure):
    """The first hundred texts, one by one: a dense model's steps are all the same."""
    sizes = [measure(texts)[0] for texts in range(1, 101)]
    steps = {after - before for before, after in pairwise(sizes)}
    return "mixture" if len(steps) > 1 else "dense"


def test_other_right_ways_to_tell_a_mixture():
    assert check_mixture(by_the_largest_step)


def test_a_model_cannot_be_opened():
    assert not check_mixture(lambda measure: "mixture" if measure.experts > 1 else "dense")


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_bytes_and_seconds_of_a_step(model):
    size, seconds = model(1000)
    weights = model.rest + model.experts * model.expert
    assert size == weights + 1000 * model.cache, "all experts are read by many texts"
    assert seconds >= size / BANDWIDTH
    assert model(1)[0] == model.rest + model.k * model.expert + model.cache

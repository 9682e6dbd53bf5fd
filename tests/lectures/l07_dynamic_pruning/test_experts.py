"""Experts in the plane: the task, the training step by step, and the packaged runs of it.

That one expert takes over, and that both ways of balancing cure it, is asserted of these runs.
"""

import math

import pytest
import torch
from torch.nn import functional as F

from course_utils.layers.moe import MixtureOfExperts, balance_loss
from course_utils.training import TEST_SEED
from lectures.l07_dynamic_pruning.experiments.expert_runs import (
    EXPERTS,
    SHARED,
    STEPS,
    expert_run,
)
from lectures.l07_dynamic_pruning.experiments.experts import (
    BALANCES,
    BLOBS,
    PlaneExperts,
    expert_angles,
    plane_batch,
)


def draw(batch, seed=0):
    return plane_batch(torch.Generator().manual_seed(seed), batch=batch)


# The task


def test_each_blob_has_its_own_turn():
    points, targets = draw(4001)
    angles = 2 * math.pi / BLOBS * torch.arange(BLOBS)
    centres = torch.stack([angles.cos(), angles.sin()], dim=1)
    blob = torch.cdist(points, centres).argmin(dim=1)
    offset = (points - centres[blob]) / 0.18
    turn = 2.4 * blob
    turned = torch.stack(
        [
            offset[:, 0] * turn.cos() - offset[:, 1] * turn.sin(),
            offset[:, 0] * turn.sin() + offset[:, 1] * turn.cos(),
        ],
        dim=1,
    )
    # A point that lies nearer to the next centre is taken for the wrong blob's: a few in a hundred.
    right = ((turned - targets).abs() < 1e-3).all(dim=1)
    assert right.float().mean() > 0.95
    assert torch.bincount(blob, minlength=BLOBS).min() > 400
    assert abs(targets.square().mean() - 1) < 0.05


# How it is trained


def by_hand(seed, steps, balance):
    """One training, through the dispatch."""
    torch.manual_seed(seed)
    model, stream = PlaneExperts(), torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        points, targets = plane_batch(stream)
        predicted, routing = model(points)
        loss = F.mse_loss(predicted, targets) + 0.2 * (balance == "loss") * balance_loss(routing)
        adam.zero_grad()
        loss.backward()
        for parameter in model.parameters():  # of an expert that was not called
            parameter.grad = (
                torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            )
        adam.step()
        if balance == "bias":
            model.layer.rebalance(routing, 0.005)
    return model


@pytest.mark.parametrize("k, capacity", [(1, None), (2, None), (2, 0.7)])
def test_every_expert_gives_the_dispatch(k, capacity):
    model, (points, targets) = PlaneExperts(5, k, capacity=capacity), draw(67)
    found = []
    for every_expert in (False, True):
        predicted, routing = model(points, every_expert=every_expert)
        loss = F.mse_loss(predicted, targets)
        slopes = torch.autograd.grad(loss, [*model.parameters()], materialize_grads=True)
        found.append([predicted, *slopes])
    assert bool(routing.dropped) == (capacity is not None)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)


# What the experts are to one another


def test_angles_know_functions_not_weights():
    layer, x = MixtureOfExperts(5, 11, 3, 1, activation="relu"), torch.randn(2, 7, 5)
    first, opposite, same = layer.experts
    with torch.no_grad():
        for name, weight in opposite.named_parameters():
            weight.copy_(first.get_parameter(name) * (-1 if name.startswith("contract") else 1))
        # The same function with its hidden units in another order.
        order = torch.randperm(11)
        same.expand.weight.copy_(first.expand.weight[order])
        same.expand.bias.copy_(first.expand.bias[order])
        same.contract.weight.copy_(first.contract.weight[:, order])
        same.contract.bias.copy_(first.contract.bias)
    # Cosines of 1 but for 1e-7 are angles of up to a fiftieth of a degree.
    expected = torch.tensor([[0.0, 180, 0], [180, 0, 180], [0, 180, 0]])
    torch.testing.assert_close(expert_angles(layer, x), expected, atol=0.05, rtol=0)


def test_angles_against_cosine_similarity():
    layer, x = MixtureOfExperts(5, 11, 3, 1), torch.randn(2, 7, 5)
    rows = torch.stack([expert(x).flatten() for expert in layer.experts])
    cosines = F.cosine_similarity(rows[:, None], rows, dim=-1).fill_diagonal_(1)
    expected = torch.rad2deg(torch.arccos(cosines)).detach()
    torch.testing.assert_close(expert_angles(layer, x), expected, rtol=1e-4, atol=1e-3)


# The packaged runs


@pytest.mark.parametrize("balance", BALANCES)
def test_packaged_runs_are_trained_as_by_hand(balance):
    run, model, at = expert_run("5", balance), by_hand(0, 40, balance), STEPS.index(40)
    torch.testing.assert_close(run.routers[at], model.layer.router.weight, rtol=0, atol=2e-2)
    torch.testing.assert_close(run.biases[at], model.layer.balance_bias, rtol=0, atol=2e-2)


def test_packaged_runs_show_what_the_lecture_says():
    points, _ = draw(4096, TEST_SEED)

    def busiest(shared, balance):
        run, model = expert_run(shared, balance), PlaneExperts(EXPERTS, **SHARED[shared])
        found = []
        for weight, bias in zip(run.routers, run.biases, strict=True):
            model.layer.router.weight.data, model.layer.balance_bias = weight, bias
            found.append(model(points)[1].assigned.max() / len(points))
        return torch.stack(found)

    collapsed, even = busiest("5", "none"), busiest("5, weights from 0", "none")
    assert collapsed[0] > 0.9 and collapsed[STEPS.index(500)] > 0.9 > collapsed[-1]
    assert even[0] < 0.5 and even.max() > 0.65
    assert busiest("nothing", "none").max() < 0.55
    for balance in ("loss", "bias"):
        assert busiest("5", balance)[STEPS.index(500) :].max() < 0.5

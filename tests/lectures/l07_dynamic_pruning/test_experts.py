"""Experts in the plane: what brings collapse about, and that both ways of balancing cure it.

The training is the lecture's own, three fifths of it: the shares have settled by then, the errors
go on falling.
"""

import math

import pytest
import torch
from torch.nn import functional as F

from course_utils.layers.moe import MixtureOfExperts, balance_loss
from course_utils.lectures.l07_dynamic_pruning.experiments.experts import (
    BALANCES,
    BLOBS,
    EVERY,
    PlaneExperts,
    expert_angles,
    expert_shares,
    plane_batch,
    plane_error,
    train_experts,
)
from course_utils.lectures.l07_dynamic_pruning.experiments.toy_experts import (
    TOY_BALANCES,
    TOY_EXPERTS,
    TOY_KS,
    load_toy_experts,
    toy_routing,
)


def draw(batch, seed=0):
    return plane_batch(torch.Generator().manual_seed(seed), batch=batch)


@pytest.fixture(scope="module")
def trained():
    return train_experts(steps=300)


def shares(training):
    return torch.stack([expert_shares(model) for model in training.models])


def errors(training):
    return torch.tensor([plane_error(model) for model in training.models])


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


# The claim


def test_without_balancing_one_expert_takes_over(trained):
    assert shares(trained["none"]).amax(dim=1).min() > 0.6
    assert (shares(trained["none"]) < 0.01).any(dim=1).all()  # and some are dead


@pytest.mark.parametrize("balance", ["loss", "bias"])
def test_balancing_keeps_every_share_within_twice_and_half_of_uniform(trained, balance):
    found = shares(trained[balance])
    assert found.min() > 0.25 / 2 and found.max() < 0.25 * 2
    # On average: where two of four experts are left, a run may do as well as a balanced one.
    assert errors(trained[balance]).mean() < errors(trained["none"]).mean() - 0.03


def test_what_each_way_moves(trained):
    for balance, training in trained.items():
        for model in training.models:
            assert model.layer.balance_bias.any() == (balance == "bias")
            assert all(p.requires_grad for p in model.parameters())


def test_the_tables_are_those_of_a_training(trained):
    for training in trained.values():
        assert training.losses.shape == (3, 300) and training.losses.isfinite().all()
        assert training.scores.shape == (3, 15) and training.steps_checked[-1] == 300
        assert not training.diverged.any() and len(training.models) == 3
        # The last score and the trained model's shares: two samples of one thing.
        biggest = shares(training).amax(dim=1)
        assert (training.scores[:, -1] - biggest).abs().max() < 0.05


def test_without_the_common_part_nothing_collapses():
    found = train_experts(["none"], common=0.0, steps=100)["none"].scores[:, -1]
    assert found.max() < 0.5


# How it is trained


def by_hand(seed, steps, balance, weight=0.2, rate=0.005, learning_rate=0.01):
    """One run alone, through the dispatch, as one would write it without vmap."""
    torch.manual_seed(seed)
    model, stream = PlaneExperts(), torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), lr=learning_rate)
    losses = []
    for _ in range(steps):
        points, targets = plane_batch(stream)
        predicted, routing = model(points)
        loss = F.mse_loss(predicted, targets)
        adam.zero_grad()
        (loss + weight * (balance == "loss") * balance_loss(routing)).backward()
        for parameter in model.parameters():  # of an expert that was not called
            parameter.grad = (
                torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
            )
        adam.step()
        if balance == "bias":
            model.layer.rebalance(routing, rate)
        losses.append(loss.item())
    return model, losses


def test_stacked_runs_are_each_alone():
    together = train_experts(seeds=[3, 7], steps=EVERY + 1)
    for balance in BALANCES:
        model, losses = by_hand(7, EVERY + 1, balance)
        stacked = together[balance]
        # Adam divides by the size of a gradient, and so makes roundings larger with each step.
        torch.testing.assert_close(stacked.losses[1], torch.tensor(losses), rtol=0, atol=1e-3)
        for ours, theirs in zip(
            stacked.models[1].state_dict().values(), model.state_dict().values(), strict=True
        ):
            torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-2)
        assert stacked.steps_checked == (EVERY, EVERY + 1)


@pytest.mark.parametrize("k, capacity", [(1, None), (2, None), (2, 0.7)])
def test_every_expert_on_every_point_is_the_dispatch(k, capacity):
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


def test_the_readers_random_numbers_stay_as_they_are():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train_experts(["none"], seeds=[0], steps=1)
    assert torch.equal(torch.rand(3), expected)


# What the experts are to one another


def test_angles_by_weights_and_by_outputs():
    layer, x = MixtureOfExperts(5, 11, 3, 1, activation="relu"), torch.randn(2, 7, 5)
    with torch.no_grad():
        for name, weight in layer.experts[1].named_parameters():
            weight.copy_(layer.experts[0].get_parameter(name))
        # The same function with its hidden units in another order.
        order = torch.randperm(11)
        same = layer.experts[2]
        same.expand.weight.copy_(layer.experts[0].expand.weight[order])
        same.expand.bias.copy_(layer.experts[0].expand.bias[order])
        same.contract.weight.copy_(layer.experts[0].contract.weight[:, order])
        same.contract.bias.copy_(layer.experts[0].contract.bias)
    by_weights, by_outputs = expert_angles(layer), expert_angles(layer, x)
    assert by_weights[0, 1] == 0 and by_weights[0, 2] > 60
    # Cosines of 1 but for 1e-7 are angles of up to a fiftieth of a degree.
    assert by_outputs.max() < 0.05
    with torch.no_grad():
        layer.experts[1].contract.weight.neg_()
        layer.experts[1].contract.bias.neg_()
    torch.testing.assert_close(
        expert_angles(layer, x)[0, 1], torch.tensor(180.0), atol=0.05, rtol=0
    )


def test_angles_are_those_of_cosine_similarity():
    layer, x = MixtureOfExperts(5, 11, 3, 1), torch.randn(2, 7, 5)
    rows = [expert(x).flatten() for expert in layer.experts]
    angles = expert_angles(layer, x)
    for i in range(3):
        for j in range(3):
            if i != j:
                cosine = F.cosine_similarity(rows[i], rows[j], dim=0)
                expected = torch.rad2deg(torch.arccos(cosine)).detach()
                torch.testing.assert_close(angles[i, j], expected, rtol=1e-4, atol=1e-3)


# The trained toys


@pytest.mark.parametrize("k", TOY_KS)
@pytest.mark.parametrize("num_experts", TOY_EXPERTS)
def test_the_packaged_toys_are_what_their_names_say(num_experts, k):
    biggest = []
    for balance in TOY_BALANCES:
        model = load_toy_experts(num_experts, k, balance)
        assert (len(model.layer.experts), model.layer.k) == (num_experts, k)
        assert not model.training and not model.layer.balance_bias.any()
        biggest.append(expert_shares(model).max())
        assert plane_error(model) < 1.0
    if k == 1:
        # Collapsed without a balance loss, and not so with the strongest.
        assert biggest[0] > 0.9 and biggest[-1] < min(0.75, 2.5 / num_experts)


def test_a_toy_is_a_model_of_its_own():
    first, second = (load_toy_experts(4, 1, 0.1) for _ in range(2))
    with torch.no_grad():
        first.layer.router.weight.zero_()
    assert second.layer.router.weight.any()
    assert load_toy_experts(4, 1, 0.1).layer.router.weight.any()


@pytest.mark.parametrize("capacity", [None, 0.25, 1.0, 3.0])
def test_a_toys_routing_is_its_models(capacity):
    toy = toy_routing(8, 2, capacity, 0.03)
    model = load_toy_experts(8, 2, 0.03)
    probabilities = F.linear(F.pad(toy.points, (0, 1), value=5.0), model.layer.router.weight)
    assert torch.equal(toy.routing.chosen, probabilities.topk(2, dim=1).indices)
    assert toy.routing.load.sum() + toy.routing.dropped == 1024
    if capacity is None:
        assert toy.room is None and toy.routing.dropped == 0
    else:
        assert toy.room == math.ceil(capacity * 1024 / 8) >= toy.routing.load.max()


def test_a_toys_plane_is_the_first_choice_at_each_place():
    toy = toy_routing(8, 2, 1.0, 0.1)
    model = load_toy_experts(8, 2, 0.1)
    rows, columns = toy.plane.shape
    left, right, bottom, top = toy.extent
    for row, column in ((0, 0), (7, 53), (60, 11), (30, 30)):
        x = left + (right - left) * (column + 0.5) / columns
        y = bottom + (top - bottom) * (row + 0.5) / rows
        assert model(torch.tensor([[x, y]]))[1].chosen[0, 0] == toy.plane[row, column]
    assert len(toy.plane.unique()) > 4
    assert left < toy.points.min() and toy.points.max() < right


def test_less_room_means_more_drops_and_a_larger_error():
    toys = [toy_routing(4, 1, capacity, 0.1) for capacity in (0.25, 1.0, 4.0)]
    drops = [toy.routing.dropped for toy in toys]
    assert drops[0] > drops[1] > drops[2] == 0
    assert toys[0].error > toys[1].error > toys[2].error

"""Lecture 07's exercises: references against the course's layers, right answers."""

import copy
import itertools

import pytest
import torch
import torch.nn.functional as F

from course_utils.layers.lora import LoRALinear
from course_utils.layers.moe import MixtureOfExperts, Routing, balance_loss
from lectures.l07_dynamic_pruning.exercises import (
    check_balance,
    check_dispatch,
    check_grouped_scores,
    check_merge_lora,
)
from lectures.l07_dynamic_pruning.exercises.balance import BALANCE
from lectures.l07_dynamic_pruning.exercises.dispatch import DISPATCH
from lectures.l07_dynamic_pruning.exercises.grouped_scores import GROUPED_SCORES
from lectures.l07_dynamic_pruning.exercises.merge_lora import MERGE_LORA

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


# 3 · Merge a LoRA


def test_merging_is_our_layer():
    layer = LoRALinear(torch.nn.Linear(5, 7), rank=3, alpha=6)
    torch.nn.init.normal_(layer.up)
    W, x = layer.base.weight.detach().clone(), torch.randn(11, 5)
    merged = MERGE_LORA.reference(W, layer.down.detach(), layer.up.detach(), 6.0)
    torch.testing.assert_close(F.linear(x, merged, layer.base.bias), layer(x))
    layer.merge()
    torch.testing.assert_close(merged, layer.base.weight.detach())


@pytest.mark.parametrize(
    "answer",
    [
        lambda W, A, B, alpha: alpha / A.shape[0] * B @ A + W,
        lambda W, A, B, alpha: torch.addmm(W, B, A, alpha=alpha / B.shape[1]),
        lambda W, A, B, alpha: W.clone().add_(B @ A * alpha / len(A)),
    ],
    ids=["in a line", "addmm", "in a copy"],
)
def test_other_right_merges(answer):
    assert check_merge_lora(answer)


# 4 · Shared keys without a copy


@pytest.mark.parametrize("probe", GROUPED_SCORES.probes, ids=["two", "five", "three"])
def test_scores_are_those_of_repeated_keys(probe):
    q, k = probe.values()
    repeated = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
    torch.testing.assert_close(GROUPED_SCORES.reference(q, k), q @ repeated.mT)
    # Room for a copy of what is there, of the queries and of the G heads of keys.
    scores = q[..., 0].numel() * k.shape[2]
    assert q.numel() + k.numel() + scores < repeated.numel()


def test_torch_shares_heads_in_this_order():
    q, k, v = torch.randn(2, 6, 5, 7), torch.randn(2, 3, 11, 7), torch.randn(2, 3, 11, 7)
    theirs = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    scores = GROUPED_SCORES.reference(q, k) / 7**0.5
    torch.testing.assert_close(scores.softmax(-1) @ v.repeat_interleave(2, dim=1), theirs)


def by_einsum(q, k):
    grouped = q.unflatten(1, (k.shape[1], -1))
    return torch.einsum("bgrtd,bgsd->bgrts", grouped, k).flatten(1, 2)


def head_by_head(q, k):
    R = q.shape[1] // k.shape[1]
    return torch.stack([q[:, h] @ k[:, h // R].mT for h in range(q.shape[1])], dim=1)


@pytest.mark.parametrize("answer", [by_einsum, head_by_head])
def test_other_right_scores(answer):
    assert check_grouped_scores(answer)


@pytest.mark.parametrize(
    "copying",
    [
        lambda q, k, R: (q.unflatten(1, (-1, R)) @ k[:, :, None].mT).flatten(1, 2),
        lambda q, k, R: q @ torch.stack([k] * R, dim=2).flatten(1, 2).mT,
        lambda q, k, R: q @ k[:, torch.arange(q.shape[1]) // R].mT,
        lambda q, k, R: q @ k[:, :, None].expand(-1, -1, R, -1, -1).flatten(1, 2).mT,
        lambda q, k, R: torch.einsum("bhtd,bhsd->bhts", q, k.repeat_interleave(R, 1)),
    ],
    ids=["broadcast", "stack", "indexed", "expanded", "einsum of repeated"],
)
def test_every_copy_is_seen(copying):
    verdict = check_grouped_scores(lambda q, k: copying(q, k, q.shape[1] // k.shape[1]))
    said = "held 2508 new numbers or more: the keys of all 6 heads, where there are 836"
    assert said in verdict.message

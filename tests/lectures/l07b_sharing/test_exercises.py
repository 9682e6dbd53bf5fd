"""Lecture 07b's exercises: references against the course's layers, right answers."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.layers.lora import LoRALinear
from lectures.l07b_sharing.exercises import check_grouped_scores, check_merge_lora
from lectures.l07b_sharing.exercises.grouped_scores import GROUPED_SCORES
from lectures.l07b_sharing.exercises.merge_lora import MERGE_LORA

# 1 · Merge a LoRA


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


# 2 · Shared keys without a copy


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


def folded_in_float64(q, k):
    B, H, T, D = q.shape
    folded = q.double().reshape(B, k.shape[1], -1, D)
    return (folded @ k.double().mT).reshape(B, H, T, -1).float()


@pytest.mark.parametrize("answer", [by_einsum, head_by_head, folded_in_float64])
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

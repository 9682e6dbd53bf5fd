"""Lecture 00's exercises: right answers in other words, and the crossover by counted FLOPs."""

import pytest
import torch
import torch.nn.functional as F

from course_utils.lectures.l00_start_here.exercises import (
    CROSSOVER,
    check_attention,
    check_crossover,
)
from course_utils.measure.costs import attention_flops, crossover_length, recurrent_flops


def with_methods(q, k, v):
    scores = (q @ k.transpose(0, 1)).div(q.size(1) ** 0.5)
    weights = F.softmax(scores, 1)
    return [torch.matmul(weights, v), weights]


def with_scaled_queries(q, k, v):
    exponentials = torch.einsum("td,sd->ts", q * q.shape[-1] ** -0.5, k).exp()
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights @ v, weights


@pytest.mark.parametrize("answer", [with_methods, with_scaled_queries])
def test_right_attention_passes(answer):
    assert check_attention(answer).passed


def test_right_crossover_passes():
    assert check_crossover(lambda C: (16 * C**2 - 8 * C**2) / (4 * C)).passed


@pytest.mark.parametrize("C", [7, 13])
def test_crossover_is_where_flops_meet(C):
    meet = CROSSOVER.reference(C)
    below, at, above = (
        attention_flops(N, C) - recurrent_flops(N, C, cell="lstm")
        for N in (meet - 1, meet, meet + 1)
    )
    assert below < 0 == at < above
    assert meet == crossover_length(C, cell="lstm", count_projections=True)

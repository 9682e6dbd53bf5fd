"""The measured side of lecture 07's source notes on sparsity: rows 25 to 27 of the corrections.

As in test_corrections.py: what the source texts say must fail, what we say hold.
"""

import math
import time

import pytest
import torch
from torch.nn.functional import cosine_similarity, pad
from torch.nn.utils import parameters_to_vector
from torch.utils.flop_counter import FlopCounterMode

from course_utils.attention import attend, top_k_attend
from course_utils.lectures.l07_dynamic_pruning.experiments.experts import (
    PlaneExperts,
    expert_angles,
    plane_batch,
)
from course_utils.lectures.l07_dynamic_pruning.experiments.toy_experts import load_toy_experts
from course_utils.threads import one_thread


def sparse_attention_as_written(q, k, v, keep):
    """The source text's sparse attention, with its steps."""
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5
    best, places = torch.topk(scores, k=keep, dim=-1)
    weights = torch.zeros_like(scores)
    weights.scatter_(-1, places, torch.softmax(best, dim=-1))
    return torch.matmul(weights, v)


def flops(call, *inputs):
    with FlopCounterMode(display=False) as counter:
        call(*inputs)
    return counter.get_total_flops()


def test_row_25_top_k_attention_is_right_and_saves_no_product():
    q, k = torch.randn(2, 3, 29, 7), torch.randn(2, 3, 31, 7)
    v = torch.randn(2, 3, 31, 5)
    for keep in (1, 11, 31):
        found = sparse_attention_as_written(q, k, v, keep)
        torch.testing.assert_close(found, top_k_attend(q, k, v, k_keep=keep)[0])
        work = 2 * 6 * 29 * 31 * (7 + 5)  # all scores, and a product with all values
        assert flops(sparse_attention_as_written, q, k, v, keep) == work
        assert flops(lambda *x: attend(*x)[0], q, k, v) == work
    torch.testing.assert_close(found, attend(q, k, v)[0])


def test_row_25_it_is_slower_than_dense_attention():
    """Ratios of processor time on one thread, in turn; the text timed one call each, the first."""
    q, k, v = torch.randn(3, 4, 256, 64)
    calls = (lambda: attend(q, k, v), lambda: sparse_attention_as_written(q, k, v, 32))
    ratios = []
    with one_thread():
        for _ in range(8):
            marks = [time.process_time()]
            for call in calls:
                call()
                marks.append(time.process_time())
            ratios.append((marks[2] - marks[1]) / (marks[1] - marks[0]))
    assert sorted(ratios[1:])[3] > 1.2  # the first round warms up; the median of the others is 2.5


@pytest.mark.parametrize("width", [53, 211, 839])
def test_row_26_power_and_amplitude_fall_differently(width):
    """A key repeats its query in 13 coordinates, and is noise of the same energy in the others."""
    signal = 13
    q, key = torch.randn(2, 4000, width, generator=torch.Generator().manual_seed(0))
    key[:, :signal] = q[:, :signal]
    in_signal, in_noise = (q * key).split((signal, width - signal), dim=1)
    score_ratio = (in_signal.sum(dim=1).mean() / in_noise.sum(dim=1).std()).item()
    energy = key.square().sum(dim=0)
    power, amplitude = signal / (width - signal), signal / math.sqrt(width - signal)
    assert (energy[:signal].sum() / energy[signal:].sum()).item() == pytest.approx(power, rel=0.06)
    assert score_ratio == pytest.approx(amplitude, rel=0.06)
    assert score_ratio > 4 * power  # the text's ratio is not that of the dot product


def off_diagonal(angles):
    return angles[~torch.eye(len(angles), dtype=torch.bool)].detach()


def weight_angles(layer):
    """Between all weights and biases of one expert and of another, read as two vectors."""
    rows = torch.stack([parameters_to_vector(each.parameters()) for each in layer.experts])
    return cosine_similarity(rows[:, None], rows, dim=-1).clamp(-1, 1).arccos().rad2deg()


def test_row_27_trained_experts_are_not_orthogonal():
    points, _ = plane_batch(torch.Generator().manual_seed(0))
    for num_experts, k in ((4, 1), (8, 1), (8, 2)):
        model = load_toy_experts(num_experts, k, 0.1)
        tokens = pad(points, (0, 1), value=model.common)[None]
        outputs = off_diagonal(expert_angles(model.layer, tokens))
        # What two experts make of the same points: far from 90 degrees.
        assert (outputs - 90).abs().max() > 30
        assert (outputs - 90).abs().mean() > 12
        # Their weights are near it, as those of networks that have learned nothing are.
        for each in (model, PlaneExperts(num_experts, k)):
            weights = off_diagonal(weight_angles(each.layer))
            assert (weights - 90).abs().mean() < 12

"""The measured side of lecture 07's source notes: rows 22 to 27 of the corrections.

What the source texts say must fail, what we say hold.
"""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cosine_similarity, pad
from torch.nn.utils import parameters_to_vector
from transformers import MixtralConfig, MixtralForCausalLM

from course_utils.attention import attend, top_k_attend
from course_utils.layers import FeedForward
from course_utils.layers.moe import MixtureOfExperts, expert_capacity
from lectures.l07_dynamic_pruning.experiments.expert_runs import load_trained_experts
from lectures.l07_dynamic_pruning.experiments.experts import (
    PlaneExperts,
    expert_angles,
    plane_batch,
)
from tests.support_flops import counted_flops

# Mixtral 8x7B's public configuration.
V, C, L, F, H, G, D, EXPERTS, K = 32000, 4096, 32, 14336, 32, 8, 128, 8, 2


class TextExample(nn.Module):
    """The mixture of experts as the source text has it, with its names."""

    def __init__(self, d_model, num_experts=8, expert_capacity=2, expert_hidden=2048):
        super().__init__()
        self.expert_capacity = expert_capacity
        self.router = nn.Linear(d_model, num_experts, bias=False)
        self.experts = nn.ModuleList(
            FeedForward(d_model, expert_hidden, "relu") for _ in range(num_experts)
        )

    def forward(self, x):
        probabilities = self.router(x).softmax(dim=-1)
        weights, chosen = torch.topk(probabilities, k=self.expert_capacity, dim=-1)
        weights = weights / weights.sum(dim=-1, keepdim=True)
        output = torch.zeros_like(x)
        for i in range(self.expert_capacity):
            for e, expert in enumerate(self.experts):
                mask = (chosen[..., i] == e).unsqueeze(-1)
                output += expert(x) * weights[..., i].unsqueeze(-1) * mask
        return output


def same_layers(width, hidden):
    """The text's example and ours, with the same weights."""
    theirs = TextExample(width, expert_hidden=hidden)
    ours = MixtureOfExperts(width, hidden, 8, 2, activation="relu")
    ours.load_state_dict({**theirs.state_dict(), "balance_bias": torch.zeros(8)})
    return theirs, ours


def test_22_two_of_eight_experts_cost_two():
    width, hidden, tokens = 17, 67, 31
    layer, x = MixtureOfExperts(width, hidden, 8, 2), torch.randn(1, tokens, width)
    one, ours = counted_flops(lambda: layer.experts[0](x)), counted_flops(lambda: layer(x))
    router = 2 * tokens * width * 8
    assert ours == 2 * one + router  # not a quarter of the dense network's
    assert (ours - router) / (8 * one) == 1 / 4  # but of all eight experts'
    parameters = sum(p.numel() for p in layer.parameters())
    dense = sum(p.numel() for p in layer.experts[0].parameters())
    assert parameters == 8 * dense + 8 * width  # 8 times one network, which is not the model


def mixtral_parameters(experts):
    """Of the whole model, with so many experts of each layer counted."""
    attention = C * H * D + 2 * C * G * D + H * D * C
    expert, norms, router = 3 * C * F, 2 * C, EXPERTS * C
    return 2 * V * C + C + L * (attention + norms + router + experts * expert)


def test_22_parameters_of_mixtral():
    assert mixtral_parameters(EXPERTS) == 46_702_792_704
    assert mixtral_parameters(K) == 12_879_925_248
    assert round(mixtral_parameters(EXPERTS) / 1e9, 1) == 46.7 != 8 * 7
    config = MixtralConfig(
        vocab_size=V, hidden_size=C, num_hidden_layers=L, intermediate_size=F,
        num_attention_heads=H, num_key_value_heads=G, num_local_experts=EXPERTS,
        num_experts_per_tok=K,
    )  # fmt: skip
    with torch.device("meta"):  # shapes alone: no number is stored
        model = MixtralForCausalLM(config)
    assert sum(p.numel() for p in model.parameters()) == mixtral_parameters(EXPERTS)


def test_23_sixteen_networks_where_two_do():
    width, hidden = 19, 67
    theirs, ours = same_layers(width, hidden)
    x = torch.randn(2, 23, width)
    one, router = (counted_flops(part, x) for part in (theirs.experts[0], theirs.router))
    assert counted_flops(theirs, x) == 16 * one + router
    assert counted_flops(ours, x) == 2 * one + router
    torch.testing.assert_close(ours(x)[0], theirs(x), rtol=0, atol=1e-5)


def test_24_the_examples_capacity_is_k():
    theirs, ours = same_layers(5, 7)
    theirs.expert_capacity, ours.k = 3, 3
    x = torch.randn(1, 41, 5)
    out, routing = ours(x)
    torch.testing.assert_close(out, theirs(x), rtol=0, atol=1e-5)
    # It bounds what a token takes. What an expert takes has no bound: here more than 3 of 41.
    assert routing.chosen.shape == (41, 3)
    assert routing.load.max() > 3 and routing.dropped == 0


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.25])
def test_24_capacity_bounds_an_expert(factor):
    layer = MixtureOfExperts(5, 7, 8, 2, capacity=factor)
    routing = layer.route(torch.randn(1, 41, 5))
    room = math.ceil(factor * 41 * 2 / 8)
    assert expert_capacity(41, 8, 2, factor) == room == routing.load.max()
    assert routing.dropped == (routing.assigned - room).clamp(min=0).sum() > 0


def sparse_attention_as_written(q, k, v, keep):
    """The source text's sparse attention, with its steps."""
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.size(-1) ** 0.5
    best, places = torch.topk(scores, k=keep, dim=-1)
    weights = torch.zeros_like(scores)
    weights.scatter_(-1, places, torch.softmax(best, dim=-1))
    return torch.matmul(weights, v)


def test_25_top_k_attention_saves_no_product():
    q, k = torch.randn(2, 3, 29, 7), torch.randn(2, 3, 31, 7)
    v = torch.randn(2, 3, 31, 5)
    for keep in (1, 11, 31):
        found = sparse_attention_as_written(q, k, v, keep)
        torch.testing.assert_close(found, top_k_attend(q, k, v, k_keep=keep)[0])
        work = 2 * 6 * 29 * 31 * (7 + 5)  # all scores, and a product with all values
        assert counted_flops(sparse_attention_as_written, q, k, v, keep) == work
        assert counted_flops(attend, q, k, v) == work
    torch.testing.assert_close(found, attend(q, k, v)[0])


@pytest.mark.parametrize("width", [53, 211, 839])
def test_26_power_and_amplitude_fall_differently(width):
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


def test_27_trained_experts_are_not_orthogonal():
    points, _ = plane_batch(torch.Generator().manual_seed(0))
    for shared, balance in (("5", "loss"), ("5", "bias"), ("2", "loss"), ("1", "loss")):
        model = load_trained_experts(shared, balance)
        tokens = pad(points, (0, 1), value=model.common)[None]
        outputs = off_diagonal(expert_angles(model.layer, tokens))
        # What two experts make of the same points: far from 90 degrees.
        assert (outputs - 90).abs().max() > 15
        assert (outputs - 90).abs().mean() > 12
        # Their weights are near it, as those of networks that have learned nothing are.
        for each in (model, PlaneExperts()):
            weights = off_diagonal(weight_angles(each.layer))
            assert (weights - 90).abs().mean() < 12

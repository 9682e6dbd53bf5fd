"""Lecture 06's exercises: answers that must pass, references."""

import math

import pytest
import torch
from torch import nn

from course_utils.models.gpt2 import GPT2, GPT2Block, GPT2Config
from lectures.l06_gpt2_block.exercises.block import BLOCK
from lectures.l06_gpt2_block.exercises.count import COUNT
from lectures.l06_gpt2_block.exercises.fault import (
    FAULT,
    FAULTS,
    faulty_gpt,
    trace,
)


def block_in_place(x, norm_1, attention, norm_2, feedforward):
    x = x + attention(norm_1(x))
    x += feedforward(norm_2(x))
    return x


def block_step_by_step(x, norm_1, attention, norm_2, feedforward):
    h = norm_1(x)
    x = attention(h) + x
    h = norm_2(x)
    return feedforward(h) + x


@pytest.mark.parametrize("answer", [block_in_place, block_step_by_step])
def test_other_right_blocks_pass(answer):
    assert BLOCK.check(answer).passed


def test_the_block_is_gpt2s():
    ours = GPT2Block(GPT2Config(width=6, num_heads=3, feedforward_width=11))
    norms, layers = (ours.attention_norm, ours.feedforward_norm), (ours.attention, ours.feedforward)
    for shift, norm in enumerate(norms):  # fresh norms are alike, and could be exchanged
        nn.init.constant_(norm.bias, 0.3 * shift)
    x = torch.randn(2, 5, 6)
    causal = torch.ones(5, 5, dtype=torch.bool).tril()

    def attention(x):
        return layers[0](x, may_attend=causal)[0]

    expected = BLOCK.reference(x, norms[0], attention, norms[1], layers[1])
    torch.testing.assert_close(expected, ours(x)[0])


def count_by_shapes(V, P, C, L, F):
    """The numbers in every tensor of the model, from its shape."""
    norm = [(C,), (C,)]
    layers = [(C, C), (C,)] * 4 + [(F, C), (F,), (C, F), (C,)] + 2 * norm
    shapes = [(V, C), (P, C), *norm, *(L * layers)]
    return sum(math.prod(shape) for shape in shapes)


def count_a_model(V, P, C, L, F):
    with torch.device("meta"):
        model = GPT2(GPT2Config(V, P, C, L, num_heads=1, feedforward_width=F))
    return torch.tensor(sum(p.numel() for p in model.parameters()))


@pytest.mark.parametrize("answer", [count_by_shapes, count_a_model])
def test_other_right_counts_pass(answer):
    assert COUNT.check(answer).passed


def test_the_praise_states_gpt2s_numbers():
    assert f"{GPT2Config().parameters:,}" in COUNT.praise
    assert f"{GPT2Config().block_parameters:,}" in COUNT.praise
    assert 0.3 < (50257 + 1024) * 768 / GPT2Config().parameters < 1 / 3


def fault_by_hand(model, reference, token_ids):
    """Block by block, each part on the right model's stream: no part before it can be to blame."""
    mine, theirs = trace(model, token_ids), trace(reference, token_ids)
    wrong = {name for name in mine if (mine[name] - theirs[name]).abs().max() > 1e-4}
    for name in mine:  # all that finished earlier agree
        if name in wrong:
            return name


def test_another_way_to_find_the_fault_passes():
    assert FAULT.check(fault_by_hand).passed


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_a_fault_is_where_it_was_planted_and_hides_in_weights_and_shapes(number):
    wrong, right = faulty_gpt(number)
    ids = FAULT.probes[number]["token_ids"]
    place, _, first = FAULTS[number]
    assert FAULT.reference(wrong, right, ids) == first and first.startswith(place)
    torch.testing.assert_close(wrong.state_dict(), right.state_dict(), rtol=0, atol=0)
    mine, theirs = trace(wrong, ids), trace(right, ids)
    gaps = [(mine[name] - theirs[name]).abs().max().item() for name in mine]
    at = [*mine].index(first)
    assert max(gaps[:at]) < 0.3 * 1e-4 and gaps[at] > 2 * 1e-4  # no rounding decides
    assert mine[""].shape == theirs[""].shape and gaps[-1] > 3 * max(gaps[:at])

"""No leak: what a mask forbids has a gradient of exactly 0, through two blocks; and a planted one.

Through L blocks a token reaches what it reads in L steps, each one along the mask or to itself
(the block adds its input to its output).
"""

import pytest
import torch

from course_utils.layers import Alibi, DecoderBlock, EncoderBlock, MultiHeadAttention, Rotary
from course_utils.masks import (
    causal_mask,
    padding_mask,
    prefix_mask,
    same_document_mask,
    sliding_window_mask,
)
from course_utils.measure.dependence import gradient_reach, leaks, reach_through

T, S, C, H, HIDDEN, BLOCKS = 11, 7, 18, 3, 23, 2
RULES = {
    "causal": causal_mask(T),
    "window": sliding_window_mask(T, 3),
    "prefix": prefix_mask(T, 4),
    "padding": padding_mask([8], T)[0, 0].expand(T, T),
    "documents": same_document_mask([2, 5, 4]),
    "packed decoder": same_document_mask([2, 5, 4]) & causal_mask(T),
}
SCHEMES = {"none": None, "rotary": Rotary(), "alibi": Alibi()}


def reach(run, x):
    """How much output t of the model feels input s, (T, S). A few output channels will do."""
    return gradient_reach(lambda x: run(x[None])[0, :, :5], x)


def stack(scheme, norm_first=False):
    blocks = [
        EncoderBlock(C, H, HIDDEN, position=SCHEMES[scheme], norm_first=norm_first)
        for _ in range(BLOCKS)
    ]

    def run(x, may_attend):
        for block in blocks:
            x, _ = block(x, may_attend)
        return x

    return run


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("rule", RULES)
def test_two_blocks_reach_what_the_mask_allows_and_nothing_else(rule, scheme, norm_first):
    run, x, mask = stack(scheme, norm_first), torch.randn(T, C), RULES[rule]
    # All of it too, so that no leak is missed because nothing is seen.
    assert torch.equal(reach(lambda x: run(x, mask), x) != 0, reach_through(mask, BLOCKS))


@pytest.mark.parametrize("rule", RULES)
def test_one_layer_reads_exactly_what_the_mask_allows(rule):
    layer, x, mask = MultiHeadAttention(C, H), torch.randn(T, C), RULES[rule]
    own = torch.eye(T, dtype=torch.bool)  # the query itself depends on its token
    may_read = mask | (own & mask.any(-1, keepdim=True))
    assert torch.equal(reach(lambda x: layer(x, may_attend=mask)[0], x) != 0, may_read)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_planted_off_by_one_is_caught(scheme):
    run, x = stack(scheme), torch.randn(T, C)
    off_by_one = torch.ones(T, T, dtype=torch.bool).tril(diagonal=1)
    found = leaks(reach(lambda x: run(x, off_by_one), x), causal_mask(T))
    # Two blocks carry it two tokens ahead.
    assert found == [(t, s) for t in range(T) for s in (t + 1, t + 2) if s < T]


def test_one_leaking_block_among_two_is_caught():
    good, bad = EncoderBlock(C, H, HIDDEN), EncoderBlock(C, H, HIDDEN)
    x, off_by_one = torch.randn(T, C), torch.ones(T, T, dtype=torch.bool).tril(diagonal=1)
    felt = reach(lambda x: good(bad(x, off_by_one)[0], causal_mask(T))[0], x)
    found = leaks(felt, causal_mask(T))
    assert found == [(t, t + 1) for t in range(T - 1)]


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_decoder_is_causal_in_x_and_reads_the_memory_it_may(norm_first):
    blocks = [DecoderBlock(C, H, HIDDEN, norm_first=norm_first) for _ in range(BLOCKS)]
    x, memory = torch.randn(T, C), torch.randn(S, C)
    padding = padding_mask([5], S)

    def run(x, memory):
        for block in blocks:
            x, _ = block(x, memory, memory_may_attend=padding)
        return x

    own = reach(lambda x: run(x, memory[None]), x)
    cross = reach(lambda memory: run(x[None], memory), memory)
    assert torch.equal(own != 0, causal_mask(T))
    assert torch.equal(cross != 0, padding[0, 0].expand(T, S))

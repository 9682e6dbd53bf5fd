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


def reached(run, x):
    """Where the gradient of output t by input s is not exactly 0, as a (T, S) mask."""
    x = x.clone().requires_grad_()
    out = run(x)
    # A random mix of the coordinates: their sum is constant after a norm.
    rows = [
        torch.autograd.grad((token * torch.randn_like(token)).sum(), x, retain_graph=True)[0]
        for token in out.unbind(1)
    ]
    return torch.stack([(row != 0).any(-1)[0] for row in rows])


def leaks(run, x, allowed):
    """The pairs (t, s) where output t depends on an input s that it must not depend on."""
    return [tuple(pair) for pair in (reached(run, x) & ~allowed).nonzero().tolist()]


def in_two_steps(may_attend):
    step = (may_attend | torch.eye(T, dtype=torch.bool)).int()
    return step @ step > 0


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
    run, x, mask = stack(scheme, norm_first), torch.randn(1, T, C), RULES[rule]
    assert leaks(lambda x: run(x, mask), x, in_two_steps(mask)) == []
    # And all of it, so that no leak is missed because nothing is seen.
    assert torch.equal(reached(lambda x: run(x, mask), x), in_two_steps(mask))


@pytest.mark.parametrize("rule", RULES)
def test_one_layer_reads_exactly_what_the_mask_allows(rule):
    layer, x, mask = MultiHeadAttention(C, H), torch.randn(1, T, C), RULES[rule]
    own = torch.eye(T, dtype=torch.bool)  # the query itself depends on its token
    may_read = mask | (own & mask.any(-1, keepdim=True))
    assert torch.equal(reached(lambda x: layer(x, may_attend=mask)[0], x), may_read)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_planted_off_by_one_is_caught(scheme):
    run, x = stack(scheme), torch.randn(1, T, C)
    off_by_one = torch.ones(T, T, dtype=torch.bool).tril(diagonal=1)
    found = leaks(lambda x: run(x, off_by_one), x, causal_mask(T))
    # Two blocks carry it two tokens ahead.
    assert found == [(t, s) for t in range(T) for s in (t + 1, t + 2) if s < T]


def test_one_leaking_block_among_two_is_caught():
    good, bad = EncoderBlock(C, H, HIDDEN), EncoderBlock(C, H, HIDDEN)
    x, off_by_one = torch.randn(1, T, C), torch.ones(T, T, dtype=torch.bool).tril(diagonal=1)
    found = leaks(lambda x: good(bad(x, off_by_one)[0], causal_mask(T))[0], x, causal_mask(T))
    assert found == [(t, t + 1) for t in range(T - 1)]


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_decoder_is_causal_in_x_and_reads_the_memory_it_may(norm_first):
    blocks = [DecoderBlock(C, H, HIDDEN, norm_first=norm_first) for _ in range(BLOCKS)]
    x, memory = torch.randn(1, T, C), torch.randn(1, S, C)
    padding = padding_mask([5], S)

    def run(x, memory):
        for block in blocks:
            x, _ = block(x, memory, memory_may_attend=padding)
        return x

    assert torch.equal(reached(lambda x: run(x, memory), x), causal_mask(T))
    assert torch.equal(reached(lambda memory: run(x, memory), memory), padding[0, 0].expand(T, S))

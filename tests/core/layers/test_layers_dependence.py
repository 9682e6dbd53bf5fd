"""No leak: what a mask forbids has a gradient of exactly 0, through two blocks; and a planted one.

Through L blocks a token reaches what it reads in L steps, each one along the mask or to itself
(the block adds its input to its output).
"""

import pytest
import torch

from course_utils.layers import Alibi, DecoderBlock, EncoderBlock, Rotary
from course_utils.masks import (
    causal_mask,
    padding_mask,
    prefix_mask,
    same_document_mask,
    sliding_window_mask,
)
from course_utils.measure.dependence import gradient_reach, reach_through

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
def test_two_blocks_follow_the_mask(rule, scheme, norm_first):
    run, x, mask = stack(scheme, norm_first), torch.randn(T, C), RULES[rule]
    # All of it too, so that no leak is missed because nothing is seen.
    assert torch.equal(reach(lambda x: run(x, mask), x) != 0, reach_through(mask, BLOCKS))


def test_decoder_depends_on_past_and_memory():
    blocks = [DecoderBlock(C, H, HIDDEN) for _ in range(BLOCKS)]
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

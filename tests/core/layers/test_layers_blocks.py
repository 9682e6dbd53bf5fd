"""Norm and the two blocks against PyTorch's own, and a cached block under vmap."""

import pytest
import torch
from torch import nn

from course_utils.layers import (
    DecoderBlock,
    EncoderBlock,
    LayerNorm,
)
from course_utils.masks import causal_mask, padding_mask
from tests.core.support_layers import (
    CLOSE,
    torch_decoder_layer,
    torch_encoder_layer,
    with_random_norms,
)

B, T, S, C, H, HIDDEN = 2, 7, 11, 15, 3, 23


# LayerNorm


@pytest.mark.parametrize("eps", [1e-5, 1e-12, 0.1])
def test_norm_agrees_with_torch(eps):
    ours, theirs = with_random_norms(LayerNorm(C, eps)), nn.LayerNorm(C, eps)
    theirs.load_state_dict(ours.state_dict())
    x = 3 * torch.randn(B, T, C) + 2
    assert torch.allclose(ours(x), theirs(x), **CLOSE)
    assert torch.allclose(ours(x[0, 0]), theirs(x[0, 0]), **CLOSE)


@pytest.mark.parametrize(
    ("dtype", "scale", "offset"),
    [
        (torch.float64, 1, 0),
        *[(torch.bfloat16, *moved) for moved in ((1, 0), (1000, 0), (1, 200))],
        *[(torch.float16, *moved) for moved in ((1, 0), (1000, 0), (1, 200))],
    ],
)
def test_norm_in_other_precisions(dtype, scale, offset):
    """The square of 1000 is beyond float16; a mean near 200 is off by half a unit in bfloat16."""
    x = (scale * torch.randn(B, T, C) + offset).to(dtype)
    # Torch computes 16-bit numbers in 32: up to a few units in the last place apart.
    out, close = LayerNorm(C).to(dtype)(x), 4 * torch.finfo(dtype).eps
    assert out.dtype == dtype
    assert torch.allclose(out, nn.LayerNorm(C, dtype=dtype)(x), rtol=close, atol=close)


def test_norm_of_equal_numbers():
    assert torch.equal(LayerNorm(C)(torch.full((1, C), 7.0)), torch.zeros(1, C))


# Blocks


FORMS = [
    pytest.param({"norm_first": first, "activation": name}, id=f"{where}, {name}")
    for first, where in ((False, "post-LN"), (True, "pre-LN"))
    for name in ("relu", "gelu")
]


@pytest.mark.parametrize("options", FORMS)
def test_encoder_block_agrees_with_torch(options):
    block = with_random_norms(EncoderBlock(C, H, HIDDEN, **options))
    x = torch.randn(B, T, C)
    theirs = torch_encoder_layer(block)
    assert torch.allclose(block(x)[0], theirs(x), **CLOSE)
    masked = theirs(
        x, src_mask=~causal_mask(T), src_key_padding_mask=~padding_mask([4, T], T)[:, 0, 0]
    )
    both = causal_mask(T) & padding_mask([4, T], T)
    assert torch.allclose(block(x, both)[0], masked, **CLOSE)
    other = torch_encoder_layer(block, norm_first=not block.norm_first)
    assert not torch.allclose(block(x)[0], other(x), atol=1e-2)


def test_decoder_block_agrees_with_torch():
    block = with_random_norms(DecoderBlock(C, H, HIDDEN))
    x, memory = torch.randn(B, T, C), torch.randn(B, S, C)
    theirs = torch_decoder_layer(block)
    causal = theirs(x, memory, tgt_mask=~causal_mask(T))
    assert torch.allclose(block(x, memory)[0], causal, **CLOSE)
    padding = padding_mask([4, S], S)
    hidden = theirs(x, memory, tgt_mask=~causal_mask(T), memory_key_padding_mask=~padding[:, 0, 0])
    assert torch.allclose(block(x, memory, memory_may_attend=padding)[0], hidden, **CLOSE)
    assert not torch.allclose(block(x, memory)[0], theirs(x, memory), atol=1e-2)  # no causal mask

"""What attend() adds to the scores: against PyTorch, its gradient, and what it refuses."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from course_utils.attention import attend
from course_utils.masks import causal_mask

B, H, T, S, D, E = 2, 3, 5, 7, 11, 13
# float64 sums of a dozen terms: a few units in the sixteenth digit.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def qkv(*leading):
    return tuple(
        torch.randn(*leading, *shape, dtype=torch.float64) for shape in ((T, D), (S, D), (S, E))
    )


def empty_row_mask():
    """A mask with a row of nothing, a row of one key, and random rows."""
    mask = torch.rand(T, S, generator=torch.Generator().manual_seed(0)) < 0.6
    mask[1] = False
    mask[2] = torch.arange(S) == 3
    return mask


def some_bias(*shape, seed=5):
    generator = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("shape", [(T, S), (H, T, S), (B, 1, 1, S), (T, 1), (1, 1)])
@pytest.mark.parametrize("mask", [None, causal_mask(T, S), empty_row_mask()])
def test_biased_as_torch(shape, mask):
    (q, k, v), bias = qkv(B, H), some_bias(*shape)
    # PyTorch takes one additive mask for both, -inf where a key is hidden.
    both = bias.expand(B, H, T, S)
    visible = torch.ones(T, S) > 0 if mask is None else mask
    both = both.masked_fill(~visible, -torch.inf)
    reference = scaled_dot_product_attention(q, k, v, attn_mask=both, scale=0.7)
    reference = reference.where(visible.any(-1, keepdim=True), 0.0)
    out, weights = attend(q, k, v, may_attend=mask, bias=bias, scale=0.7)
    assert torch.allclose(out, reference, **CLOSE)
    assert bool((weights[..., ~visible] == 0).all())
    without = attend(q, k, v, may_attend=mask, scale=0.7)[0]
    # What is the same for every key of a row changes nothing; anything else does.
    same_along_keys = shape[-1] == 1
    assert torch.allclose(without, out, **CLOSE) == same_along_keys
    if not same_along_keys:
        for wrong in (bias / 0.7, 0.7 * bias, -bias):  # before the scale, scaled, subtracted
            off = attend(q, k, v, may_attend=mask, bias=wrong, scale=0.7)[0]
            assert not torch.allclose(off, reference, atol=1e-3)


def test_gradients_of_the_bias():
    q, k, v = qkv(B, H)
    bias = some_bias(H, T, S).requires_grad_()
    mask, upstream = causal_mask(T, S), torch.randn(B, H, T, E, dtype=torch.float64)
    ours = torch.autograd.grad(attend(q, k, v, may_attend=mask, bias=bias)[0], bias, upstream)[0]
    both = bias.masked_fill(~mask, -torch.inf)
    reference = scaled_dot_product_attention(q, k, v, attn_mask=both.expand(B, H, T, S))
    theirs = torch.autograd.grad(reference, bias, upstream)[0]
    assert torch.allclose(ours, theirs, **CLOSE)
    assert bool((ours[:, ~mask] == 0).all()) and bool((ours[:, mask] != 0).all())


def test_many_biases_under_vmap():
    q, k, v = qkv(H)
    biases = some_bias(B, H, T, S)
    together = torch.func.vmap(lambda bias: attend(q, k, v, bias=bias)[0])(biases)
    for bias, out in zip(biases, together, strict=True):
        assert torch.allclose(out, attend(q, k, v, bias=bias)[0], **CLOSE)

"""The KV-cache: token by token equals all at once, bytes are the formula's, errors are named."""

from itertools import pairwise

import pytest
import torch

from course_utils.layers import (
    Alibi,
    EncoderBlock,
    KVCache,
    MultiHeadAttention,
    Rotary,
)
from course_utils.masks import causal_mask
from course_utils.measure.costs import kv_cache_bytes
from tests.core.support_layers import CLOSE
from tests.core.support_properties import given, st

B, T, C, H, HIDDEN = 2, 13, 18, 3, 23
D = C // H
SCHEMES = {
    "none": None,
    "rotary": Rotary(),
    "interleaved": Rotary(pairing="interleaved"),
    "stretched": Rotary(interpolation=2.5, ntk=2),
    "alibi": Alibi(),
}
# Numbers of tokens given at each step.
STEPS = {"one by one": [1] * T, "a prompt, then one by one": [6] + [1] * 7, "chunks": [5, 1, 4, 3]}


def rows(*shape, dtype=torch.float32):
    return torch.randn(*shape, dtype=dtype), torch.randn(*shape, dtype=dtype)


@pytest.fixture(params=[True, False], ids=["recording gradients", "without gradients"])
def recording(request):
    with torch.set_grad_enabled(request.param):
        yield request.param


def in_steps(block, x, sizes, mask=None):
    """Give the tokens of x by and by; each step's queries are the newest of the cached tokens."""
    cache, outputs = KVCache(), []
    for new in x.split(sizes, dim=1):
        end = cache.length + new.shape[1]
        seen = causal_mask(new.shape[1], end) if mask is None else mask[cache.length : end, :end]
        outputs.append(block(new, seen, cache)[0])
    return torch.cat(outputs, dim=1), cache


# Equality


@pytest.mark.parametrize("sizes", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("scheme", SCHEMES)
def test_cached_steps_equal_the_whole(recording, scheme, sizes):
    block = EncoderBlock(C, H, HIDDEN, norm_first=True, position=SCHEMES[scheme])
    x = torch.randn(B, T, C)
    stepped, cache = in_steps(block, x, sizes)
    assert torch.allclose(stepped, block(x, causal_mask(T))[0], **CLOSE)
    assert cache.length == T


def test_gradients_through_the_cache():
    block, x = EncoderBlock(C, H, HIDDEN), torch.randn(B, T, C)
    parameters = list(block.parameters())
    # Weighted, since a post-LN output sums to a constant.
    weights = torch.randn(B, T, C)
    whole = torch.autograd.grad((block(x, causal_mask(T))[0] * weights).sum(), parameters)
    stepped = torch.autograd.grad((in_steps(block, x, [1] * T)[0] * weights).sum(), parameters)
    for ours, theirs in zip(stepped, whole, strict=True):
        # Sums over B * T tokens of size up to 10, in another order.
        assert torch.allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_recording_may_begin_later():
    cache, kept = KVCache(), []
    for step in range(6):
        with torch.set_grad_enabled(step in (2, 3)):
            k, v = rows(B, H, 1, D)
            k.requires_grad_()
            keys, _ = cache.append(k, v)
            kept.append((k, keys))
    # The backward pass of step 3 still finds what it needs.
    (kept[3][1].square().sum()).backward()
    assert torch.equal(kept[3][0].grad, 2 * kept[3][0])
    assert torch.equal(cache.keys, torch.cat([k for k, _ in kept], dim=2))


@pytest.mark.parametrize("later", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_inference_mode_then_others(later):
    block, x, cache = EncoderBlock(C, H, HIDDEN), torch.randn(B, 9, C), KVCache()
    outputs = []
    # After 4 and 1 tokens there is room for 8: the sixth is written into what is there.
    for size, mode in zip([4, 1, 1, 1, 2], [torch.inference_mode] * 2 + [later] * 3, strict=True):
        new = x[:, cache.length : cache.length + size]
        with mode():
            may_attend = causal_mask(size, cache.length + size)
            outputs.append(block(new, may_attend, cache)[0])
    whole, _ = block(x, causal_mask(9))
    assert torch.allclose(torch.cat(outputs, dim=1), whole, **CLOSE)


# Storage


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=9))
def test_what_went_in_comes_out_in_order(sizes):
    for recording in (True, False):
        cache, given_k, given_v = KVCache(), [], []
        with torch.set_grad_enabled(recording):
            for size in sizes:
                k, v = torch.randn(B, H, size, D), torch.randn(B, H, size, D + 2)
                given_k.append(k)
                given_v.append(v)
                keys, values = cache.append(k, v)
                assert torch.equal(keys, torch.cat(given_k, dim=2))
                assert torch.equal(values, torch.cat(given_v, dim=2))
                assert torch.equal(cache.keys, keys) and torch.equal(cache.values, values)
        assert cache.length == sum(sizes)
        assert cache.bytes == keys.nbytes + values.nbytes


def test_returned_tensors_stay():
    cache = KVCache()
    with torch.no_grad():
        early, _ = cache.append(*rows(B, H, 3, D))
        cache.append(*rows(B, H, 1, D))
        middle, _ = cache.append(*rows(B, H, 1, D))
        copies = early.clone(), middle.clone()
        for _ in range(9):
            cache.append(*rows(B, H, 1, D))
    assert torch.equal(early, copies[0]) and torch.equal(middle, copies[1])


def test_given_tensors_are_copied():
    cache, (k, v) = KVCache(), rows(B, H, 3, D)
    expected = k.clone()
    with torch.no_grad():
        cache.append(k, v)
    k.zero_()
    assert torch.equal(cache.keys, expected)


def test_buffers_double():
    cache, places = KVCache(), []
    with torch.no_grad():
        for _ in range(100):
            keys, _ = cache.append(*rows(1, 1, 1, D))
            places.append(keys.data_ptr())
    moves = sum(a != b for a, b in pairwise(places))
    assert moves == 7  # to 2, 4, 8, ..., 128 positions


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("num_layers", [1, 5])
def test_bytes_are_the_formulas(recording, dtype, num_layers):
    layers = [MultiHeadAttention(C, H).to(dtype) for _ in range(num_layers)]
    caches = [KVCache() for _ in layers]
    for new in torch.randn(B, T, C, dtype=dtype).split([7, 1, 1, 4], dim=1):
        for layer, cache in zip(layers, caches, strict=True):
            layer(new, cache=cache)
    expected = kv_cache_bytes(num_layers, H, D, T, batch=B, bytes_per_number=dtype.itemsize)
    assert sum(cache.bytes for cache in caches) == expected

"""The KV-cache: token by token equals all at once, bytes are the formula's, errors are named."""

from itertools import pairwise

import pytest
import torch

from course_utils.layers import (
    Alibi,
    DecoderBlock,
    DecoderCache,
    EncoderBlock,
    KVCache,
    MultiHeadAttention,
    Rotary,
)
from course_utils.masks import causal_mask, padding_mask
from course_utils.measure.costs import kv_cache_bytes
from tests.core.support_layers import CLOSE
from tests.core.support_properties import given, st
from tests.core.support_refused import each_refused
from tests.support_errors import raises_saying

B, T, S, C, H, HIDDEN = 2, 13, 11, 18, 3, 23
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


@pytest.mark.parametrize("sizes", STEPS.values(), ids=STEPS.keys())
@pytest.mark.parametrize("norm_first", [True, False])
def test_decoder_steps_equal_the_whole(recording, norm_first, sizes):
    block = DecoderBlock(C, H, HIDDEN, norm_first=norm_first, position=Rotary())
    x, memory, cache = torch.randn(B, T, C), torch.randn(B, S, C), DecoderCache()
    padding = padding_mask([4, S], S)
    whole, (own, cross) = block(x, memory, memory_may_attend=padding)
    outputs = []
    for new in x.split(sizes, dim=1):
        out, heads = block(new, memory, memory_may_attend=padding, cache=cache)
        outputs.append(out)
    assert torch.allclose(torch.cat(outputs, dim=1), whole, **CLOSE)
    assert (cache.self_attention.length, cache.cross_attention.length) == (T, S)
    assert torch.allclose(heads[0].weights, own.weights[:, :, -sizes[-1] :], **CLOSE)
    assert torch.allclose(heads[1].weights, cross.weights[:, :, -sizes[-1] :], **CLOSE)


def test_the_memory_is_projected_once():
    layer, x, memory = MultiHeadAttention(C, H), torch.randn(B, 1, C), torch.randn(B, S, C)
    calls = []
    layer.key.register_forward_hook(lambda *_: calls.append("key"))
    layer.value.register_forward_hook(lambda *_: calls.append("value"))
    cache = KVCache()
    for _ in range(3):
        cached, _ = layer(x, memory=memory, cache=cache)
    assert calls == ["key", "value"]
    assert torch.equal(cached, layer(x, memory=memory)[0])


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
        assert cache.allocated_bytes <= 2 * cache.bytes
    whole, _ = block(x, causal_mask(9))
    assert torch.allclose(torch.cat(outputs, dim=1), whole, **CLOSE)


# Storage


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=9), limit=st.booleans())
def test_what_went_in_comes_out_in_order(sizes, limit):
    for recording in (True, False):
        cache, given_k, given_v = KVCache(sum(sizes) if limit else None), [], []
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
        assert cache.bytes <= cache.allocated_bytes <= 2 * cache.bytes
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


def test_room_doubles():
    cache, places = KVCache(), []
    with torch.no_grad():
        for _ in range(100):
            keys, _ = cache.append(*rows(1, 1, 1, D))
            places.append(keys.data_ptr())
    moves = sum(a != b for a, b in pairwise(places))
    assert moves == 7  # to room for 2, 4, 8, ..., 128
    limited = KVCache(max_positions=100)
    with torch.no_grad():
        for _ in range(100):
            limited.append(*rows(1, 1, 1, D))
    assert limited.allocated_bytes == limited.bytes


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


@pytest.mark.parametrize(
    ("sizes", "gib"),
    [
        # Published sizes: layers, key/value heads, head width, longest text; 16-bit numbers.
        ((32, 32, 128, 4096), 2.0),  # Llama 2 7B
        ((80, 8, 128, 4096), 1.25),  # Llama 2 70B, whose 64 query heads share 8
        ((12, 12, 64, 1024), 36 / 1024),  # GPT-2
    ],
)
def test_bytes_of_published_models(sizes, gib):
    assert kv_cache_bytes(*sizes) == gib * 2**30
    assert kv_cache_bytes(*sizes, batch=7, bytes_per_number=4) == 14 * gib * 2**30


def test_bytes_of_a_decoder_cache():
    cache = DecoderCache()
    DecoderBlock(C, H, HIDDEN)(torch.randn(B, T, C), torch.randn(B, S, C), cache=cache)
    expected = sum(
        kv_cache_bytes(1, H, D, length, batch=B, bytes_per_number=4) for length in (T, S)
    )
    assert cache.bytes == expected


def test_an_empty_cache_holds_nothing():
    cache = KVCache()
    assert (cache.length, cache.bytes, cache.allocated_bytes) == (0, 0, 0)
    for part in ("keys", "values"):
        with raises_saying(ValueError, "the cache must hold at least one position, got none"):
            getattr(cache, part)


# What is refused


LAYER, X, MEMORY = MultiHeadAttention(C, H), torch.zeros(B, 1, C), torch.zeros(B, S, C)
NEW, SHARED = torch.zeros(B, H, 1, D), KVCache()


def filled(batch=B, **options):
    cache = KVCache(**options)
    cache.append(*rows(batch, H, 5, D))
    return cache


def filled_from(memory):
    cache = KVCache()
    LAYER(X, memory=memory, cache=cache)
    return cache


def test_a_refused_append_adds_nothing():
    cache = filled(max_positions=7)
    for k, v in (rows(B, H, 3, D), rows(3, H, 1, D), (NEW, NEW[..., :5])):
        with pytest.raises(ValueError):
            cache.append(k, v)
    with pytest.raises(TypeError):
        LAYER(X, may_attend=torch.zeros(1, 6), cache=cache)
    assert cache.length == 5


def test_another_memory_changes_no_cache():
    block, cache = DecoderBlock(C, H, HIDDEN), DecoderCache()
    block(X, MEMORY, cache=cache)
    with pytest.raises(ValueError, match="another memory"):
        block(X, MEMORY.clone(), cache=cache)
    assert cache.self_attention.length == 1


test_refused = each_refused(
    (lambda: KVCache(max_positions=0), "ValueError: max_positions must be at least 1, got 0"),
    (lambda: DecoderCache({}), "TypeError: self_attention must be a KVCache, got {} (dict)"),
    (lambda: DecoderCache(SHARED, SHARED),
     "ValueError: cross_attention must be another cache than self_attention, got the same"),
    (lambda: filled().append(NEW[0], NEW[0]), "ValueError: k must have 4 axes (B, H, S, D)"),
    (lambda: filled().append(NEW[:, :, :0], NEW[:, :, :0]), "ValueError: k must not be empty"),
    (lambda: filled().append(NEW.long(), NEW.long()),
     "TypeError: k must be a floating-point tensor, got torch.int64"),
    (lambda: filled().append(*rows(3, H, 1, D)),
     "ValueError: k must have the cache's batch, heads and width (2, 3, 6), got shape (3, 3, "
     "1, 6)"),
    (lambda: filled().append(NEW, NEW[..., :5]),
     "ValueError: v must have the cache's batch, heads and width (2, 3, 6), got shape (2, 3, "
     "1, 5)"),
    (lambda: filled().append(NEW.repeat(1, 1, 2, 1), NEW),
     "ValueError: v must have a row for each of k, (B, H, S) = (2, 3, 2), got shape (2, 3, 1, 6)"),
    (lambda: filled().append(NEW.double(), NEW.double()),
     "TypeError: k must have the dtype of the cache (torch.float32), got torch.float64"),
    (lambda: filled(max_positions=7).append(*rows(B, H, 3, D)),
     "ValueError: k must bring the cache to at most max_positions (7), got 8"),
    (lambda: LAYER(X, cache=filled(batch=3)),
     "ValueError: cache must hold x's batch size, heads and head width (2, 3, 6), got (3, 3, 6)"),
    (lambda: LAYER(X, cache=filled(max_positions=5)),
     "ValueError: x must bring the cache to at most max_positions (5), got 6"),
    (lambda: MultiHeadAttention(C, H).double()(X.double(), cache=filled()),
     "TypeError: cache must have the dtype of x (torch.float64), got torch.float32"),
    (lambda: LAYER(X, memory=MEMORY, cache=KVCache(max_positions=7)),
     "ValueError: memory must bring the cache to at most max_positions (7), got 11"),
    (lambda: LAYER(X, memory=MEMORY, cache=filled()),
     "ValueError: cache must be new, or filled from this memory, got one of 5 positions of "
     "self-attention"),
    (lambda: LAYER(X, cache=filled_from(MEMORY)),
     "ValueError: cache must be new, or filled from the tokens before x, got one of 11 "
     "positions of a memory"),
    (lambda: LAYER(X, memory=MEMORY, cache=filled_from(MEMORY.clone())),
     "ValueError: cache must be new, or filled from this memory, got one of 11 positions of "
     "another memory"),
    (lambda: DecoderBlock(C, H, HIDDEN)(X, MEMORY, cache=DecoderCache(filled(), filled())),
     "ValueError: cache must be new, or filled from this memory, got one of 5 positions of "
     "self-attention"),
)  # fmt: skip

"""The KV-cache when a step stops half-way, when it is copied, and when what comes does not fit."""

import copy

import pytest
import torch

from course_utils.layers import (
    EncoderBlock,
    GroupedQueryAttention,
    KVCache,
    MixtureOfDepths,
    MultiHeadAttention,
)
from course_utils.models import GPT2, CausalLM, CausalLMConfig, GPT2Block, GPT2Config
from tests.core.support_layers import CLOSE

B, C, H, F, V, P, L = 2, 18, 3, 23, 31, 17, 3
D = C // H
GROUPED = GPT2Config(V, P, C, L, H, num_kv_heads=1)
MODELS = {
    "GPT-2": lambda: GPT2(GPT2Config(V, P, C, L, H)),
    "grouped": lambda: GPT2(GROUPED),
    "rope": lambda: CausalLM(CausalLMConfig(V, C, L, H, P, "rope")),
}
LAYERS = {
    "attention": lambda: MultiHeadAttention(C, H),
    "grouped attention": lambda: GroupedQueryAttention(C, H, 1),
    "pre-LN": lambda: EncoderBlock(C, H, F, norm_first=True),
    "GPT-2 block": lambda: GPT2Block(GPT2Config(V, P, C, L, H)),
    "depths": lambda: every_token(MixtureOfDepths(LAYERS["GPT-2 block"](), 1, C)),
}


def every_token(layer):
    """A layer whose predictor keeps all tokens."""
    torch.nn.init.zeros_(layer.predictor[2].weight)
    torch.nn.init.ones_(layer.predictor[2].bias)
    return layer


def stops(*_):
    """As when somebody stops the cell while this part computes."""
    raise KeyboardInterrupt


# A step that stops half-way.


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_that_stops_is_undone(name, recording):
    """Between two blocks, and after the last one, when all caches already have the tokens."""
    model, ids = MODELS[name](), torch.randint(V, (B, 11))
    with torch.set_grad_enabled(recording):
        expected = model(ids)
        for part in (model.blocks[1], model.blocks[1].feedforward, model.norm):
            caches = model.new_caches()
            stopped = part.register_forward_pre_hook(stops)
            with pytest.raises(KeyboardInterrupt):  # the first step: nothing is cached yet
                model(ids[:1, :4], caches=caches)
            stopped.remove()
            found = [model(ids[:, :4], caches=caches)]
            stopped = part.register_forward_pre_hook(stops)
            with pytest.raises(KeyboardInterrupt):
                model(ids[:, 4:9], caches=caches)
            stopped.remove()
            assert [cache.length for cache in caches] == [4] * L
            found += [model(new, caches=caches) for new in ids[:, 4:].split(3, dim=1)]
            torch.testing.assert_close(torch.cat(found, dim=1), expected, **CLOSE)


@pytest.mark.parametrize("name", LAYERS)
def test_nor_does_a_layer_keep_half_a_step(name):
    layer, x, cache = LAYERS[name](), torch.randn(1, 7, C), KVCache()
    options = {"routing": "predicted"} if name == "depths" else {}
    layer(x[:, :5], cache=cache, **options)
    parts = dict(layer.named_modules())
    last = next(parts[n] for n in reversed(parts) if n.endswith(("contract", "output")))
    last.register_forward_hook(stops)
    with pytest.raises(KeyboardInterrupt):
        layer(x[:, 5:], cache=cache, **options)
    assert cache.length == 5


def test_a_mask_that_does_not_fit_adds_nothing():
    layer, x, cache = MultiHeadAttention(C, H), torch.randn(B, 7, C), KVCache()
    expected, _ = layer(x)
    with pytest.raises(ValueError, match="may_attend"):
        layer(x, may_attend=torch.ones(7, 5) > 0, cache=cache)
    torch.testing.assert_close(layer(x, cache=cache)[0], expected)


@pytest.mark.parametrize("name", MODELS)
def test_caches_of_different_lengths(name):
    model, ids = MODELS[name](), torch.randint(V, (B, 6))
    one, other = model.new_caches(), model.new_caches()
    model(ids, caches=one)
    model(ids[:, :4], caches=other)
    with pytest.raises(ValueError, match=r"caches .* 6, 4, 6"):
        model(ids[:, :1], caches=[one[0], other[1], one[2]])


# What does not fit.


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("room", [1, 3])
@pytest.mark.parametrize(
    ("first", "then"),
    [
        ((1, H, D), (3, H, D)),  # a batch after a single sequence
        ((3, H, D), (1, H, D)),
        ((B, 1, D), (B, H, D)),
        ((B, H, D), (B, H, 1)),
    ],
)
def test_other_sizes(recording, room, first, then):
    """Torch would repeat what has size 1, or not, according to the room that is left."""
    cache, make = KVCache(), lambda size, new: torch.randn(*size[:2], new, size[2])
    with torch.set_grad_enabled(recording):
        for _ in range(room):
            cache.append(make(first, 2), make(first, 2))
        for k, v in ((make(then, 1), make(first, 1)), (make(first, 1), make(then, 1))):
            with pytest.raises(ValueError, match=f"sizes of the cache.*{first[0]}, {first[1]}"):
                cache.append(k, v)
    assert cache.length == 2 * room


def test_other_dtypes_and_numbers_of_positions():
    cache, rows = KVCache(), torch.randn(B, H, 3, D)
    cache.append(rows, rows)
    with pytest.raises(TypeError, match=r"the cache \(torch.float32\), got torch.bfloat16"):
        cache.append(rows.bfloat16(), rows.bfloat16())
    with torch.no_grad(), pytest.raises(ValueError, match=r"each key \(3\)"):
        cache.append(rows, rows[:, :, :1])


# Copies.


@pytest.mark.parametrize("fork", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("recording", [True, False])
def test_copies_continue_separately(fork, recording):
    """From one prompt: three continuations, each as if the prompt had been read for it alone."""
    model = MODELS["grouped"]()
    prompt, ends = torch.randint(V, (1, 5)), torch.randint(V, (3, 1, 4))
    with torch.set_grad_enabled(recording):
        caches = model.new_caches()
        model(prompt, caches=caches)
        forks = [[fork(cache) for cache in caches] for _ in ends]
        for step in range(4):
            for own, end in zip(forks, ends, strict=True):
                found = model(end[:, step : step + 1], caches=own)
                whole = model(torch.cat((prompt, end[:, : step + 1]), dim=1))
                torch.testing.assert_close(found[:, -1], whole[:, -1], **CLOSE)
    assert [cache.length for cache in caches] == [5] * L


def test_gradients_reach_the_first_through_a_copy():
    cache, k = KVCache(), torch.randn(B, H, 3, D, requires_grad=True)
    cache.append(k, k)
    keys, _ = copy.deepcopy(cache).append(torch.ones(B, H, 2, D), torch.ones(B, H, 2, D))
    keys.square().sum().backward()
    torch.testing.assert_close(k.grad, 2 * k)

"""Lecture 05's explorer of the cache: bytes and marks are what they claim."""

import math

import pytest
import torch

from course_utils.layers import KVCache
from lectures.l05_causal_mask.explorers.cache import (
    FULL,
    MEMORIES,
    MODELS,
    WINDOW,
    CacheBytes,
)


def state_of(explorer, **values):
    return explorer.compute(**{**explorer.values, **values})


# The cache


@pytest.fixture(scope="module")
def cache():
    return CacheBytes()


@pytest.mark.parametrize("sharing", [1, 4])
@pytest.mark.parametrize("window", [False, True])
def test_bytes_match_a_real_cache(cache, sharing, window):
    model, texts = MODELS["GPT-2 medium"], 3
    values = {"model": "GPT-2 medium", "filled": 48, "texts": texts, "sharing": sharing}
    state = state_of(cache, **values, window=window)
    assert state.length == state.kept == 48 * model.context // FULL
    layer = KVCache()
    shape = (texts, model.heads // sharing, state.length, model.head_width)
    layer.append(*torch.zeros(2, *shape, dtype=torch.bfloat16))
    assert state.keys + state.values == model.layers * layer.bytes
    assert state.token * state.length * texts == state.keys + state.values
    assert state.unshared == sharing * (state.keys + state.values)


def test_a_window_stops_the_growth(cache):
    at = {
        filled: state_of(cache, model="Llama 3.1 8B", window=True, filled=filled)
        for filled in (2, 4, FULL)
    }
    assert [each.kept for each in at.values()] == [2048, WINDOW, WINDOW]
    assert at[4].total == at[FULL].total > at[2].total
    assert at[FULL].length == 131072


@pytest.mark.parametrize("bits", [8, 4])
def test_fewer_bits_shrink_the_cache_alone(cache, bits):
    whole, few = state_of(cache), state_of(cache, bits=bits)
    assert few.keys * 16 == whole.keys * bits and few.weights == whole.weights


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    [
        ("GPT-2 medium", 0.1007),
        ("GPT-3 175B", 9.66),
        ("Llama 2 7B", 2.147),
        ("Llama 3.1 8B", 17.18),
        ("Llama 3.1 70B", 42.95),
    ],
)
def test_published_models(cache, name, gigabytes):
    sharing = MODELS[name].heads // MODELS[name].kv_heads
    state = state_of(cache, model=name, filled=FULL, sharing=sharing, texts=1)
    assert (state.keys + state.values) / 1e9 == pytest.approx(gigabytes, rel=2e-3)


def test_where_a_memory_is_full(cache):
    for values in cache.presets.values():
        state, rising = state_of(cache, **values), {**values, "window": False}
        for full, size in zip(state.full_at, MEMORIES.values(), strict=True):
            if full == 0:
                assert state.weights >= size
            elif full > 0:
                before = math.floor(full * FULL / state.context)
                sizes = [state_of(cache, **{**rising, "filled": max(1, before + step)}).total
                         for step in (0, 1)]  # fmt: skip
                assert sizes[0] <= size <= sizes[1] or before == 0
            else:
                assert state_of(cache, **{**values, "filled": FULL}).total <= size

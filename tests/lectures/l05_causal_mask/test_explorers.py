"""Lecture 05's explorer of the cache: bytes and marks are what they claim."""

import math
import re

import pytest
import torch

from course_utils.layers import KVCache
from course_utils.measure.costs import kv_cache_bytes
from lectures.l05_causal_mask.explorers.cache import FULL, OFFERED, WINDOW, CacheBytes
from tests.explorers.support_browser import InBrowser, cases, differences

MEMORIES = (16e9, 80e9, 640e9)
BYTES = {"TB": 1e12, "GB": 1e9, "MB": 1e6, "kB": 1e3, "bytes": 1}


@pytest.fixture(scope="module")
def cache():
    with InBrowser(CacheBytes()) as found:
        yield found


def expected(model, filled, texts, sharing, bits, window):
    """The state from the core's formula."""
    layers, heads, _, width, context, parameters = OFFERED[model]
    length = context * filled // FULL
    most = min(context, WINDOW) if window else context

    def bytes_of(heads, length, texts=texts):
        numbers = kv_cache_bytes(layers, heads, width, length, batch=texts, bytes_per_number=1)
        return numbers * bits // 8

    kept = min(length, most)
    total = bytes_of(heads // sharing, kept)
    rooms = [(size - 2 * parameters) / bytes_of(heads // sharing, 1) for size in MEMORIES]
    return {
        "keys": total // 2,
        "values": total // 2,
        "weights": 2 * parameters,
        "total": 2 * parameters + total,
        "unshared": bytes_of(heads, kept),
        "token": bytes_of(heads // sharing, 1, 1),
        "full_at": [0 if room <= 0 else -1 if room >= most else room for room in rooms],
        "length": length,
        "kept": kept,
        "context": context,
        "layers": layers,
        "heads": heads,
        "kv_heads": heads // sharing,
        "width": width,
    }


def test_the_bytes_are_those_of_the_core(cache):
    assert differences(cache, expected) == []


def in_bytes(words):
    """The sizes that a caption tells, and half of a unit of the last digit of each."""
    for number, unit in re.findall(r"([\d,.]+) (TB|GB|MB|kB|bytes)", words):
        digits = len(number.partition(".")[2])
        yield float(number.replace(",", "")) * BYTES[unit], BYTES[unit] / 10**digits / 2


def test_words_of_the_cache(cache):
    tried = cases(cache.explorer)
    for values, state in zip(tried, cache.states(tried), strict=True):
        sizes, _, holder = state.words.partition(", in all ")
        told = [*in_bytes(sizes), *in_bytes(holder)][:4]
        for (size, half), name in zip(told, ("keys", "values", "weights", "total"), strict=True):
            exact = expected(**values)[name]
            assert abs(size - exact) <= half * 1.001 and half < 0.006 * exact, state.words
        if state.total <= 16e9:
            assert state.words.endswith("A laptop's 16 GB hold them.")
        elif state.total <= 80e9:
            assert state.words.endswith("One H100 holds them.")
        else:
            assert state.words.endswith(f"It takes {math.ceil(state.total / 80e9)} H100s.")
        texts = "1 text of" if values["texts"] == 1 else f"{values['texts']} texts of"
        assert state.words.startswith(f"{texts} {state.length:,} tokens")


@pytest.mark.parametrize("sharing", [1, 4])
@pytest.mark.parametrize("window", [False, True])
def test_bytes_match_a_real_cache(cache, sharing, window):
    model, texts = OFFERED["GPT-2 medium"], 3
    values = {"model": "GPT-2 medium", "filled": 48, "texts": texts, "sharing": sharing}
    state = cache.compute(**values, window=window)
    assert state.length == state.kept == 48 * model.context // FULL
    layer = KVCache()
    shape = (texts, model.heads // sharing, state.length, model.head_width)
    layer.append(*torch.zeros(2, *shape, dtype=torch.bfloat16))
    assert state.keys + state.values == model.layers * layer.bytes
    assert state.token * state.length * texts == state.keys + state.values
    assert state.unshared == sharing * (state.keys + state.values)


def test_a_window_stops_the_growth(cache):
    at = {
        filled: cache.compute(model="Llama 3.1 8B", window=True, filled=filled)
        for filled in (2, 4, FULL)
    }
    assert [each.kept for each in at.values()] == [2048, WINDOW, WINDOW]
    assert at[4].total == at[FULL].total > at[2].total
    assert at[FULL].length == 131072


@pytest.mark.parametrize("bits", [8, 4])
def test_fewer_bits_shrink_the_cache_alone(cache, bits):
    whole, few = cache.states([{}, {"bits": bits}])
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
    sharing = OFFERED[name].heads // OFFERED[name].kv_heads
    state = cache.compute(model=name, filled=FULL, sharing=sharing, texts=1)
    assert (state.keys + state.values) / 1e9 == pytest.approx(gigabytes, rel=2e-3)


def test_where_a_memory_is_full(cache):
    for values in CacheBytes.presets.values():
        state, rising = cache.compute(**values), {**values, "window": False}
        for full, size in zip(state.full_at, MEMORIES, strict=True):
            if full == 0:
                assert state.weights >= size
            elif full > 0:
                before = math.floor(full * FULL / state.context)
                ends = [{**rising, "filled": max(1, before + step)} for step in (0, 1)]
                sizes = [each.total for each in cache.states(ends)]
                assert sizes[0] <= size <= sizes[1] or before == 0
            else:
                assert cache.compute(**{**values, "filled": FULL}).total <= size

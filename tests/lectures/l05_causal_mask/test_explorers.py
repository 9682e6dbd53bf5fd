"""Lecture 05's explorer of the cache and its figures: bytes and marks are what they claim."""

import math

import numpy as np
import pytest
import torch

from course_utils.layers import KVCache
from course_utils.lectures.l05_causal_mask import figures
from course_utils.lectures.l05_causal_mask.explorers.cache import (
    FULL,
    MEMORIES,
    MODELS,
    WINDOW,
    CacheBytes,
    size_of,
)
from tests.support_figures import overhang


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
    at = {filled: state_of(cache, window=True, filled=filled) for filled in (2, 4, FULL)}
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
    state = state_of(cache, model=name, filled=FULL, sharing=sharing)
    assert (state.keys + state.values) / 1e9 == pytest.approx(gigabytes, rel=2e-3)


@pytest.mark.parametrize("name", ["GPT-2 medium", "GPT-3 175B", "Llama 2 7B", "Llama 3.1 8B"])
def test_parameters_fit_the_layers(name):
    """12 C² a layer with a feed-forward width of 4 C, and the embedding: a rough count."""
    model = MODELS[name]
    width = model.heads * model.head_width
    vocabulary = {"GPT": 50257, "Lla": 32000}[name[:3]]
    rough = model.layers * 12 * width**2 + vocabulary * width
    # Llama 3.1 8B: a vocabulary of 128,256 twice, a wider feed-forward, shared key/value heads.
    assert 0.8 < rough / model.parameters < 1.05


def test_heads_can_be_shared_by_every_number(cache):
    for name, model in MODELS.items():
        for sharing in cache.inputs["sharing"].values:
            state = state_of(cache, model=name, sharing=sharing)
            assert state.kv_heads * sharing == model.heads


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


def test_the_caption_counts_the_cards(cache):
    assert "in all 33.2 GB. One H100 holds them." in CacheBytes().words
    for label, ending in (("… for 32 readers", "8 H100s."), ("… and no shared heads", "2 H100s."),
                          ("GPT-2 medium", "laptop's 16 GB hold them.")):  # fmt: skip
        cache.set(**cache.presets[label])
        assert cache.words.endswith(ending)


def test_sizes_have_three_digits():
    asked = (5, 999_000, 1_234_000, 12_340_000, 2_147_483_648, 550_000_000_000, 11e12)
    expected = ["5.00 bytes", "999 kB", "1.23 MB", "12.3 MB", "2.15 GB", "550 GB", "11.0 TB"]
    assert [size_of(each) for each in asked] == expected


# The figures


def test_reach_marks_leaks():
    causal = np.tri(7, dtype=bool)
    reaches = {"right": 3.0 * causal, "off by one": np.tri(7, k=1)}
    picture = figures.draw_reach(reaches, causal)
    assert overhang(picture.figure) <= 1
    right, wrong = (axes.lines[1].get_data() for axes in picture.figure.axes[:2])
    assert len(right[0]) == 0
    assert wrong[0].tolist() == [1, 2, 3, 4, 5, 6]
    assert wrong[1].tolist() == [0, 1, 2, 3, 4, 5]
    assert "right: 28 of 49 gradients are not 0, all where they may be" in picture.words
    leak = "off by one: 34 of 49 gradients are not 0, 6 of them where they must be 0"
    assert leak in picture.words


def test_masks_are_drawn_as_they_are():
    masks = {"causal": np.tri(6, dtype=bool), "padding": np.arange(6) < np.full((6, 1), 4)}
    picture = figures.draw_masks(masks)
    assert overhang(picture.figure) <= 1
    for axes, mask in zip(picture.figure.axes, masks.values(), strict=True):
        assert np.array_equal(axes.images[0].get_array(), mask)
    assert picture.words.endswith("causal: 21 of 36; padding: 24 of 36.")

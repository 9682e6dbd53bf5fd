"""Lecture 05's explorer of the cache and its figure: bytes and marks are what they claim."""

import numpy as np
import pytest
import torch

from course_utils.layers import KVCache
from course_utils.lectures.l05_causal_mask import figures
from course_utils.lectures.l05_causal_mask.explorers.cache import (
    LENGTHS,
    MODELS,
    NUMBERS,
    VIEW,
    CacheBytes,
    settings_of,
)
from tests.explorers.support_explorers import overhang


def state_of(explorer, **values):
    defaults = {name: each.default for name, each in explorer.inputs.items()}
    return explorer.compute(**{**defaults, **values})


# The cache


@pytest.fixture(scope="module")
def cache():
    return CacheBytes()


@pytest.mark.parametrize(
    ("number", "dtype"), [("32 bits", torch.float32), ("16 bits", torch.bfloat16)]
)
def test_bytes_match_a_real_cache(cache, number, dtype):
    sizes = {"layers": 3, "key_value_heads": 2, "head_width": 64, "length": 128, "batch": 4}
    state = state_of(cache, number=number, **sizes)
    caches = [KVCache() for _ in range(3)]
    for each in caches:
        each.append(*torch.zeros(2, 4, 2, 128, 64, dtype=dtype))
    assert state.bytes == sum(each.bytes for each in caches)
    assert state.token * 128 * 4 == state.bytes


def test_only_key_value_heads_count(cache):
    one, eight = (state_of(cache, key_value_heads=4, sharing=sharing) for sharing in (1, 8))
    assert one.bytes == one.all_heads == eight.bytes
    assert (one.heads, eight.heads) == (4, 32)
    assert eight.all_heads == 8 * eight.bytes == 32 * eight.one_head
    assert (one.by_length[LENGTHS.index(8192)], len(one.by_length)) == (one.bytes, len(LENGTHS))


@pytest.mark.parametrize(
    ("name", "gigabytes", "heads"),
    [
        ("GPT-2 small", 0.0377, 12),
        ("GPT-3 175B", 9.66, 96),
        ("Llama 2 7B", 2.147, 32),
        ("Mistral 7B", 0.537, 32),
        ("Llama 3 8B", 1.074, 32),
        ("Llama 3.1 8B", 17.18, 32),
        ("Llama 3.1 70B", 42.95, 64),
    ],
)
def test_published_models(name, gigabytes, heads):
    model = MODELS[name]
    assert model.cache / 1e9 == pytest.approx(gigabytes, rel=2e-3)  # the digits written here
    assert model.key_value_heads * model.sharing == heads


@pytest.mark.parametrize("name", ["GPT-2 small", "GPT-3 175B", "Llama 2 7B", "Llama 3 8B"])
def test_parameters_fit_the_layers(name):
    """12 C² a layer with a feed-forward width of 4 C, and the embedding: a rough count."""
    model = MODELS[name]
    width = model.key_value_heads * model.sharing * model.head_width
    vocabulary = {"GPT": 50257, "Lla": 32000}[name[:3]]
    rough = model.layers * 12 * width**2 + vocabulary * width
    # Llama 3 8B: a vocabulary of 128,256 twice, a wider feed-forward, shared key/value heads.
    assert 0.8 < rough / model.parameters < 1.05


def test_models_stand_where_marked(cache):
    for name, model in MODELS.items():
        cache.set(**settings_of(name))
        assert cache.state.bytes == model.cache
        dot = cache._dots[1].get_xdata()
        assert list(dot) == [model.cache]


def test_marks_lie_inside(cache):
    sweeps = {name: each.sweep() for name, each in cache.inputs.items()}
    ends = [{name: values[at] for name, values in sweeps.items()} for at in (0, -1)]
    ends = [{**end, "number": number} for end in ends for number in NUMBERS]
    for values in ends:
        state = cache.compute(**values)
        for size in (state.bytes, state.all_heads, state.one_head, *state.by_length):
            assert VIEW[0] < size < VIEW[1]
    for model in MODELS.values():
        assert VIEW[0] < model.cache < model.weights * 2 < VIEW[1]


def test_words_of_the_cache(cache):
    cache.set(**settings_of("Llama 3 8B"))
    assert "2 · 32 · 8 · 128 · 8,192 · 1 · 2 = 1.07 GB for one text (131 kB for each" in cache.words
    assert "8 key/value heads serve 32 query heads: one for each would take 4.29 GB" in cache.words
    assert "would hold 74 such caches" in cache.words
    cache.set(**cache.scenes["… for 32 readers"])
    assert "= 550 GB for 32 texts" in cache.words and "memory of 7 H100s" in cache.words
    cache.set(**{**settings_of("Llama 3 8B"), "key_value_heads": 1, "sharing": 1})
    assert "There is one head" in cache.words
    cache.set(**{**settings_of("Llama 3 8B"), "batch": 64})
    assert "An H100 holds it once" in cache.words


# The figure


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

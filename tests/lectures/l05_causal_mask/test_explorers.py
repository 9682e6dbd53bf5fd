"""Lecture 05's explorers and its figure: gradients, masks and bytes are what they claim."""

import numpy as np
import pytest
import torch

from course_utils.attention import attend
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
from course_utils.lectures.l05_causal_mask.explorers.masks import (
    CAUSAL,
    KINDS,
    OFF_BY_ONE,
    PACKED,
    PADDING,
    PREFIX,
    TOP_LEFT,
    WINDOW,
    Masks,
    mask_of,
)
from course_utils.lectures.l05_causal_mask.explorers.masks import LENGTHS as TOKENS
from course_utils.lectures.l05_causal_mask.explorers.stack import MOST_LAYERS, problem, stack_reach
from course_utils.lectures.l05_causal_mask.heatmap import LEAK, MARKS, MAY, NO_QUERY, ZERO
from course_utils.masks import causal_mask, sliding_window_mask
from course_utils.measure.dependence import gradient_reach, leaks, reach_through
from tests.explorers.support_explorers import move, overhang

# The stack behind the explorer


def by_backpropagation(may_attend, num_layers, num_queries):
    """The same stack from `attend`, its gradients from autograd, in float64."""
    x, layers = problem()
    x = torch.from_numpy(x[: len(may_attend)]).double()
    layers = [[torch.from_numpy(matrix).double() for matrix in layer] for layer in layers]

    def model(x):
        for query, key, value in layers[:num_layers]:
            x = x + attend(x @ query.T, x @ key.T, x @ value.T, may_attend=may_attend)[0]
        return x[-num_queries:]

    return gradient_reach(model, x).numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("size", "tokens", "queries", "layers"),
    [(3, 12, 12, 1), (5, 12, 5, 3), (2, 16, 1, MOST_LAYERS)],
)
def test_gradients_match_backpropagation(kind, size, tokens, queries, layers):
    may_attend = mask_of(kind, size, tokens, queries)
    expected = by_backpropagation(may_attend, layers, queries)
    found = stack_reach(may_attend.numpy(), layers, queries).gradient
    # float32 against float64, through up to six products of 64 terms.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * expected.max())
    assert ((found == 0) == (expected == 0)).all()


def test_weights_match_attend():
    x, layers = problem()
    query, key, value = (torch.from_numpy(matrix) for matrix in layers[0])
    x = torch.from_numpy(x[:8])
    _, weights = attend(x @ query.T, x @ key.T, x @ value.T, may_attend=sliding_window_mask(8, 3))
    found = stack_reach(sliding_window_mask(8, 3).numpy(), 2, 8).weights
    torch.testing.assert_close(torch.from_numpy(found), weights)


# Masks


@pytest.fixture(scope="module")
def masks():
    return Masks()


def state_of(explorer, **values):
    defaults = {name: each.default for name, each in explorer.inputs.items()}
    return explorer.compute(**{**defaults, **values})


def may_attend_to(kind, size, tokens, queries, t, s):
    """The definition of each mask, token by token."""
    document = [token // size for token in range(tokens)]
    new = t - (tokens - queries)  # how many of the queries come before this one
    return {
        CAUSAL: s <= t,
        WINDOW: t - size < s <= t,
        PREFIX: s < size or s <= t,
        PADDING: s < size,
        PACKED: s <= t and document[t] == document[s],
        TOP_LEFT: s <= (t if new < 0 else new),
        OFF_BY_ONE: s <= t + 1,
    }[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_masks_match_definitions(masks, kind):
    for tokens in TOKENS[:3]:
        for queries in (1, 3, tokens):
            for size in (1, 5, 12):
                state = state_of(masks, kind=kind, size=size, tokens=tokens, queries=queries)
                expected = [
                    [may_attend_to(kind, size, tokens, queries, t, s) for s in range(tokens)]
                    for t in range(tokens - queries, tokens)
                ]
                assert state.may_attend.tolist() == expected
                assert ((state.weights > 0) == state.may_attend).all()
                np.testing.assert_allclose(state.weights.sum(1), 1, atol=1e-6)
                np.testing.assert_allclose(state.gradient.sum(1), 1, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_match_the_masks_reach(masks, kind):
    for tokens in TOKENS:
        for layers in range(1, MOST_LAYERS + 1):
            state = state_of(masks, kind=kind, tokens=tokens, layers=layers, size=5)
            rule = mask_of(kind, 5, tokens, state.queries)
            reached = reach_through(rule, layers)[-state.queries :].numpy()
            assert ((state.gradient > 0) == reached).all()
            if kind == OFF_BY_ONE:
                past = causal_mask(tokens)[-state.queries :]
                found = leaks(torch.from_numpy(state.gradient), past)
                assert [tuple(pair) for pair in np.argwhere(state.gradient_leaks)] == found != []
            else:
                assert not state.gradient_leaks.any() and not state.mask_leaks.any()


def test_words_count_what_is_drawn(masks):
    masks.set(**masks.scenes["window 3, 4 layers"])
    assert "may attend to 3 of 12 tokens" in masks.words
    assert "after 4 layers its output depends on 9." in masks.words
    assert "Of 144 gradients 72 are exactly 0" in masks.words
    masks.set(**masks.scenes["leak: off by one"])
    assert "A leak: 11 gradients that must be 0 are not (orange, ×)" in masks.words
    assert "outputs depend on the next token" in masks.words
    move(masks, layers=3)
    assert "A leak: 30 gradients" in masks.words and "depend on up to 3 tokens ahead" in masks.words
    move(masks, queries=1)
    assert "The leak cannot show here" in masks.words
    masks.set(**masks.scenes["top left: wrong step"])
    assert "may attend to 1 of 12 tokens" in masks.words and "11 tokens came before" in masks.words
    masks.set(**masks.scenes["decoding step"])
    assert "done, kept in the cache" in masks.words
    for kind in (PREFIX, PADDING):
        for size, words in ((11, "done, kept"), (12, "not asked again, though newer tokens")):
            move(masks, kind=kind, size=size)
            assert f"11 tokens came before (grey rows: {words}" in masks.words
    masks.set(**masks.scenes["decoding step"])
    assert "may attend to 12 of 12 tokens" in masks.words
    masks.set(**{**masks.scenes["padding"], "size": 11})
    assert "Token 11 is padding" in masks.words


def test_square_colours(masks):
    masks.set(kind=OFF_BY_ONE, size=3, tokens=8, queries=5, layers=1)
    mask, gradient = masks._mask._levels, masks._gradient._levels
    assert (mask[:3] == NO_QUERY).all() and (gradient[:3] == NO_QUERY).all()
    for t in range(3, 8):
        assert (mask[t, : t + 1] == MAY).all() and (gradient[t, : t + 1] >= len(MARKS)).all()
        assert (mask[t, t + 1 : t + 2] == LEAK).all() and (gradient[t, t + 1 : t + 2] == LEAK).all()
        assert (mask[t, t + 2 :] == ZERO).all() and (gradient[t, t + 2 :] == ZERO).all()
    key, query = masks._crosses[2].get_data()
    assert list(zip(query, key, strict=True)) == [(t, t + 1) for t in range(3, 7)]


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

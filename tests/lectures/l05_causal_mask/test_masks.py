"""Lecture 05's masks: what the picture says of paths is what gradients and definitions say."""

from functools import cache
from random import Random

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.layers import EncoderBlock
from course_utils.masks import causal_mask
from course_utils.measure.dependence import gradient_reach
from lectures.l05_causal_mask.explorers.masks import PAD, TEXTS, Masks, T, rows

C, HEADS, HIDDEN = 10, 2, 13
PAINTED = [Masks.inputs["mask"].sample(Random(seed)) for seed in range(7)]
EMPTY_ROW = [*rows(causal_mask(T))[:3], "." * T, *rows(causal_mask(T))[4:]]
SHOWN = [*(preset["mask"] for preset in Masks.presets.values()), *PAINTED, EMPTY_ROW]


@pytest.fixture(scope="module")
def masks():
    return Masks()


def state_of(masks, **values):
    return masks.compute(**{**Masks().values, **values})


def allowed(mask):
    return np.array([[cell == "#" for cell in row] for row in mask])


def felt(mask, num_layers):
    """Where the gradient through a real stack of blocks is not 0."""
    return felt_through(tuple(mask), num_layers)


@cache
def felt_through(mask, num_layers):
    torch.manual_seed(3)
    blocks = [EncoderBlock(C, HEADS, HIDDEN).double() for _ in range(num_layers)]
    may_attend = torch.from_numpy(allowed(mask))

    def model(x):
        x = x[None]
        for block in blocks:
            x, _ = block(x, may_attend)
        return x[0]

    return (gradient_reach(model, torch.randn(T, C).double()) != 0).numpy()


def without_residual(may, num_layers):
    """The wrong power: without the path by which each word keeps its own vector."""
    found = may
    for _ in range(num_layers - 1):
        found = found @ may
    return found


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_paths_are_where_gradients_are_not_zero(masks, num_layers):
    kept, shorter = 0, 0
    for mask in SHOWN:
        expected, state = felt(mask, num_layers), state_of(masks, mask=mask, layers=num_layers)
        assert (state.knows[-1] == expected).all(), mask
        kept += (without_residual(allowed(mask), num_layers) != expected).any()
        shorter += (state.knows[-2] != expected).any()
    assert kept and shorter, "the wrong variants would pass"


@pytest.mark.parametrize("word", [0, 3, 7])
def test_what_feeds_the_output_is_felt_through_the_layers_above(masks, word):
    for mask in PAINTED:
        state = state_of(masks, mask=mask, word=word, layers=3)
        for below in (0, 1, 2):
            assert (state.feeds[below] == felt(mask, 3 - below)[word]).all()
        assert state.feeds[3].tolist() == [t == word for t in range(T)]


def test_later_words_are_counted_from_the_gradient(masks):
    for mask in SHOWN:
        expected = felt(mask, 2)
        for word in (1, 4):
            state = state_of(masks, mask=mask, word=word)
            assert state.depends == expected[word].sum()
            assert state.later == sum(expected[word, s] for s in range(T) if s > word)
            assert state.ahead[-1].tolist() == [expected[t, t + 1 :].any() for t in range(T)]
            assert state.carries[-1].tolist() == [expected[t, word + 1 :].any() for t in range(T)]


@pytest.mark.parametrize("text", TEXTS)
def test_an_answer_is_the_next_word(masks, text):
    words = TEXTS[text]
    for mask in SHOWN:
        reached = felt(mask, 2)
        expected = [t < T - 1 and words[t + 1] != PAD and reached[t, t + 1] for t in range(T)]
        state = state_of(masks, mask=mask, text=text)
        assert state.answered.tolist() == expected and state.cheats == sum(expected)


def test_a_leak_spreads_with_the_layers(masks):
    leak = masks.presets["one leak"]
    cheats = [state_of(masks, **leak, layers=layers).cheats for layers in (1, 2, 3)]
    assert cheats == [0, 2, 4]
    assert state_of(masks, **masks.presets["causal"], layers=6).cheats == 0


@pytest.mark.parametrize(
    ("label", "may"),
    [
        ("causal", lambda t, s: s <= t),
        ("one leak", lambda t, s: s <= t or (t, s) == (2, 6)),
        ("window of 3", lambda t, s: t - 3 < s <= t),
        ("first word + window", lambda t, s: t - 3 < s <= t or s == 0),
        ("prefix of 4", lambda t, s: s <= t or s < 4),
        ("two documents", lambda t, s: s <= t and t // 4 == s // 4),
        ("padding", lambda t, s: s < TEXTS["a sentence and padding"].index(PAD)),
        ("all see all", lambda t, s: True),
    ],
)
def test_presets_match_definitions(label, may):
    expected = ["".join(".#"[may(t, s)] for s in range(T)) for t in range(T)]
    assert Masks.presets[label]["mask"] == expected


def test_a_row_without_words_is_what_the_libraries_give(masks):
    state = state_of(masks, mask=EMPTY_ROW, word=3)
    assert state.empty.tolist() == [t == 3 for t in range(T)]
    assert state.knows[-1][3].tolist() == [s == 3 for s in range(T)]
    may_attend = torch.from_numpy(allowed(EMPTY_ROW))
    q, k, v = torch.randn(3, T, C)
    assert (q @ k.T).masked_fill(~may_attend, -torch.inf).softmax(-1)[3].isnan().all()
    assert (attend(q, k, v, may_attend=may_attend)[0][3] == 0).all()
    assert "“NaN”" in masks.caption(state) and "zeros" in masks.caption(state)


def test_a_mask_from_code_is_shown():
    assert Masks(mask=causal_mask(T)).values["mask"] == rows(causal_mask(T))
    with pytest.raises(ValueError, match="8 rows of 8 cells"):
        Masks(mask=causal_mask(5))

"""Lecture 05's masks: what the picture says of paths is what gradients and definitions say."""

import json
import re
from functools import cache
from random import Random

import numpy as np
import pytest
import torch

from course_utils.attention import attend
from course_utils.layers import EncoderBlock
from course_utils.masks import causal_mask
from course_utils.measure.dependence import gradient_reach, reach_through
from lectures.l05_causal_mask.explorers.masks import PADDED, Masks, T, rows
from tests.explorers.support_browser import InBrowser, cases, differences
from tests.explorers.support_node import run_module

C, HEADS, HIDDEN = 10, 2, 13
PAINTED = [Masks.inputs["mask"].sample(Random(seed)) for seed in range(7)]
EMPTY_ROW = [*rows(causal_mask(T))[:3], "." * T, *rows(causal_mask(T))[4:]]
SHOWN = [*(preset["mask"] for preset in Masks.presets.values()), *PAINTED, EMPTY_ROW]


@pytest.fixture(scope="module")
def masks():
    with InBrowser(Masks()) as found:
        yield found


@pytest.fixture(scope="module")
def texts():
    """The words of each sentence; None stands for padding."""
    module = json.dumps(Masks.compute_path().as_uri())
    source = f"const {{ PAD, TEXTS }} = await import({module});"
    pad, found = run_module(f"{source} console.log(JSON.stringify([PAD, TEXTS]));")
    return {
        name: [None if word == pad else word for word in words] for name, words in found.items()
    }


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


def test_a_state_is_what_the_core_reaches(masks, texts):
    def expected(mask, word, layers, text):
        may_attend = torch.from_numpy(allowed(mask))
        reached = [reach_through(may_attend, depth).numpy() for depth in range(1, layers + 1)]
        knows = np.array([np.eye(T, dtype=bool), *reached])
        last = knows[-1]
        graded = [answer is not None for answer in texts[text][1:T]]
        answered = np.append(last.diagonal(1) & graded, False)
        state = {
            "mask": may_attend.numpy(),
            "knows": knows,
            # The chosen output's dependence on each layer: what is left of the layers above it.
            "feeds": knows[::-1, word],
            "ahead": np.triu(knows, 1).any(-1),
            "carries": knows[:, :, word + 1 :].any(-1),
            "answered": answered,
            "empty": ~may_attend.numpy().any(-1),
            "sees": may_attend[word].sum(),
            "depends": last[word].sum(),
            "later": last[word, word + 1 :].sum(),
            "cheats": answered.sum(),
        }
        return {name: np.asarray(each).astype(int) for name, each in state.items()}

    assert differences(masks, expected) == []


def test_words_of_the_masks(masks, texts):
    tried = cases(masks.explorer)
    for values, state in zip(tried, masks.states(tried), strict=True):
        name = texts[values["text"]][values["word"]] or "pad"
        assert state.words.startswith(f"{name} ")
        if not state.sees:
            continue
        told = [int(each) for each in re.findall(r"\d+", state.words.replace("nothing", "0"))]
        numbers = [state.sees, T, values["layers"], state.depends, state.later]
        assert told[:5] == numbers, state.words
        assert told[5:] == [state.cheats] * (state.cheats > 0), state.words
        assert state.words.endswith(
            f"{'position can read its' if state.cheats < 2 else 'positions can read their'} "
            "own answer."
        )


def without_residual(may, num_layers):
    """The wrong power: without the path by which each word keeps its own vector."""
    found = may
    for _ in range(num_layers - 1):
        found = found @ may
    return found


def by_position(flat):
    """What each position knows after each layer, (L + 1, T, T)."""
    return flat.reshape(-1, T, T)


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_paths_are_where_gradients_are_not_zero(masks, num_layers):
    kept, shorter = 0, 0
    for mask in SHOWN:
        expected = felt(mask, num_layers)
        knows = by_position(masks.compute(mask=mask, layers=num_layers).knows)
        assert (knows[-1] == expected).all(), mask
        kept += (without_residual(allowed(mask), num_layers) != expected).any()
        shorter += (knows[-2] != expected).any()
    assert kept and shorter, "the wrong variants would pass"


@pytest.mark.parametrize("word", [0, 3, 7])
def test_what_feeds_the_output_is_felt_through_the_layers_above(masks, word):
    for mask in PAINTED:
        feeds = masks.compute(mask=mask, word=word, layers=3).feeds.reshape(4, T)
        for below in (0, 1, 2):
            assert (feeds[below] == felt(mask, 3 - below)[word]).all()
        assert feeds[3].tolist() == [t == word for t in range(T)]


def test_later_words_are_counted_from_the_gradient(masks):
    for mask in SHOWN:
        expected = felt(mask, 2)
        for word in (1, 4):
            state = masks.compute(mask=mask, word=word)
            assert state.depends == expected[word].sum()
            assert state.later == sum(expected[word, s] for s in range(T) if s > word)
            ahead, carries = (each.reshape(-1, T)[-1] for each in (state.ahead, state.carries))
            assert ahead.tolist() == [expected[t, t + 1 :].any() for t in range(T)]
            assert carries.tolist() == [expected[t, word + 1 :].any() for t in range(T)]


@pytest.mark.parametrize("text", Masks.inputs["text"].values)
def test_an_answer_is_the_next_word(masks, texts, text):
    words = texts[text]
    for mask in SHOWN:
        reached = felt(mask, 2)
        expected = [t < T - 1 and bool(words[t + 1]) and reached[t, t + 1] for t in range(T)]
        state = masks.compute(mask=mask, text=text)
        assert state.answered.tolist() == expected and state.cheats == sum(expected)


def test_a_leak_spreads_with_the_layers(masks):
    leak = Masks.presets["one leak"]
    cheats = [masks.compute(**leak, layers=layers).cheats for layers in (1, 2, 3)]
    assert cheats == [0, 2, 4]
    assert masks.compute(**Masks.presets["causal"], layers=6).cheats == 0


@pytest.mark.parametrize(
    ("label", "may"),
    [
        ("causal", lambda t, s: s <= t),
        ("one leak", lambda t, s: s <= t or (t, s) == (2, 6)),
        ("window of 3", lambda t, s: t - 3 < s <= t),
        ("first word + window", lambda t, s: t - 3 < s <= t or s == 0),
        ("prefix of 4", lambda t, s: s <= t or s < 4),
        ("two documents", lambda t, s: s <= t and t // 4 == s // 4),
        ("padding", lambda t, s: s < 5),
        ("all see all", lambda t, s: True),
    ],
)
def test_presets_match_definitions(label, may):
    expected = ["".join(".#"[may(t, s)] for s in range(T)) for t in range(T)]
    assert Masks.presets[label]["mask"] == expected


def test_no_padding_is_attended_to(texts):
    words = texts[PADDED][:T]
    assert Masks.presets["padding"]["mask"][0] == "".join("#" if each else "." for each in words)


def test_a_row_without_words_is_what_the_libraries_give(masks):
    state = masks.compute(mask=EMPTY_ROW, word=3)
    assert state.empty.tolist() == [t == 3 for t in range(T)]
    assert by_position(state.knows)[-1, 3].tolist() == [s == 3 for s in range(T)]
    may_attend = torch.from_numpy(allowed(EMPTY_ROW))
    q, k, v = torch.randn(3, T, C)
    assert (q @ k.T).masked_fill(~may_attend, -torch.inf).softmax(-1)[3].isnan().all()
    assert (attend(q, k, v, may_attend=may_attend)[0][3] == 0).all()
    assert "“NaN”" in state.words and "zeros" in state.words


def test_a_mask_from_code_is_shown():
    assert Masks(mask=causal_mask(T)).values["mask"] == rows(causal_mask(T))
    with pytest.raises(ValueError, match="8 rows of 8 cells"):
        Masks(mask=causal_mask(5))

"""Real heads: presets show what they say, and any text gives a picture or a sentence."""

import math
import re
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from course_utils.data.minilm_files import MiniLMNotFoundError
from course_utils.models import minilm, minilm_or_random
from course_utils.models.minilm import load_minilm
from lectures.l00_start_here.explorers import real_heads
from lectures.l00_start_here.explorers.real_heads import (
    HEADS,
    LAYERS,
    MAX_TOKENS,
    RealHeads,
)
from tests.explorers.support_browser import InBrowser, differences

# Texts that no preset shows, for what a preset says of a head.
OTHERS = (
    "The keys to the old cabinet are on the table.",
    "When Mary met John, Mary gave John a book.",
    "The cat sat on the mat because the cat was tired.",
    "A dog chased a ball, but a dog never catches a bird.",
)
READABLE = {
    "one letter": "a",
    "mathematics": r"Let $x_1$ be \frac{a}{b} and $ alone, 5 % of ^2",
    "emoji": "I like 🍵 and 👩‍🔬 and 🇯🇵 ☕️",
    "Chinese": "猫追老鼠。",
    "combining marks": "Z̷̢̛a̴l̶g̸o e\u0301",
    "right-to-left override": "abc \u202e def",
    "control characters": "a\x00b\x07 c\x1b[31m d\x7f",
    "one long word": "w" * 199,
    "brackets": "] [ ]] [q:1] [[k:2]",
    "special tokens": "[CLS] [SEP] [PAD] [MASK]",
}
UNREADABLE = {
    "private use alone": "\ue000\U000f0000",
    "zero width space alone": "\u200b\u200d",
    "control characters alone": "\x00\x01",
}
BLANK = {"empty": "", "blanks": "   ", "blank lines": "\n\t \u00a0"}


def forget_readings():
    minilm_or_random._minilm.cache_clear()
    real_heads.read_sentence.cache_clear()


@contextmanager
def without_minilm():
    """As on a machine without MiniLM's files."""

    def missing(path=None):
        raise MiniLMNotFoundError("MiniLM is not installed here")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minilm, "find_minilm", missing)
        forget_readings()
        yield
    forget_readings()


@pytest.fixture
def heads():
    """An explorer that a notebook shows; its widget has what the browser was sent."""
    with InBrowser(RealHeads()) as found:
        found.explorer.widget()
        yield found


@cache
def read(text):
    """What MiniLM itself gives for a text, without the explorer's own arithmetic."""
    return load_minilm().read(text, MAX_TOKENS)


# What is drawn.


def attended(sentence, own_text, layer, head, word):
    """One head's weights as MiniLM gives them, to the two bytes that a browser gets."""
    reading = read(sentence)
    weights = (reading.attentions[layer][head] * 65_535).round().numpy() / 65_535
    row = min(word, len(reading.tokens) - 1)
    most, after = np.argsort(-weights[row], kind="stable")[:2]
    return {
        "weights": weights, "row": row, "asks": reading.tokens[row], "cut": reading.truncated,
        "most": reading.tokens[most], "most_weight": weights[row, most],
        "next": reading.tokens[after], "next_weight": weights[row, after],
    }  # fmt: skip


def test_the_picture_shows_what_minilm_reads(heads):
    assert differences(heads, attended) == []


# What a preset says, measured on MiniLM itself.


def one_back(weights, tokens):
    """The weight of the word before, on average."""
    return np.mean([weights[i, i - 1] for i in range(1, len(tokens))])


def start(weights, tokens):
    """The weight of [CLS], on average over all other words."""
    return weights[1:, tokens.index("[CLS]")].mean()


def same_word(weights, tokens):
    """The weight of a noun's first use, seen from its second."""
    nouns = {"bat", "mary", "john", "cat", "dog", "keys"}
    pairs = [
        (i, tokens.index(token))
        for i, token in enumerate(tokens)
        if token in nouns and tokens.index(token) < i
    ]
    return np.mean([weights[pair] for pair in pairs]) if pairs else np.nan


# preset: what is measured, the least on the preset's own sentence, and on texts it does not show.
CLAIMS = {
    "looks one word back": (one_back, 0.95, 0.95),
    "looks at the start mark": (start, 0.8, 0.7),
    "finds the same word": (same_word, 0.7, 0.5),
}


def measured(measure, text, layer, head):
    reading = read(text)
    return float(measure(reading.attentions[layer][head].numpy(), reading.tokens))


@pytest.mark.parametrize("label", CLAIMS)
def test_a_preset_shows_what_it_says(label):
    measure, least, least_elsewhere = CLAIMS[label]
    preset = RealHeads.presets[label]
    layer, head = preset["layer"], preset["head"]
    elsewhere = [measured(measure, text, layer, head) for text in OTHERS]
    print(label, measured(measure, preset["sentence"], layer, head), elsewhere)
    assert measured(measure, preset["sentence"], layer, head) >= least
    assert np.nanmean(elsewhere) >= least_elsewhere


@pytest.mark.parametrize("label", CLAIMS)
def test_other_heads_do_not_show_it(label):
    measure, least, _ = CLAIMS[label]
    preset = RealHeads.presets[label]
    layer, head, sentence = preset["layer"], preset["head"], preset["sentence"]
    every = [[measured(measure, sentence, i, j) for j in range(HEADS)] for i in range(LAYERS)]
    assert every[layer][(head + 1) % HEADS] < 0.75 * least, "the head beside it"
    assert np.mean(np.array(every) >= least) < 0.1, "many heads show it"


def test_it_turns_from_the_animal_when_the_street_is_wide():
    shares = {}
    for label in ("it → animal", "it … too wide"):
        preset = RealHeads.presets[label]
        reading = read(preset["sentence"])
        assert reading.tokens[preset["word"]] == "it"
        row = reading.attentions[preset["layer"]][preset["head"], preset["word"]]
        shares[label] = float(row[reading.tokens.index("animal")])
    assert shares["it → animal"] == pytest.approx(0.677, abs=5e-4)
    assert shares["it … too wide"] < shares["it → animal"] / 2


# What a reader may type.


def shown(heads):
    """What the browser shows now."""
    return heads.compute(**heads.explorer.values)


def shows_a_picture(heads):
    state = shown(heads)
    size = math.isqrt(len(state.weights))
    assert heads.explorer.widget().problem == ""
    assert size**2 == len(state.weights) and 3 <= size <= MAX_TOKENS
    assert np.allclose(state.weights.reshape(size, size).sum(axis=1), 1, atol=size / 65_535)
    assert len(state.words.split()) <= 25
    state.words.encode("utf-8")
    return True


def type_text(heads, text):
    """As a browser does: the text arrives with all other values."""
    widget = heads.explorer.widget()
    widget.values = {**widget.values, "own_text": text}


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_readable_text_gives_a_picture(heads, text):
    type_text(heads, text)
    assert shows_a_picture(heads)
    sent = heads.explorer.widget().given["data"]
    assert sent["own"]["tokens"] == list(read(text).tokens)
    assert sent["readings"] == [], "prepared sentences travel once, not with every letter"


@pytest.mark.parametrize("text", BLANK.values(), ids=BLANK)
def test_blank_text_leaves_the_sentence(heads, text):
    before = shown(heads).caption
    type_text(heads, text)
    assert shows_a_picture(heads) and shown(heads).caption == before


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_text_keeps_the_picture(heads, text):
    type_text(heads, "cats")
    widget = heads.explorer.widget()
    before = shown(heads).caption, widget.given
    type_text(heads, text)
    assert (shown(heads).caption, widget.given) == before
    problem = widget.problem
    assert problem.startswith("Text must ") and "Error" not in problem
    assert problem.isprintable() and problem.encode("utf-8")
    type_text(heads, "mice")
    assert shows_a_picture(heads)


def test_only_a_long_text_is_cut(heads):
    fits = " ".join(["cat"] * (MAX_TOKENS - 2))
    type_text(heads, fits)
    assert not shown(heads).cut and "first" not in shown(heads).words
    type_text(heads, fits + " cat")
    assert shown(heads).cut and f"first {MAX_TOKENS} tokens" in shown(heads).words
    assert shows_a_picture(heads)


def test_only_without_minilm_the_caption_says_random_weights():
    def who_says_so():
        with InBrowser(RealHeads()) as heads:
            states = heads.states(RealHeads.presets.values())
        return [re.search("random weights.*make setup", each.words, re.I) for each in states]

    assert not any(who_says_so())
    with without_minilm():
        assert all(who_says_so())

"""What a reader may type: a picture or a sentence, never a traceback, with and without MiniLM."""

import re
from contextlib import contextmanager

import numpy as np
import pytest

from course_utils.data.minilm_files import MiniLMNotFoundError
from course_utils.lectures.l00_start_here.explorers import real_heads
from course_utils.models import minilm, minilm_or_random
from tests.explorers.support_explorers import error_line, move, press, shown_png

READABLE = {
    "one letter": "a",
    "capitals": "CATS CHASE MICE",
    "mathematics": r"Let $x_1$ be \frac{a}{b} and $ alone, 5 % of ^2",
    "emoji": "I like 🍵 and 👩‍🔬 and 🇯🇵 ☕️",
    "Chinese": "猫追老鼠。",
    "Japanese": "猫はネズミを追う",
    "Arabic": "القطة تطارد الفأر",
    "Hebrew": "החתול רודף",
    "Hindi": "बिल्ली चूहे का पीछा करती है",
    "Thai": "แมวไล่หนู",
    "combining marks": "Z̷̢̛a̴l̶g̸o e\u0301",
    "right-to-left override": "abc \u202e def",
    "control characters": "a\x00b\x07 c\x1b[31m d\x7f",
    "lines and tabs": "one\ntwo\r\n\tthree",
    "HTML": "<script>alert(1)</script> & <b>bold</b>",
    "one long word": "w" * 3000,
    "signs": "?! ... --- ((( ]]] ~~~",
    "special tokens": "[CLS] [SEP] [PAD] [MASK]",
}
UNREADABLE = {
    "private use alone": "\ue000\U000f0000",
    "zero width space alone": "\u200b\u200d",
    "control characters alone": "\x00\x01",
    "half a surrogate pair": "cat \ud83d",
}
BLANK = {"empty": "", "blanks": "   ", "blank lines": "\n\t \u00a0"}


def forget_readings():
    minilm_or_random.minilm_is_here.cache_clear()
    real_heads._reading.cache_clear()


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


def shown():
    explorer = real_heads.RealHeads()
    explorer.widget()
    return explorer


@pytest.fixture(scope="module")
def trained():
    return shown()


@pytest.fixture(scope="module")
def untrained_once():
    with without_minilm():
        return shown()


@pytest.fixture
def untrained(untrained_once):
    with without_minilm():
        yield untrained_once


@pytest.fixture(params=["trained", "untrained"])
def heads(request):
    explorer = request.getfixturevalue(request.param)
    press(explorer, "it → animal (tired)")
    assert explorer.state.real == (request.param == "trained")
    return explorer


def shows_a_picture(heads):
    assert heads.error is None and error_line(heads) is None
    assert np.isfinite(heads.state.weights).all()
    assert heads.png() == heads.png(fresh=True)
    heads.words.encode("utf-8")
    return True


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_readable_text_gives_a_picture(heads, text):
    before = heads.png()
    move(heads, word="", own_text=text)
    assert shows_a_picture(heads)
    assert heads.png() != before
    assert 3 <= len(heads.state.tokens) <= real_heads.MAX_TOKENS


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_any_text_may_be_the_word(trained, text):
    press(trained, "it → animal (tired)")
    move(trained, word=text)
    assert shows_a_picture(trained)
    assert "is not one of these tokens" in trained.words
    assert len(trained.words) < 600


@pytest.mark.parametrize("text", BLANK.values(), ids=BLANK)
def test_blank_text_leaves_the_sentence(heads, text):
    before = heads.png()
    move(heads, own_text=text)
    assert shows_a_picture(heads) and heads.png() == before


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_unreadable_text_keeps_the_picture(heads, text):
    before = heads.png()
    move(heads, own_text=text)
    line = error_line(heads)
    assert heads.png() == before == shown_png(heads)
    assert "ValueError: text must " in line and "Traceback" not in line
    assert line.isprintable() and line.encode("utf-8")
    move(heads, own_text="cats")
    assert shows_a_picture(heads)


def test_long_text_is_cut(heads):
    fits = " ".join(["cat"] * (real_heads.MAX_TOKENS - 2))
    move(heads, own_text=fits)
    assert len(heads.state.tokens) == 64 and "cut" not in heads.words
    move(heads, own_text=fits + " cat")
    assert len(heads.state.tokens) == 64 and "The text is cut at 64 tokens." in heads.words
    assert heads.state.tokens[-1] == "[SEP]" and shows_a_picture(heads)


def test_missing_glyphs_are_named(heads):
    move(heads, own_text="day 日 sun")
    assert "□ stands for" in heads.words
    move(heads, own_text="day sun")
    assert "□" not in heads.words


def test_without_minilm_the_caption_says_so(untrained):
    press(untrained, "next token")
    assert re.search(r"random weights.*make setup", untrained.words)


def test_with_minilm_no_word_of_that(trained):
    press(trained, "next token")
    assert trained.state.real and "random" not in trained.words


def test_without_minilm_scenes_differ(untrained):
    pictures = set()
    for label in untrained.scenes:
        press(untrained, label)
        assert shows_a_picture(untrained)
        pictures.add(untrained.png())
    assert len(pictures) == len(untrained.scenes)


def test_scenes_show_what_they_say(trained):
    press(trained, "it → animal (tired)")
    weights = trained.state.weights[trained.state.row]
    tokens = trained.state.tokens
    assert tokens[trained.state.row] == "it" and tokens[int(weights.argmax())] == "animal"
    assert weights.max() == pytest.approx(0.677, abs=5e-4)
    press(trained, "previous token")
    below = np.diagonal(trained.state.weights, -1)[1:]
    press(trained, "next token")
    above = np.diagonal(trained.state.weights, 1)[1:-1]
    assert below.mean() > 0.5 and above.mean() > 0.5
    press(trained, "almost everything")
    spread = trained.state.effective
    press(trained, "previous token")
    assert spread > 2 * trained.state.effective

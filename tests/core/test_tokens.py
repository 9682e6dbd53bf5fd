"""Byte pairs: the merges and ids of tokenizers, trained alike; round trips; ties; borders."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from course_utils.data.course_text import course_code, course_prose
from course_utils.tokens import WordTokens, train_bpe

# GPT-2's way of writing a byte as a sign: those that can be seen stand for themselves, the others
# for the signs from U+0100 on. (Radford et al. 2019, src/encoder.py.)
SEEN = [*range(33, 127), *range(161, 173), *range(174, 256)]
SIGNS = {byte: chr(byte) for byte in SEEN} | {
    byte: chr(256 + place) for place, byte in enumerate(b for b in range(256) if b not in SEEN)
}
LETTER = r"[A-Za-z\x{80}-\x{10FFFF}]"
BLANK = r"[ \t\n\r\f\v]"
PIECES = (
    rf" ?{LETTER}+| ?[0-9]+| ?[^A-Za-z0-9\x{{80}}-\x{{10FFFF}} \t\n\r\f\v]+"
    rf"|{BLANK}+(?!{BLANK.replace('[', '[^')})|{BLANK}+"
)

SCRIPTS = "Größe größer 注意 注意力 тест тест 🙂🙂 e\u0301 \u2003\u0085\xa0x\x1c\x1dy "
PROSE = train_bpe(course_prose()[:10_000], 320)


def cut_in_pieces():
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def theirs(text, vocab_size):
    """Train tokenizers' byte pairs, and return its merges by id, and a tokenizer that uses them.

    In training it numbers the signs by their code; listed as special they keep the bytes' order.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = cut_in_pieces()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[SIGNS[byte] for byte in range(256)],
        show_progress=False,
    )
    tokenizer.train_from_iterator([text], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    merges = [tuple(merge) for merge in model["merges"]]
    plain = Tokenizer(models.BPE(model["vocab"], merges))
    plain.pre_tokenizer, plain.decoder = cut_in_pieces(), decoders.ByteLevel()
    ids = model["vocab"]
    return tuple((ids[left], ids[right]) for left, right in merges), plain


@pytest.mark.parametrize(
    ("name", "text", "vocab_size"),
    [
        ("prose", course_prose()[:25_000], 401),
        ("code", course_code()[:15_000], 331),
        ("scripts", 3 * SCRIPTS, 347),
        ("ties", "aaaa aaa aa ab ba abab baba  \n\n x\t\ty 10 1010 ...!? '' ", 307),
    ],
)
def test_as_tokenizers(name, text, vocab_size):
    ours = train_bpe(text, vocab_size)
    merges, tokenizer = theirs(text, vocab_size)
    assert ours.merges == merges
    unseen = text + "An unseen sentence, 1234 of them:\n\n\tnaïve — 🙃."
    assert ours.encode(unseen) == tokenizer.encode(unseen).ids


@given(st.text())
def test_any_text_comes_back(text):
    assert PROSE.decode(PROSE.encode(text)) == text


@given(st.binary())
def test_any_bytes_come_back(data):
    ids = PROSE.encode(data)
    assert b"".join(PROSE.tokens[i] for i in ids) == data
    assert PROSE.decode(ids) == data.decode("utf-8", "replace")


@settings(max_examples=50)
@given(st.text("ab \n1.é", max_size=60), st.integers(256, 290))
def test_training_on_any_text(text, vocab_size):
    pairs = train_bpe(text, vocab_size)
    assert pairs.vocab_size <= vocab_size
    assert len(set(pairs.tokens)) == pairs.vocab_size
    assert pairs.merges == theirs(text, vocab_size)[0]
    assert len(pairs.encode(text)) <= len(text.encode())


def test_forms_of_ids():
    ids = PROSE.encode("attention")
    assert {PROSE.decode(form) for form in (ids, iter(ids), torch.tensor(ids))} == {"attention"}
    assert PROSE.decode([]) == PROSE.decode(torch.tensor([], dtype=torch.int64)) == ""


def test_words_come_back_with_their_lines_and_signs():
    tokens = WordTokens(("\n", ".", ",", "?", "Ann", "sang", "it", "Who"))
    text = "\nAnn sang, it sang.\nWho sang? Ann."
    ids = tokens.encode(text)
    assert ids == [0, 4, 5, 2, 6, 5, 1, 0, 7, 5, 3, 4, 1]
    assert tokens.decode(ids) == text
    assert tokens.decode(torch.tensor(ids)) == text


@pytest.mark.parametrize("call", [
    lambda tokens: tokens.encode("Ann sings"),
    lambda tokens: tokens.encode("Ann!"),
    lambda tokens: tokens.decode([-1]),  # would be the last word
    lambda tokens: tokens.decode([2]),
])  # fmt: skip
def test_an_unknown_word_is_an_error(call):
    with pytest.raises(ValueError):
        call(WordTokens(("Ann", "sang")))

"""What MiniLM's heads do, over lists of sentences: the numbers that lecture 03 states."""

from functools import lru_cache

import pytest
import torch

from course_utils.models.minilm_or_random import read_text
from lectures.l03_heads.experiments.head_roles import (
    GENDERED,
    GENDERED_AGAIN,
    REFERENTS,
    SUBJECTS,
    Pair,
    offset_weights,
    relation_weights,
)

LISTS = {
    "referents": REFERENTS,
    "gendered": GENDERED,
    "again": GENDERED_AGAIN,
    "subjects": SUBJECTS,
}


@pytest.mark.parametrize("name", LISTS)
def test_words_are_three_tokens(name):
    for pair in LISTS[name]:
        tokens = read_text(pair.text).tokens
        assert {pair.reader, pair.right, pair.wrong} <= set(tokens)
        assert len({pair.reader, pair.right, pair.wrong}) == 3
        assert tokens.count(pair.right) == tokens.count(pair.wrong) == 1
    assert len(set(LISTS[name])) == len(LISTS[name])


@pytest.mark.parametrize("name", ["referents", "gendered", "again"])
def test_a_favourite_noun_is_right_in_half(name):
    pairs = LISTS[name]
    for one, other in zip(pairs[::2], pairs[1::2], strict=True):
        assert (one.right, one.wrong) == (other.wrong, other.right)
    # So is the first of the two nouns, which a head by position alone would read.
    first = [pair.text.index(f" {pair.right} ") < pair.text.index(f" {pair.wrong} ")
             for pair in pairs]  # fmt: skip
    assert sum(first) == len(pairs) / 2


def test_relation_weights():
    read, other = relation_weights(SUBJECTS[:2])
    tokens = read_text(SUBJECTS[1].text).tokens
    row, column, wrong = (tokens.index(word) for word in ("are", "keys", "cabinet"))
    for layer, weights in enumerate(read_text(SUBJECTS[1].text).attentions):
        assert torch.equal(read[1, layer], weights[:, row, column])
        assert torch.equal(other[1, layer], weights[:, row, wrong])


def test_last_of_two_equal_words_attends():
    text = "It rained on the dog until it found a roof."
    read, _ = relation_weights([Pair(text, "it", "dog", "roof")])
    reading = read_text(text)
    assert reading.tokens.count("it") == 2
    row = len(reading.tokens) - 1 - reading.tokens[::-1].index("it")
    assert row > 5
    assert torch.equal(read[0, 2], reading.attentions[2][:, row, reading.tokens.index("dog")])


@pytest.mark.parametrize("offset", [-2, -1, 0, 1])
def test_offset_weights(offset):
    text = "The cat sat on the mat."
    reading = read_text(text)
    T = len(reading.tokens)
    found = offset_weights([text], offset)[0]
    for layer, head in ((0, 2), (5, 11)):
        weights = reading.attentions[layer][head]
        seen = [float(weights[t, t + offset]) for t in range(T) if 0 <= t + offset < T]
        assert float(found[layer, head]) == pytest.approx(sum(seen) / len(seen), rel=1e-5)


# What the lecture says of MiniLM

weights_of = lru_cache(relation_weights)


def counted(pairs, layer, head):
    read, other = weights_of(pairs)
    more = int((read > other)[:, layer, head].sum())
    return float(read[:, layer, head].mean()), float(other[:, layer, head].mean()), more


def test_heads_of_the_neighbours():
    texts = [pair.text for pair in (*SUBJECTS[1:], *GENDERED)]
    previous, following = (offset_weights(texts, offset) for offset in (-1, 1))
    assert float(previous[:, 0, 2].min()) > 0.99
    assert divmod(int(following.mean(0).argmax()), 12) == (1, 8)
    assert 0.5 < float(following.mean(0)[1, 8]) < 0.7


def test_head_of_the_famous_sentence():
    read, other, more = counted(REFERENTS, 3, 1)
    assert float(weights_of(REFERENTS[:1]).right[0, 3, 1]) == pytest.approx(0.677, abs=1e-3)
    assert more == 5, "of 10: its noun is right as often as a favourite's"
    assert read + other > 0.6 and read - other < 0.1
    weights = weights_of(REFERENTS)
    all_right = (weights.right > weights.wrong).sum(dim=0)
    assert int(all_right.max()) == 6, "of 72 heads, the best"
    right = (weights.right > weights.wrong)[:, 3, 1]
    assert bool((right[::2] != right[1::2]).all()), "the same noun in both sentences of each pair"


def test_head_for_gender_holds():
    read, other = weights_of(GENDERED)
    assert divmod(int((read - other).mean(0).argmax()), 12) == (1, 3)
    assert counted(GENDERED, 1, 3)[2] == 6
    again, wrong, more = counted(GENDERED_AGAIN, 1, 3)
    assert more == 12 and again == pytest.approx(0.392, abs=2e-3)
    assert wrong == pytest.approx(0.072, abs=2e-3)
    assert counted(REFERENTS, 1, 3)[2] == 5, "meaning is another matter"


def test_no_head_for_subjects():
    read, other = weights_of(SUBJECTS)
    assert float((read - other).mean(0).max()) < 0.15
    assert float(read.mean(0).max()) < 0.21
    assert SUBJECTS[1].right == "keys"
    assert float(read[1, 0, 1]) == pytest.approx(0.144, abs=2e-3)
    assert float(other[1, 0, 1]) == pytest.approx(0.071, abs=2e-3)
    assert counted(SUBJECTS, 0, 1)[2] == 7

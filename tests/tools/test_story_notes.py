"""What the notes on stories say, and a training with them that is stopped and goes on."""

import dataclasses
import random

import pytest
import torch

from course_utils.language_modeling import next_token_loss
from course_utils.models import GPT2, GPT2Config
from course_utils.models.story_gpt import STORY_GPT
from course_utils.stories import ALL_WORDS, next_word_chances, tell
from tools.scripts import train_story_gpt
from tools.scripts.story_ingredients import WordRun
from tools.scripts.story_notes import (
    NOTHING,
    begin_with_waves,
    note_batch,
    note_loss,
    noted,
    read_outs,
    with_questions,
)
from tools.scripts.train_story_gpt import FACTS, Run, Stage, loss_with_notes, share_at

STORY = (
    "Ben was in the shop . Ann was in the park . She found a big red hat . She went to the shop . "
    "She gave the hat to Ben . He put it in a box . What colour is the hat ? It is red ."
)
STAGES = (
    Stage(2, 1e-3, FACTS | {"before": (1, 1.0)}, asked=1 / 2, answer=3, at_stops=False),
    Stage(3, 2e-3, {"place": (2, 1.0), "told": (1, 1.0)}, asked=0, answer=1, muon=0.01),
)


def test_a_story_noted_by_hand():
    words = STORY.split()
    notes = noted(words)
    assert len(notes) == len(words)
    stops = [notes[at] for at, word in enumerate(words) if word == "."]
    assert [ALL_WORDS.index(each["told"]) for each in stops[:-1]] == [1, 2, 3, 4, 5, 6]
    assert [ALL_WORDS.index(each["people"]) for each in stops[:-1]] == [1, 2, 2, 2, 2, 2]
    found = words.index("hat")
    assert notes[found] == {"means": "hat", "colour": "red"}  # nobody has it before the sentence
    assert notes[found + 1] == stops[2] == {
        "told": ALL_WORDS[3], "people": ALL_WORDS[2],
        "means": "hat", "holder": "Ann", "place": "park", "anywhere": "park",
    }  # fmt: skip
    given = words.index("hat", found + 1)
    assert (notes[given]["holder"], notes[given]["place"]) == ("Ann", "shop")
    assert notes[given]["finder"] == "Ann"
    puts = words.index("He")
    assert notes[puts]["means"] == "Ben"
    assert notes[puts + 2] == notes[given] | {"holder": "Ben"}  # it
    assert notes[words.index("?")] == {"asked": "hat", "lies": "box"}


def test_the_notes_at_a_question_have_its_answer():
    """The teller answers, the notes come from the second reader: they share no code."""
    rng, seen = random.Random(7), {"holder": 0, "colour": 0, "finder": 0}
    for _ in range(300):
        words = tell(rng).words
        notes = noted(words)
        for mark in (at for at, word in enumerate(words) if word == "?"):
            start = max(at for at in range(mark) if words[at] == ".") + 1
            asks, answer = words[start : start + 2], words[mark + 1 : words.index(".", mark)]
            noun = next(
                notes[at] for at in range(start, mark) if "asked" not in notes[at] and notes[at]
            )
            kind = {"has": "holder", "colour": "colour", "found": "finder"}.get(asks[1])
            if kind:
                seen[kind] += 1
                assert noun[kind] in answer
            if asks[0] == "Where":
                assert notes[mark]["lies"] in answer or noun["anywhere"] in answer
    assert min(seen.values()) > 100


def test_questions_between_have_right_answers():
    rng = random.Random(11)
    words = list(with_questions(tell(rng).words, rng))
    asked = words.count("?")
    assert asked > 5 and len(noted(words)) == len(words)


def test_a_batch_is_cut_from_stories():
    batch = note_batch(random.Random(3), rows=5, length=67, share=1)  # the next word is certain
    targets = batch.chances.argmax(-1)
    assert torch.equal(batch.chances.sum(-1), torch.ones(5, 67)) and batch.chances.max() == 1
    assert torch.equal(batch.inputs[:, 1:], targets[:, :-1])
    before = batch.notes["before"]
    assert torch.equal(before[:, 1:], batch.inputs[:, :-1])
    assert bool((before[:, 0] == NOTHING).all())
    told = {ALL_WORDS[word] for word in targets[batch.answers].tolist()}
    assert told
    assert told.isdisjoint({"It", "is", "has", "gave", "found", "in", "."})


def test_the_chances_of_a_batch_are_those_of_its_stories():
    batch = note_batch(random.Random(3), rows=3, length=61, share=0)
    again = note_batch(random.Random(3), rows=3, length=61, share=0)
    assert torch.equal(again.chances, batch.chances)
    for row, chances in zip(batch.inputs.tolist(), batch.chances, strict=True):
        words = [ALL_WORDS[word] for word in row[1:]]
        words = words[: words.index("\n")] if "\n" in words else words
        for at, exact in enumerate(next_word_chances(words)):
            here = {ALL_WORDS[w]: chances[at, w].item() for w in chances[at].nonzero()[:, 0]}
            assert here == pytest.approx(exact, abs=1e-6)


def test_two_heads_begin_by_what_binding_needs():
    torch.manual_seed(5)
    model = GPT2(STORY_GPT).eval()
    ids = torch.randint(5, 23, (1, 97))  # words that come again
    plain = [heads.weights[0, 0] for heads in model.trace(ids).heads[:2]]
    begin_with_waves(model)
    back, same = (heads.weights[0, 0] for heads in model.trace(ids).heads[:2])
    assert back.diagonal(-1)[1:].mean() > 0.5 > plain[0].diagonal(-1)[1:].mean()
    equal = (ids[0][:, None] == ids[0]).float().tril()
    shares = [(weights * equal).sum(-1)[40:].mean() for weights in (plain[1], same)]
    assert shares[1] > 3 * shares[0]


def test_without_notes_the_loss_is_that_of_the_next_word():
    torch.manual_seed(2)
    model, reads = GPT2(_small()), read_outs(32)
    batch = note_batch(random.Random(1), rows=3, length=61, share=1)
    stage = Stage(1, 1e-3, {}, asked=1, answer=1)
    loss = loss_with_notes(model, reads, batch, stage)
    targets = batch.chances.argmax(-1)
    torch.testing.assert_close(loss, next_token_loss(model, batch.inputs, targets))
    heavy = loss_with_notes(model, reads, batch, dataclasses.replace(stage, answer=9))
    assert abs(heavy - loss) > 1e-3  # the answers count more


def test_a_read_out_that_names_what_is_noted_has_no_loss():
    notes = {"colour": torch.tensor([[NOTHING, 2, 1]])}
    states = [None, torch.eye(3)[[0, 2, 1]][None] * 50]
    reads = read_outs(3)
    with torch.no_grad():
        reads["colour"].weight.zero_()
        reads["colour"].weight[:3] = 50 * torch.eye(3)
        reads["colour"].bias.zero_()
    assert note_loss(reads, states, notes, {"colour": (1, 2.0)}) < 1e-6
    notes["colour"][0, 1] = 1
    assert note_loss(reads, states, notes, {"colour": (1, 2.0)}) > 10


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(train_story_gpt, "STORY_GPT", _small())
    monkeypatch.setattr(train_story_gpt, "LENGTH", 61)


def test_a_stopped_training_goes_on_as_if_it_were_not(small, tmp_path):
    whole = Run(tmp_path / "whole.pt", 3, STAGES)
    whole.go_on(None, lambda model: None)
    for until in (1, 4, None):  # in the first stage, and in the second
        parts = Run(tmp_path / "parts.pt", 3, STAGES)
        parts.go_on(until, lambda model: None)
    assert parts.step == whole.step == 5
    for mine, theirs in zip(parts.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    other = Run(tmp_path / "other.pt", 4, STAGES)
    other.go_on(None, lambda model: None)
    assert not torch.equal(other.model.tokens.weight, whole.model.tokens.weight)


def test_without_exact_targets_the_words_that_came_are_the_targets(small, tmp_path):
    exact, words = (kind(tmp_path / "none.pt", 5, STAGES) for kind in (Run, WordRun))
    exact.step = words.step = 3
    one, other = exact.batch(STAGES[1]), words.batch(STAGES[1])
    assert torch.equal(one.inputs, other.inputs)
    assert torch.equal(other.chances.argmax(-1)[:, :-1], one.inputs[:, 1:])
    assert (other.chances.sum(-1) == 1).all()
    assert (one.chances[other.chances > 0] > 0).all()  # also the last of a row may come
    assert (one.chances > 0).sum() > 2 * (other.chances > 0).sum()


def test_the_rate_rises_and_falls():
    stage = Stage(100, 2e-3, {}, asked=0, answer=1, rises=10, falls=True)
    assert share_at(stage, 1) < share_at(stage, 10) > share_at(stage, 60) > share_at(stage, 100)
    assert share_at(stage, 100) == pytest.approx(0.01)


def _small() -> GPT2Config:
    return GPT2Config(len(ALL_WORDS), 64, 32, num_layers=4, num_heads=4)

"""Notes on stories: what a reader knows at each word, and what may come next.

One word in 140 answers a question about one of two things' colours: that is little evidence for
which of them is meant. Notes are more. While a model learns, linear read-outs of its stream have to
name what is noted. Then they are thrown away. And one word that came is little evidence for how
likely each was: the targets are the exact probabilities.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, layer_norm

from course_utils.models import GPT2
from course_utils.shapes import Bool, Float, Int
from course_utils.stories import ALL_WORDS, LIMITS, Limits, next_word_chances, tell
from course_utils.stories.words import FILLERS
from tools.scripts.story_reading import PEOPLE, Reading

__all__ = [
    "NOTHING",
    "NotedBatch",
    "begin_with_waves",
    "note_batch",
    "note_loss",
    "noted",
    "read_outs",
]

# "before" is the word before, "means" who or what a word means, "place" where a thing is, "stands"
# where a person is, "anywhere" both. From the mark of a question to the end of its answer "asked"
# is its noun, and "lies" the person, the place or the container that has the thing. "told" and
# "people" are numbers, of sentences and of people so far, noted as the words with these ids.
KINDS: tuple[str, ...] = (
    "before", "means", "colour", "holder", "place", "finder", "stands", "anywhere", "asked", "lies",
    "told", "people",
)  # fmt: skip
IDS = {word: number for number, word in enumerate(ALL_WORDS)}
NOTHING = -100  # what cross_entropy leaves out
# Whom a pronoun means: the first or the last person of its sentence.
PRONOUNS = {"He": 0, "She": 0, "him": -1, "her": -1, "he": -1, "she": -1}
ANSWERS = {"Nobody", *(w for kind, words in FILLERS.items() if kind != "noun" for w in words)}
IS_ANSWER = torch.tensor([word in ANSWERS for word in ALL_WORDS])
LARGER = Limits(things=3)  # the stories with questions between
Notes = dict[str, str]


class NotedBatch(NamedTuple):
    """Rows of stories, and the notes by kind.

    Attributes:
        inputs: the ids of the words.
        chances: probabilities of the words that may follow. With questions between the sentences:
            1 for the one that follows.
        notes: ids by kind; NOTHING where nothing is noted.
        answers: whether the word that follows answers a question.
    """

    inputs: Int[Tensor, "B T"]
    chances: Float[Tensor, "B T V"]
    notes: dict[str, Int[Tensor, "B T"]]
    answers: Bool[Tensor, "B T"]


class _Row(NamedTuple):
    """The ids of the words, one more than the others have; chances and notes at each word."""

    words: list[int]
    chances: list[Mapping[str, float]]
    notes: list[list[int]]


def noted(words: Sequence[str]) -> list[Notes]:
    """Return what is noted at each word of a story, except the word before.

    >>> noted("Ann was in the park . She found a red hat .".split())[6]
    {'means': 'Ann', 'stands': 'park', 'anywhere': 'park'}
    """
    notes, reading = [], Reading()
    for told, sentence in enumerate(_sentences(words), 1):
        if "?" in sentence:
            notes += _at_question(sentence, reading)
        else:
            notes += _heard(sentence, reading)
            people = sum(name in PEOPLE for name in reading.place)
            notes[-1] |= {"told": ALL_WORDS[told], "people": ALL_WORDS[people]}
    return notes


def with_questions(words: Sequence[str], rng: random.Random) -> Iterator[str]:
    """Yield a story with a question after each sentence once a thing is there."""
    reading = Reading()
    for sentence in _sentences(words):
        yield from sentence
        if "?" not in sentence:
            reading.hear(" ".join(sentence[:-1]))
            if reading.where:
                yield from _question(reading, rng).split()


def note_batch(rng: random.Random, rows: int, length: int, share: float) -> NotedBatch:
    """Draw so many rows of new stories, this share of them with questions between the sentences."""
    drawn = [_row(rng, length, rng.random() < share) for _ in range(rows)]
    words = torch.tensor([row.words for row in drawn])
    inputs, targets = words[:, :-1], words[:, 1:]
    noted_ids = torch.tensor([row.notes for row in drawn]).movedim(2, 0)
    notes = dict(zip(KINDS, noted_ids, strict=True))
    notes["before"][:, 1:] = inputs[:, :-1]
    answers = (notes["asked"] != NOTHING) & IS_ANSWER[targets]
    return NotedBatch(inputs, _probabilities(drawn), notes, answers)


def read_outs(width: int) -> nn.ModuleDict:
    """Return new read-outs of a stream of this width, one for each kind of note."""
    return nn.ModuleDict({kind: nn.Linear(width, len(ALL_WORDS)) for kind in KINDS})


def note_loss(
    reads: nn.ModuleDict,
    states: Sequence[Float[Tensor, "B T C"]],
    notes: Mapping[str, Int[Tensor, "B T"]],
    chosen: Mapping[str, tuple[int, float]],
) -> Tensor:
    """Return the weighted sum of the mean losses of what the read-outs name.

    Args:
        reads: from ``read_outs``.
        states: the embeddings, then each block's output.
        notes: by kind.
        chosen: the kinds that count: after which block each is read, and its weight.
    """
    total = torch.zeros(())
    for kind, (block, weight) in chosen.items():
        there = notes[kind] != NOTHING
        h = states[block][there]
        named = reads[kind](layer_norm(h, h.shape[-1:]))
        total = total + weight * cross_entropy(named, notes[kind][there])
    return total


@torch.no_grad()
def begin_with_waves(model: GPT2) -> None:
    """Let a new model's positions begin as waves, and two heads by what binding needs.

    The waves fill as many numbers as a head has, the last of the width, with frequencies up to pi.
    The first head of block 1 looks one word back. The first of block 2 looks for the word itself.
    Both go on learning.
    """
    C, D = model.config.width, model.config.head_width
    waves = slice(C - D, C)
    frequencies = torch.arange(1, D // 2 + 1) / (D // 2 + 1) * torch.pi
    angles = torch.arange(model.config.max_positions)[:, None] * frequencies
    tokens, positions = model.tokens.weight, model.positions.weight
    tokens *= 2
    tokens[:, waves] /= 4
    positions /= 4
    positions[:, waves] = 0.05 * torch.stack((angles.cos(), angles.sin()), -1).flatten(1)
    back = torch.block_diag(*(_turn(angle) for angle in frequencies))
    words = torch.randn(D, C) / C**0.5
    for block, place, queries, keys in (
        (0, waves, 1.5 * back, 1.5 * torch.eye(D)),
        (1, slice(0, C - D), 1.2 * words[:, : C - D], 1.2 * words[:, : C - D]),
    ):
        heads = model.get_submodule(f"blocks.{block}.attention")
        for name, weights in (("query", queries), ("key", keys)):
            weight = heads.get_parameter(f"{name}.weight")
            weight[:D] = 0
            weight[:D, place] = weights
        heads.get_parameter("value.weight")[:D] *= 4
        heads.get_parameter("output.weight")[:, :D] *= 8


def _turn(angle: Tensor) -> Tensor:
    """The matrix that turns a wave to where it was one position before."""
    cos, sin = angle.cos(), angle.sin()
    return torch.stack((cos, sin, -sin, cos)).view(2, 2)


def _sentences(words: Sequence[str]) -> Iterator[list[str]]:
    """The sentences of a story, each with its full stop; a question with its answer."""
    sentence = []
    for word in words:
        sentence.append(word)
        if word == ".":
            yield sentence
            sentence = []


def _heard(sentence: list[str], reading: Reading) -> Iterator[Notes]:
    """The notes at each word: what was known before; at the full stop, of the thing, now."""
    known = {noun: _of_thing(reading, noun) for noun in reading.where}
    known |= {
        name: {"stands": place, "anywhere": place}
        for name, place in reading.place.items()
        if name in PEOPLE
    }
    reading.hear(" ".join(sentence[:-1]))
    thing = next((word for word in reading.mentioned if word in reading.where), "")
    for word in sentence[:-1]:
        if word in PRONOUNS:
            name = reading.named[PRONOUNS[word]]
            yield {"means": name} | known[name]
        elif thing and word in ("it", thing):
            yield {"means": thing, "colour": reading.colour[thing]} | known.get(thing, {})
        else:
            yield known.get(word, {})
    now = _of_thing(reading, thing) if thing else {}
    yield {kind: now[kind] for kind in ("means", "holder", "place", "anywhere") if thing}


def _at_question(words: list[str], reading: Reading) -> Iterator[Notes]:
    noun = next(word for word in words if word in reading.where)
    asked = {"asked": noun, "lies": reading.where[noun]}
    mark = words.index("?")
    for at, word in enumerate(words):
        if word == noun:
            yield _of_thing(reading, noun)
        else:
            yield asked if mark <= at < len(words) - 1 else {}


def _of_thing(reading: Reading, noun: str) -> Notes:
    there = reading.where[noun]
    place = reading.place[there] if there in PEOPLE else there
    return {
        "means": noun,
        "colour": reading.colour[noun],
        "holder": there if there in PEOPLE else "Nobody",
        "place": place,
        "anywhere": place,
        "finder": reading.finder[noun],
    }


def _question(reading: Reading, rng: random.Random) -> str:
    """A question with its answer: as at a story's end, "Who gave" if it was given once."""
    noun = rng.choice(list(reading.where))
    given = [(to, len(by)) for (thing, to), by in reading.giver.items() if thing == noun]
    past = f"Who found the {noun} ?"
    if len(given) == 1 and given[0][1] == 1:
        past = f"Who gave the {noun} to {given[0][0]} ?"
    others = (f"Who has the {noun} ?", f"Where is the {noun} ?", f"What colour is the {noun} ?")
    question = rng.choice((*others, past))
    return f"{question} {reading.answer(question)} ."


def _row(rng: random.Random, length: int, asked: bool) -> _Row:
    """Draw stories until a row is full."""
    words: list[str] = []
    chances: list[Mapping[str, float]] = []
    notes: list[Notes] = []
    while len(words) <= length:
        story = tell(rng, LARGER if asked else LIMITS).words
        story = tuple(with_questions(story, rng)) if asked else story
        words += ["\n", *story]
        chances += [{word: 1.0} for word in story] if asked else next_word_chances(story)[:-1]
        chances.append({"\n": 1.0})
        notes += [{}, *noted(story)]
    ids = [[IDS[each[kind]] if kind in each else NOTHING for kind in KINDS] for each in notes]
    return _Row([IDS[word] for word in words[: length + 1]], chances[:length], ids[:length])


def _probabilities(rows: Sequence[_Row]) -> Float[Tensor, "B T V"]:
    """The chances of rows as numbers for each word."""
    there = [
        (b, t, IDS[word], chance)
        for b, row in enumerate(rows)
        for t, chances in enumerate(row.chances)
        for word, chance in chances.items()
    ]
    *where, chances = zip(*there, strict=True)
    out = torch.zeros(len(rows), len(rows[0].chances), len(ALL_WORDS))
    out[tuple(map(torch.tensor, where))] = torch.tensor(chances)
    return out

"""What may come next in a story, word by word, with its exact probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from course_utils.stories.story import (
    QUESTIONS,
    REFERENCE,
    cached_next_sentences,
    end_chance,
    fillers_of,
)
from course_utils.stories.world import LIMITS, Limits, Sentence, World, questions

__all__ = ["next_word_chances"]

Chances = Mapping[str, float]


def next_word_chances(words: Sequence[str], limits: Limits = LIMITS) -> list[Chances]:
    """Return what may come at each word of a story, and after its last one, with probabilities.

        P(word | words before) = sum over the sentences s that begin like this of P(s) P(word | s)

    Exact, from the rules by which stories are told. The sum of -ln P over the words that came is
    what ``Story.nats`` has. After a whole story comes the end of its line.

    Args:
        words: a story from its beginning, whole or not, as in ``Story.words``.
        limits: those with which it was told.

    Raises:
        ValueError: if a word cannot come where it stands.

    >>> chances = next_word_chances("Tom was in the park . He".split())
    >>> [round(chances[at][word], 4) for at, word in ((1, "was"), (4, "park"), (6, "He"))]
    [1.0, 0.0625, 0.35]
    """
    reading = _Reading(limits)
    chances = []
    for word in words:
        chances.append(reading.chances())
        if word not in chances[-1]:
            raise ValueError(f"word {len(chances) - 1} of a story must not be {word!r} here")
        reading.take(word)
    return [*chances, reading.chances()]


@dataclass
class _Option:
    """A way in which the sentence may go on, how likely it is, and how it is told."""

    chance: float
    sentence: Sentence
    tokens: tuple[str, ...]


class _Reading:
    """Where a reader stands who knows the rules: the world, its names, and the open sentence."""

    def __init__(self, limits: Limits) -> None:
        self.names: dict[str, str] = {}
        self.drawn: dict[str, str] = {}  # in the open sentence
        self.word, self.at, self.told = "", 0, 0
        self.asked: list[Sentence] | None = None  # the questions that are left, once one has come
        self.left = QUESTIONS
        self._begin(World(limits))

    def chances(self) -> Chances:
        """What may come now."""
        if not self.options:
            return {"\n": 1.0}
        whole = sum(option.chance for option in self.options)
        chances: dict[str, float] = {}
        for option in self.options:
            for word, chance in self._slot(option).items():
                chances[word] = chances.get(word, 0.0) + option.chance * chance / whole
        return chances

    def take(self, word: str) -> None:
        """Go on with the word that came."""
        options = []
        for option in self.options:
            chance = option.chance * self._slot(option).get(word, 0.0)
            if chance:
                options.append(_Option(chance, option.sentence, option.tokens))
        if options:
            new = REFERENCE.fullmatch(options[0].tokens[self.at])
            if new and new[1]:
                self.drawn[new[2] + new[3]] = word
        self.options, self.word = options, word
        self.at += 1
        if word == ".":
            self._end(options[0].sentence)

    def _slot(self, option: _Option) -> Chances:
        """What the next word of this way may be, given the article before it."""
        chances = self._filled(option, self.at)
        if option.tokens[self.at] == "a":
            following = self._filled(option, self.at + 1)
            vowel = sum(chance for word, chance in following.items() if word[0] in "aeiou")
            return {word: chance for word, chance in (("a", 1 - vowel), ("an", vowel)) if chance}
        if self.word in ("a", "an"):
            kept = {w: p for w, p in chances.items() if (w[0] in "aeiou") == (self.word == "an")}
            whole = sum(kept.values())
            return {word: chance / whole for word, chance in kept.items()}
        return chances

    def _filled(self, option: _Option, at: int) -> Chances:
        """The words that may stand for a token of a template."""
        token = option.tokens[at]
        if token[0] != "{":
            return {token: 1.0}
        return self._words_of(token, option.sentence)

    def _words_of(self, token: str, sentence: Sentence) -> Chances:
        [(new, kind, number)] = REFERENCE.findall(token)
        if number and not new:
            key = kind + number
            return {self.drawn.get(key) or self.names[key]: 1.0}
        taken = {*self.names.values(), *self.drawn.values()} if new else ()
        free = [w for w in fillers_of(kind, sentence.after.limits) if w and w not in taken]
        return dict.fromkeys(free, 1 / len(free))

    def _end(self, sentence: Sentence) -> None:
        """A sentence is over: take on its names and its world."""
        self.names |= self.drawn
        self.names |= {alias: self.names[name] for alias, name in sentence.also}
        if "?" in sentence.words:
            self.left -= 1
            self.asked = [each for each in self.asked or questions(self.world) if each != sentence]
        self.told += 1
        self._begin(sentence.after)

    def _begin(self, world: World) -> None:
        """List every sentence that may come."""
        self.world, self.word, self.at, self.drawn = world, "", 0, {}
        if self.asked is None:
            end = end_chance(world, self.told)
            told = (
                [((1 - end) * p, each) for p, each in cached_next_sentences(world)]
                if end < 1
                else []
            )
            asked = questions(world) if end else []
        else:
            end, told, asked = 1.0, [], self.asked if self.left else []
        asked = [(end / len(asked), each) for each in asked]
        self.options = [
            _Option(chance * share, sentence, tokens)
            for chance, sentence in (*told, *asked)
            for share, tokens in _templates(sentence.words)
        ]


@lru_cache(maxsize=100_000)
def _templates(words: str) -> list[tuple[float, tuple[str, ...]]]:
    """A sentence's tokens; twice where a word may be left out, each with its share."""
    tokens = tuple(words.split())
    for at, token in enumerate(tokens):
        sizes = fillers_of("size", LIMITS) if token == "{size}" else ()
        if "" in sizes:
            without = 1 / len(sizes)
            return [(without, (*tokens[:at], *tokens[at + 1 :])), (1 - without, tokens)]
    return [(1.0, tokens)]

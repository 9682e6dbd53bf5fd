"""Telling stories, and their exact entropy."""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count, pairwise

from course_utils.stories.words import AT_RANDOM, FILLERS
from course_utils.stories.world import LIMITS, Limits, Sentence, World, next_sentences, questions

__all__ = ["Story", "entropy", "tell"]

QUESTIONS = 3  # that close a story
REFERENCE = re.compile(r"{(\+?)([a-z]+)(\d*)}")
cached_next_sentences = lru_cache(maxsize=10_000)(next_sentences)


@dataclass(frozen=True)
class Story:
    """The words of a story, with its question and answer, and how unlikely it was, in nats."""

    words: tuple[str, ...]
    nats: float

    def __str__(self) -> str:
        return re.sub(r" (?=[.,?])", "", " ".join(self.words))


def tell(rng: random.Random, limits: Limits = LIMITS) -> Story:
    """Draw a story.

    >>> story = tell(random.Random(1))
    """
    world, names, words, nats = World(limits), {}, [], 0.0
    for told in count():
        end = end_chance(world, told)
        if rng.random() < end:
            break
        choices = cached_next_sentences(world)
        chance, sentence = rng.choices(choices, [chance for chance, _ in choices])[0]
        nats -= math.log((1 - end) * chance)
        nats += _draw(rng, sentence, names)
        words += _filled(sentence, names)
        world = sentence.after
    possible = questions(world)
    for question in rng.sample(possible, QUESTIONS):
        words += _filled(question, names)
    nats += math.log(math.perm(len(possible), QUESTIONS) / end)
    return Story(tuple(_with_articles(words)), nats)


def _draw(rng: random.Random, sentence: Sentence, names: dict[str, str]) -> float:
    """Draw the names that a sentence leaves open; return how unlikely they were, in nats."""
    nats = 0.0
    for new, kind, number in REFERENCE.findall(sentence.words):
        if new or not number:
            fillers = fillers_of(kind, sentence.after.limits)
            free = [each for each in fillers if not new or each not in names.values()]
            names[kind + number] = rng.choice(free)
            nats += math.log(len(free))
    names |= {alias: names[name] for alias, name in sentence.also}
    return nats


def _filled(sentence: Sentence, names: Mapping[str, str]) -> list[str]:
    return REFERENCE.sub(lambda found: names[found[2] + found[3]], sentence.words).split()


def entropy(limits: Limits = LIMITS) -> tuple[float, float]:
    """The entropy of a story in nats, and its mean number of words.

        H = sum over worlds of P(world) (H(next sentence | world) + nats of the names it draws)

    Exact: every world that can be reached is visited, with its probability, sentence by sentence.
    For `LIMITS` that takes a minute.
    Two stories never have the same words, so this is also the entropy of the text.
    """
    nats = words = 0.0
    reached = {World(limits): 1.0}
    for told in range(limits.longest + 1):
        following: dict[World, float] = defaultdict(float)
        for world, chance in reached.items():
            end = end_chance(world, told)
            if end:
                possible = questions(world)
                asked = sum(len(each.words.split()) for each in possible) / len(possible)
                nats += chance * end * math.log(math.perm(len(possible), QUESTIONS) / end)
                words += chance * end * QUESTIONS * asked
            for part, sentence in next_sentences(world) if end < 1 else ():
                share = chance * (1 - end) * part
                drawn, length = _drawn(world, sentence)
                nats += share * (drawn - math.log((1 - end) * part))
                words += share * length
                following[sentence.after] += share
        reached = _merged(following)
    return nats, words


def _merged(reached: Mapping[World, float]) -> dict[World, float]:
    """Add up worlds that differ only in the order of people, things and containers."""
    merged: dict[World, float] = defaultdict(float)
    for world, chance in reached.items():
        merged[_sorted(world)] += chance
    return merged


def _sorted(world: World) -> World:
    """The same world with its people, containers and things in one of their orders."""

    def held(where: str, number: int) -> list:
        seen = enumerate(world.things)
        return sorted((t.gifts, i == world.it) for i, t in seen if t[:2] == (where, number))

    def sight(who: int) -> tuple:
        heard = world.heard.index(who) if who in world.heard else -1
        return world.people[who], heard, held("person", who)

    people = sorted(range(len(world.people)), key=sight)
    boxes = sorted(
        range(len(world.containers)), key=lambda b: (world.containers[b], held("container", b))
    )
    number = {"person": people.index, "container": boxes.index, "place": int}
    things = [thing._replace(number=number[thing.where](thing.number)) for thing in world.things]
    order = sorted(range(len(things)), key=lambda t: (things[t], t == world.it))
    return replace(
        world,
        people=tuple(world.people[who] for who in people),
        things=tuple(things[t] for t in order),
        containers=tuple(world.containers[box] for box in boxes),
        heard=tuple(people.index(who) for who in world.heard),
        it=None if world.it is None else order.index(world.it),
    )


def end_chance(world: World, told: int) -> float:
    """The probability that the question comes now: every number of sentences is as likely."""
    if not world.things or told < world.limits.shortest:
        return 0.0
    return 1 / (world.limits.longest - told + 1)


def _drawn(world: World, sentence: Sentence) -> tuple[float, float]:
    """Nats of what a sentence draws, and its mean number of words."""
    used = Counter(person.pronoun for person in world.people)
    used.update(place=world.places, container=len(world.containers))
    used.update(noun=len(world.things), colour=len(world.things))
    nats, words = 0.0, float(len(sentence.words.split()))
    for new, kind, number in REFERENCE.findall(sentence.words):
        if new or not number:
            fillers = fillers_of(kind, world.limits)
            nats += math.log(len(fillers) - used[kind])
            words -= fillers.count("") / len(fillers)
    return nats, words


def fillers_of(kind: str, limits: Limits) -> Sequence[str]:
    return (FILLERS.get(kind) or AT_RANDOM[kind])[: limits.words]


def _with_articles(words: list[str]) -> Iterator[str]:
    for word, following in pairwise([*words, ""]):
        yield "an" if word == "a" and following[0] in "aeiou" else word

"""What may happen in a story: worlds, and the sentences that lead from one to the next.

A `World` holds numbers only: who is where, what is with whom. `next_sentences` lists every sentence
that may follow, with its probability and the world that it leads to. A pronoun may be used only
where it has one meaning, so that a story is never ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

__all__ = [
    "LIMITS",
    "Limits",
    "Person",
    "Sentence",
    "Thing",
    "World",
    "next_sentences",
    "questions",
]

NEWCOMER = 0.3  # probability that a new person comes next, while there is room
SAME = 0.5  # probability that whoever acted last acts again
# How likely each kind of action is, among those that are possible.
WEIGHTS = {"rest": 1, "go": 1, "find": 2, "carry": 1, "leave": 1, "put": 1, "take": 3, "give": 4,
           "refuse": 1}  # fmt: skip
SAME_IT = -1


@dataclass(frozen=True)
class Limits:
    """How many people, things, places, containers and sentences a story may have.

    `words` is how many names, nouns, colours and so on there are to choose from, of each kind.
    """

    people: int = 3
    things: int = 2
    places: int = 2
    containers: int = 2
    shortest: int = 3
    longest: int = 10
    words: int = 50


LIMITS = Limits()


class Person(NamedTuple):
    """*he* or *she*, and the number of the place where they are."""

    pronoun: str
    place: int


class Thing(NamedTuple):
    """Where a thing is (`place`, `container` or `person`, and its number), and how often given."""

    where: str
    number: int
    gifts: int = 0  # 2 stands for more


@dataclass(frozen=True)
class World:
    """All that decides how a story may continue.

    `containers` has the place of each container. `heard` are the people of the last sentence, first
    the one who acted; `it` is the thing that *it* would mean.
    """

    limits: Limits = LIMITS
    people: tuple[Person, ...] = ()
    things: tuple[Thing, ...] = ()
    containers: tuple[int, ...] = ()
    places: int = 0
    heard: tuple[int, ...] = ()
    it: int | None = None


@dataclass(frozen=True)
class Sentence:
    """A sentence whose names are still open, and the world after it.

    `{noun1}` is the noun of thing 1, `{+noun1}` the same where it is drawn; `{verb}` is any verb.
    `also` gives a name a second one, which a question uses: `finder1` is who found thing 1.
    """

    words: str
    after: World
    also: tuple[tuple[str, str], ...] = ()


def next_sentences(world: World) -> list[tuple[float, Sentence]]:
    """Every sentence that may come next, with its probability; no two have the same words.

    Until something has been found, people only come, or find it.
    """
    found, share = [], 1.0
    if len(world.people) < world.limits.people:
        share -= NEWCOMER if world.people else 1
        found += _evenly(1 - share, list(_newcomers(world)))
    for who, chance in _actors(world):
        kinds: dict[str, list[Sentence]] = {}
        for kind, words, after, *also in _actions(world, who):
            if kind == "find" or world.things:
                subjects = _subject(world, who)
                kinds.setdefault(kind, []).extend(
                    Sentence(f"{subject} {words} .", after, *also) for subject in subjects
                )
        whole = sum(WEIGHTS[kind] for kind in kinds)
        for kind, sentences in kinds.items():
            found += _evenly(share * chance * WEIGHTS[kind] / whole, sentences)
    return found


def questions(world: World) -> list[Sentence]:
    """Every question that may close a story, with its answer: four for each thing."""
    return [question for t in range(len(world.things)) for question in _questions(world, t)]


def _evenly(share: float, sentences: list[Sentence]) -> list[tuple[float, Sentence]]:
    return [(share / len(sentences), sentence) for sentence in sentences]


def _actors(world: World) -> list[tuple[int, float]]:
    """Each person, with the probability of acting next."""
    count = len(world.people)
    if count < 2:
        return [(who, 1.0) for who in range(count)]
    others = (1 - SAME) / (count - 1)
    return [(who, SAME if who == world.heard[0] else others) for who in range(count)]


def _newcomers(world: World) -> Iterator[Sentence]:
    who = len(world.people)
    for pronoun in ("he", "she"):
        for place in _places(world):
            after = replace(_seen(world, place), people=(*world.people, Person(pronoun, place)))
            words = f"{{+{pronoun}{who}}} was in the {_place(world, place)} ."
            yield Sentence(words, _after(after, who))


def _actions(world: World, who: int) -> Iterator[tuple]:
    """What a person may do: kind, words, the world after it, and `also` of `Sentence`."""
    here, new = world.people[who].place, len(world.things)
    goals = [place for place in _places(world) if place != here]

    yield "rest", "{verb}", _after(world, who)
    for place in goals:
        yield "go", f"went to the {_place(world, place)}", _after(_moved(world, who, place), who)
    if new < world.limits.things:
        after = replace(world, things=(*world.things, Thing("person", who)))
        words = f"found a {{size}} {{+colour{new}}} {{+noun{new}}}"
        finder = ((f"finder{new}", _name(world, who)),)
        yield "find", words, _after(after, who, it=new), finder
    for t, thing in enumerate(world.things):
        if (thing.where, thing.number) == ("person", who):
            yield from _actions_with(world, who, t, goals)
        elif thing.where == "person" and world.people[thing.number].place == here:
            holder = thing.number
            words = f"asked {{{_name(world, holder)}}} for the {{noun{t}}} , but"
            words += f" {_again(world, holder, who)} kept it"
            yield "refuse", words, _after(world, who, holder, it=t)
        elif thing.where == "place" and thing.number == here:
            for called in _called(world, t):
                yield "take", f"took {called}", _after(_put(world, t, "person", who), who, it=t)
        elif thing.where == "container" and world.containers[thing.number] == here:
            for called in _called(world, t):
                words = f"took {called} out of the {{container{thing.number}}}"
                yield "take", words, _after(_put(world, t, "person", who), who, it=None)


def _actions_with(world: World, who: int, t: int, goals: list[int]) -> Iterator[tuple]:
    """What a person may do with a thing that they hold."""
    here = world.people[who].place
    for called in _called(world, t):
        for place in goals:
            words = f"carried {called} to the {_place(world, place)}"
            yield "carry", words, _after(_moved(world, who, place), who, it=t)
        words = f"left {called} in the {{place{here}}}"
        yield "leave", words, _after(_put(world, t, "place", here), who, it=t)
        for box, container, containers in _containers(world, here):
            after = replace(_put(world, t, "container", box), containers=containers)
            yield "put", f"put {called} in {container}", _after(after, who, it=None)
    for other, person in enumerate(world.people):
        if other != who and person.place == here:
            also = (f"giver{t}", _name(world, who)), (f"receiver{t}", _name(world, other))
            after = _after(_put(world, t, "person", other, gifts=1), who, other, it=t)
            for called in _called(world, t):
                for receiver in _receiver(world, who, other):
                    yield "give", f"gave {called} to {receiver}", after, also


def _questions(world: World, t: int) -> list[Sentence]:
    thing, noun = world.things[t], f"the {{noun{t}}}"
    holder, place = "Nobody", f"{{{thing.where}{thing.number}}}"
    if thing.where == "person":
        holder = f"{{{_name(world, thing.number)}}}"
        place = f"{{place{world.people[thing.number].place}}}"
    past = f"Who found {noun} ? {{finder{t}}} found it ."
    if thing.gifts == 1:
        past = f"Who gave {noun} to {{receiver{t}}} ? {{giver{t}}} gave it ."
    return [
        Sentence(f"Who has {noun} ? {holder} has it .", world),
        Sentence(f"Where is {noun} ? It is in the {place} .", world),
        Sentence(f"What colour is {noun} ? It is {{colour{t}}} .", world),
        Sentence(past, world),
    ]


def _subject(world: World, who: int) -> list[str]:
    """How the one who acts may be called: by name, and by a pronoun where that is clear."""
    person = world.people[who]
    return [f"{{{_name(world, who)}}}", *[person.pronoun.title()] * _is_clear(world, who)]


def _receiver(world: World, who: int, other: int) -> list[str]:
    """How the one who gets something may be called; *him* can't be the one who gives."""
    one, two = world.people[who].pronoun, world.people[other].pronoun
    is_clear = one != two and _is_clear(world, other)
    return [f"{{{_name(world, other)}}}", *[{"he": "him", "she": "her"}[two]] * is_clear]


def _is_clear(world: World, who: int) -> bool:
    """Whether *he* or *she* can mean only this person, of those in the last sentence."""
    pronoun = world.people[who].pronoun
    return [each for each in world.heard if world.people[each].pronoun == pronoun] == [who]


def _again(world: World, who: int, other: int) -> str:
    """A person once more in one sentence: a pronoun, unless it could mean the other."""
    one, two = world.people[who].pronoun, world.people[other].pronoun
    return one if one != two else f"{{{_name(world, who)}}}"


def _called(world: World, t: int) -> list[str]:
    return [f"the {{noun{t}}}", *["it"] * (world.it == t)]


def _name(world: World, who: int) -> str:
    return f"{world.people[who].pronoun}{who}"


def _places(world: World) -> range:
    """The places of the story, and a new one while there is room."""
    return range(min(world.places + 1, world.limits.places))


def _place(world: World, place: int) -> str:
    return f"{{+place{place}}}" if place == world.places else f"{{place{place}}}"


def _containers(world: World, place: int) -> Iterator[tuple[int, str, tuple[int, ...]]]:
    """The containers at a place, and a new one: number, words, and all containers after that."""
    for box, there in enumerate(world.containers):
        if there == place:
            yield box, f"the {{container{box}}}", world.containers
    new = len(world.containers)
    if new < world.limits.containers:
        yield new, f"a {{+container{new}}}", (*world.containers, place)


def _put(world: World, t: int, where: str, number: int, gifts: int = 0) -> World:
    thing = Thing(where, number, min(world.things[t].gifts + gifts, 2))
    return replace(world, things=(*world.things[:t], thing, *world.things[t + 1 :]))


def _moved(world: World, who: int, place: int) -> World:
    person = world.people[who]._replace(place=place)
    people = (*world.people[:who], person, *world.people[who + 1 :])
    return replace(_seen(world, place), people=people)


def _seen(world: World, place: int) -> World:
    return replace(world, places=max(world.places, place + 1))


def _after(world: World, *heard: int, it: int | None = SAME_IT) -> World:
    """The world after a sentence about these people; one without a thing leaves *it* as it was."""
    return replace(world, heard=heard, it=world.it if it == SAME_IT else it)

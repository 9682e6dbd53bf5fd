"""Reads a story as a person does, from its words alone, and answers its question.

It shares no code with what tells the stories. It knows which names are *he* and which *she*, and
what each verb does. It objects to what a person would object to: words that are no sentence, a
pronoun with no meaning or with two, and somebody who gives away what somebody else has.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from course_utils.stories.words import AT_RANDOM, FILLERS

ANY = {kind: "|".join(words) for kind, words in {**FILLERS, **AT_RANDOM}.items()}
NAME = f"{ANY['he']}|{ANY['she']}"
WHO, THING = f"({NAME}|He|She)", f"(the (?:{ANY['noun']})|it)"
NOUN, PLACE, BOX = f"({ANY['noun']})", f"({ANY['place']})", f"({ANY['container']})"
SIZE = "|".join(size for size in AT_RANDOM["size"] if size)
PRONOUNS = {"he", "she", "him", "her"}
PEOPLE = {*FILLERS["he"], *FILLERS["she"]}


class Objection(ValueError):
    """What is wrong with a story, in words."""


class Reading:
    """What is known after some sentences of a story.

    Raises:
        Objection: at a sentence that a person would not accept.
    """

    def __init__(self, sentences: Sequence[str] = ()) -> None:
        self.place: dict[str, str] = {}  # of people and containers
        self.where: dict[str, str] = {}  # a thing is with a person, in a container or at a place
        self.colour: dict[str, str] = {}
        self.finder: dict[str, str] = {}
        self.giver: dict[tuple[str, str], list[str]] = {}  # of a thing to a person
        self.people: list[str] = []  # of the last sentence
        self.objects: list[str] = []  # of the last sentence that had any
        self.named: list[str] = []  # the people of this sentence so far
        self.mentioned: list[str] = []  # its objects so far
        for sentence in sentences:
            self.hear(sentence)

    def hear(self, sentence: str) -> None:
        """Take in one sentence, without its full stop."""
        for pattern, act in self._SENTENCES:
            found = re.fullmatch(pattern, sentence)
            if found:
                self.named, self.mentioned = [], []
                act(self, *found.groups())
                self.people = self.named
                self.objects = self.mentioned or self.objects
                return
        raise Objection(f"“{sentence}” is no sentence")

    def _comes(self, name: str, place: str) -> None:
        if name in self.place:
            raise Objection(f"{name} has been here before")
        self.place[name] = place
        self._who(name)

    def _rests(self, who: str) -> None:
        self._who(who)

    def _finds(self, who: str, article: str, size: str | None, colour: str, noun: str) -> None:
        first = (size or colour)[0]
        if (article == "an") != (first in "aeiou"):
            raise Objection(f"“{article} {size or colour}”")
        if noun in self.where:
            raise Objection(f"the {noun} has been found before")
        self.finder[noun] = self.where[noun] = self._who(who)
        self.colour[noun] = colour
        self.mentioned.append(noun)

    def _goes(self, who: str, place: str) -> None:
        name = self._who(who)
        if self.place[name] == place:
            raise Objection(f"{name} is in the {place} already")
        self.place[name] = place

    def _carries(self, who: str, thing: str, place: str) -> None:
        self._held(thing, self._who(who))
        self._goes(who, place)
        self.named.pop()

    def _leaves(self, who: str, thing: str, place: str) -> None:
        name = self._who(who)
        if self.place[name] != place:
            raise Objection(f"{name} is not in the {place}")
        self.where[self._held(thing, name)] = place

    def _puts(self, who: str, thing: str, article: str, box: str) -> None:
        name = self._who(who)
        noun = self._held(thing, name)
        if (box in self.place) == (article != "the"):
            raise Objection(f"“{article} {box}”")
        if self.place.setdefault(box, self.place[name]) != self.place[name]:
            raise Objection(f"the {box} is not where {name} is")
        self.where[noun] = box
        self.mentioned.append(box)

    def _takes(self, who: str, thing: str, box: str | None) -> None:
        name, noun = self._who(who), self._thing(thing)
        there = self.where[noun]
        if there != (box or self.place[name]) or self.place.get(there, there) != self.place[name]:
            raise Objection(f"the {noun} is not there")
        self.where[noun] = name
        self.mentioned += [box] if box else []

    def _gives(self, who: str, thing: str, other: str) -> None:
        name = self._who(who)
        noun, receiver = self._held(thing, name), self._who(other)
        self._meet(name, receiver)
        self.where[noun] = receiver
        self.giver.setdefault((noun, receiver), []).append(name)

    def _refuses(self, who: str, other: str, thing: str, again: str) -> None:
        name, holder = self._who(who), self._who(other)
        self._meet(name, holder)
        self._held(thing, holder)
        if again != holder and (self._fits(again, name) or not self._fits(again, holder)):
            raise Objection(f"who is “{again}”?")

    def _meet(self, one: str, other: str) -> None:
        if one == other or self.place[one] != self.place[other]:
            raise Objection(f"{one} and {other} are not in one place")

    def _who(self, word: str) -> str:
        """Whom a name or a pronoun means."""
        meant = [word]
        if word.lower() in PRONOUNS:
            meant = [each for each in self.people if self._fits(word, each)]
            if word in ("him", "her"):
                meant = [each for each in meant if each not in self.named]
        if len(meant) != 1 or meant[0] not in self.place:
            raise Objection(f"who is “{word}”?")
        self.named.append(meant[0])
        return meant[0]

    def _thing(self, words: str) -> str:
        """Which thing a noun or *it* means."""
        meant = self.objects if words == "it" else [words.removeprefix("the ")]
        if len(meant) != 1 or meant[0] not in self.where:
            raise Objection(f"what is “{words}”?")
        self.mentioned.append(meant[0])
        return meant[0]

    def _held(self, words: str, name: str) -> str:
        """A thing that this person must have."""
        noun = self._thing(words)
        if self.where[noun] != name:
            raise Objection(f"{name} does not have the {noun}")
        return noun

    def _fits(self, pronoun: str, name: str) -> bool:
        return (pronoun.lower() in ("he", "him")) == (name in FILLERS["he"])

    def answer(self, question: str) -> str:
        """The answer to a question, without its full stop.

        Raises:
            Objection: when the story does not say, or says two things.
        """
        noun = next((word for word in question.split() if word in self.where), "")
        if not noun:
            raise Objection(f"“{question}” asks about nothing in the story")
        there = self.where[noun]
        if question == f"Who has the {noun} ?":
            return f"{there if there in PEOPLE else 'Nobody'} has it"
        if question == f"Where is the {noun} ?":
            return f"It is in the {self.place[there] if there in PEOPLE else there}"
        if question == f"What colour is the {noun} ?":
            return f"It is {self.colour[noun]}"
        if question == f"Who found the {noun} ?":
            return f"{self.finder[noun]} found it"
        givers = self.giver.get((noun, question.split()[-2]), [])
        if len(givers) != 1 or not question.startswith(f"Who gave the {noun} to "):
            raise Objection(f"“{question}” has {len(givers)} answers")
        return f"{givers[0]} gave it"

    # Each kind of sentence, and what it does.
    _SENTENCES = (
        (f"({NAME}) was in the {PLACE}", _comes),
        (f"{WHO} (?:{ANY['verb']})", _rests),
        (f"{WHO} found (an?) (?:({SIZE}) )?({ANY['colour']}) {NOUN}", _finds),
        (f"{WHO} went to the {PLACE}", _goes),
        (f"{WHO} carried {THING} to the {PLACE}", _carries),
        (f"{WHO} left {THING} in the {PLACE}", _leaves),
        (f"{WHO} put {THING} in (an?|the) {BOX}", _puts),
        (f"{WHO} took {THING}(?: out of the {BOX})?", _takes),
        (f"{WHO} gave {THING} to ({NAME}|him|her)", _gives),
        (f"{WHO} asked ({NAME}) for {THING} , but ({NAME}|he|she) kept it", _refuses),
    )


def is_sentence(words: str) -> bool:
    """Whether words, without their full stop, are a sentence, whatever it says.

    >>> is_sentence("Ann gave it to him"), is_sentence("Ann gave it him to")
    (True, False)
    """
    return any(re.fullmatch(pattern, words) for pattern, _ in Reading._SENTENCES)


def split_story(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """A story's sentences, without full stops, and its questions, each with the answer given.

    Raises:
        Objection: when no question closes it, or an answer is missing.
    """
    *sentences, end = re.split(r" \.(?: |$)", text)
    asked = [each for each in sentences if "?" in each]
    if end or not asked or sentences[-len(asked) :] != asked:
        raise Objection("a story ends with questions and their answers")
    pairs = [each.partition(" ? ") for each in asked]
    if not all(answer for *_, answer in pairs):
        raise Objection("a question has no answer")
    return sentences[: -len(asked)], [(f"{question} ?", answer) for question, _, answer in pairs]


def objection_to(text: str) -> str:
    """What a reader would object to in a whole story, its answers included; "" for nothing."""
    try:
        sentences, asked = split_story(text)
        reading = Reading(sentences)
        for question, answer in asked:
            if reading.answer(question) != answer:
                return f"“{question}” “{answer}”, but: “{reading.answer(question)}”"
    except Objection as objection:
        return str(objection)
    return ""

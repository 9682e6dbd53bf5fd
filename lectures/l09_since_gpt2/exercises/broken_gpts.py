"""Ten broken GPTs: the reader names each fault, and the check answers with the evidence.

Each letter is a stage of its own, so a reader hears of one GPT at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Outcome, describe
from lectures.l09_since_gpt2.experiments.broken_gpts import FAULTS
from lectures.l09_since_gpt2.experiments.broken_runs import (
    EVIDENCE,
    LETTERS,
    exceeds,
    sheet_of,
    sound_spread,
)
from lectures.l09_since_gpt2.experiments.broken_sheets import measures

IN_WORDS = {
    "future": "the share of later words that an output depends on",
    "unseen past": "the share of earlier words that an output does not depend on",
    "entropy at step 0": "the mean entropy of the weights before training",
    "last loss": "the loss of the last 30 steps",
    "shift": "the most weight that moves when all positions are shifted",
    "cache": "the largest gap between word by word and one pass, in nats,",
    "output's input": "the length of what the last matrix reads before training",
    "idlest expert": "the share of the words that the idlest expert computes",
    "own cosine": "the smallest cosine between a word's two vectors",
}


def _fault_of(letter):
    return LETTERS[letter]


def _evidence(letter: str, fault: str) -> str:
    """The number in which a fault would be seen: in this GPT, and in the sound ones."""
    name, _ = EVIDENCE[fault]
    value, spread = measures(sheet_of(letter))[name], sound_spread()[name]
    low, high = (f"{each:.2f}" for each in spread)
    between = f"it is {low}" if low == high else f"it is {low} to {high}"
    return f"{IN_WORDS[name]} is {value:.2f}; in six sound ones {between}"


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    letter = inputs["letter"]
    return {
        "said": _evidence(letter, got) if got in FAULTS else "",
        "seen": _evidence(letter, LETTERS[letter]),
    }


def _missed(letter: str, fault: str) -> str:
    """What the fault would do to its number, and what this GPT has."""
    name, is_larger = EVIDENCE[fault]
    value, low, high = (
        round(number, 2) for number in (measures(sheet_of(letter))[name], *sound_spread()[name])
    )
    way, other = ("larger", "smaller") if is_larger else ("smaller", "larger")
    beyond, opposite = (value > high, value < low)[:: 1 if is_larger else -1]
    ending = "That is as in a sound one."
    if beyond:
        ending = f"A little {way} is not enough."
    if opposite:
        ending = f"It is {other}."
    return f"That makes one number much {way}. Here {_evidence(letter, fault)}. {ending}"


@dataclass(frozen=True)
class Naming(Exercise):
    """An exercise whose answer is one of the ten names; a wrong one hears of its evidence."""

    def _describe(self, outcomes: list[Outcome], expected: list[Outcome], wrong: list[int]) -> str:
        outcome, letter = outcomes[wrong[0]], self.probes[wrong[0]]["letter"]
        got = outcome.value
        if letter != "A" and got is None and isinstance(outcome.error, KeyError | None):
            done = "A" if letter == "B" else f"A to {chr(ord(letter) - 1)}"
            return f"{done}: right. GPT {letter} has no name yet."
        if outcome.error is not None:
            return super()._describe(outcomes, expected, wrong)
        if not isinstance(got, str) or got not in FAULTS:
            names = ", ".join(FAULTS)
            return f"GPT {letter}: you gave {describe(got)}, but the ten names are: {names}."
        begins = f"GPT {letter}: you say “{got}”."
        if not exceeds(got, sheet_of(letter)):
            return f"{begins} {_missed(letter, got)}"
        seen = _evidence(letter, LETTERS[letter])
        return (
            f"{begins} Its sign is there: {_evidence(letter, got)}. But it has another sign, which "
            f"that fault does not have: {seen}."
        )


NAME = Naming(
    title="Ten broken GPTs",
    difficulty=3,
    minutes=30,
    function="fault_of",
    reference=_fault_of,
    probes=({"letter": "A"},),
    facts=_facts,
    praise="All ten. Four of them (A, D, G, J) have a training loss as good as a sound one's: "
    "a curve that falls is no proof, but each fault has one small measurement that shows it.",
)
STAGES = {"A": NAME} | {
    letter: NAME.stage(probes=({"letter": letter},)) for letter in list(LETTERS)[1:]
}


@STAGES["A"].mistake()
def a_few_experts_are_a_rate(letter):
    """GPT A: you say “learning rate”. A wrong rate spoils the loss first, and leaves nobody
    without work: here {seen}."""
    return "learning rate"


@STAGES["B"].mistake()
def peaked_weights_are_a_rate(letter):
    """GPT B: you say “learning rate”. That acts from the first step on, and not before it. Here
    {seen}."""
    return "learning rate"


@STAGES["C"].mistake()
def a_low_loss_is_no_mask(letter):
    """GPT C: you say “no causal mask”, as its loss is too good. It does see its answer, but not in
    the future: {said}. Where else can an answer be?"""
    return "no causal mask"


@STAGES["F"].mistake()
def blocks_are_the_cache(letter):
    """GPT F: you say “positions off by one in the cache”. Its cache does differ: {said}. But
    look at one pass, which has no cache: {seen}."""
    return "positions off by one in the cache"


@STAGES["F"].mistake()
def blocks_are_no_mask(letter):
    """GPT F: you say “no causal mask”. Its map has too little and not too much: {said}, and
    {seen}."""
    return "no causal mask"


@STAGES["H"].mistake()
def pairs_are_the_cache(letter):
    """GPT H: you say “positions off by one in the cache”. Read word by word it is the same: {said}.
    The trouble is there in one pass: {seen}."""
    return "positions off by one in the cache"


@STAGES["I"].mistake()
def a_leak_is_not_shifted(letter):
    """GPT I: you say “unshifted targets”, as its loss is too good. Such a GPT would find its answer
    at its own position. Here {seen}."""
    return "unshifted targets"


@STAGES["J"].mistake()
def the_cache_is_the_pairing(letter):
    """GPT J: you say “RoPE pairing”. In one pass its positions are sound: {said}. It goes wrong
    elsewhere: {seen}."""
    return "RoPE pairing"

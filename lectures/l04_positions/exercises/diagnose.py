"""Exercise 2: three programs have loaded one checkpoint; which of them turns the wrong pairs?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_utils.positions import apply_rope
from course_utils.teaching.exercise import Exercise

RIGHT, BOTH, ONE = "right", "both wrong", "one wrong"
PAIRINGS = {
    RIGHT: ("interleaved", "interleaved"),
    BOTH: ("half", "half"),
    ONE: ("interleaved", "half"),
}


@dataclass(frozen=True)
class Program:
    """The score of a query at position m and a key at n, in pairs that only the program knows."""

    name: str
    kind: str

    def __call__(self, q: Tensor, k: Tensor, m: int, n: int) -> float:
        at = zip((q, k), (m, n), PAIRINGS[self.kind], strict=True)
        turned = [
            apply_rope(x[None].double(), torch.tensor([position]), pairing=pairing)[0]
            for x, position, pairing in at
        ]
        return float(turned[0] @ turned[1])

    def __repr__(self) -> str:
        return f"{self.name}'s program"


def three_programs() -> tuple[Program, ...]:
    """Ada's, Ben's and Cleo's."""
    return Program("Ada", BOTH), Program("Ben", RIGHT), Program("Cleo", ONE)


def _is_relative(score: Callable[..., float], D: int) -> bool:
    """Whether two vectors keep their score when both move by ten."""
    q, k = torch.linspace(-1.0, 1.3, D), torch.linspace(0.9, -1.6, D).sin()
    return abs(score(q, k, 5, 2) - score(q, k, 15, 12)) < 1e-6


def _are_a_pair(score: Callable[..., float], D: int, one: int, other: int) -> bool:
    """Whether the second coordinate hears of the first when the positions differ."""
    e = torch.eye(D)
    return abs(score(e[one], e[other], 5, 2)) > 1e-6


def _diagnose(score, D):
    if not _is_relative(score, D):
        return ONE
    return RIGHT if _are_a_pair(score, D, 0, 1) else BOTH


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    return {"who": str(inputs["score"])}


DIAGNOSE = Exercise(
    title="Which program is wrong?",
    difficulty=3,
    minutes=10,
    function="diagnose",
    reference=_diagnose,
    probes=tuple({"score": program, "D": D} for D in (8, 12) for program in three_programs()),
    parts=("diagnosis",),
    facts=_facts,
    praise="Shift both positions to see whether the score is relative; give unit vectors to see "
    "which coordinates make a pair. Nothing else would have told you: all three run.",
)


@DIAGNOSE.mistake()
def relative_is_right(score, D):
    """{who} is relative, and you call it right. Programs with wrong pairs on both sides are
    relative too, at other speeds. Find out which coordinates it pairs: with two different unit
    vectors, q = e₀ and k = e₁, the score is 0 unless 0 and 1 make a pair."""
    return RIGHT if _is_relative(score, D) else ONE


@DIAGNOSE.mistake()
def pairs_are_all(score, D):
    """You ask which coordinates make a pair, and {who} fools you: it pairs q and k in different
    ways. Move both positions by 10, with other vectors than unit ones: does the score stay?"""
    return RIGHT if _are_a_pair(score, D, 0, 1) else BOTH


@DIAGNOSE.mistake()
def both_and_one_exchanged(score, D):
    """You have the two mistakes exchanged. A score that changes when both positions move is "one
    wrong": q and k disagree about the pairs."""
    return {RIGHT: RIGHT, BOTH: ONE, ONE: BOTH}[_diagnose(score, D)]


@DIAGNOSE.mistake()
def right_and_both_exchanged(score, D):
    """ "right" and "both wrong" are exchanged: the checkpoint was trained with neighbours as pairs,
    (0, 1), (2, 3), …"""
    return {RIGHT: BOTH, BOTH: RIGHT, ONE: ONE}[_diagnose(score, D)]


@DIAGNOSE.mistake()
def pairs_at_equal_positions(score, D):
    """Your test of the pairs gets q · k from {who}, whatever its pairs. Either both vectors are at
    the same position, where nothing turns against anything; or they have two numbers that no scheme
    pairs."""
    return {RIGHT: BOTH, BOTH: BOTH, ONE: ONE}[_diagnose(score, D)]


@DIAGNOSE.mistake()
def all_are_one_wrong(score, D):
    """You call {who} "one wrong", as you do every program; its score stays when both positions
    move. Do you compare with `==` or `!=`? Computed numbers are rounded: ask whether the two scores
    differ by more than 1e-4."""
    return ONE

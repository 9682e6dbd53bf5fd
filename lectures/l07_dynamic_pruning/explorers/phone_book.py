"""Lecture 07: which part of a layer keeps which number of the telephone book."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice
from lectures.l07_dynamic_pruning.experiments.phone_books import (
    BYTES,
    EXPERTS,
    UNITS,
    VISITS,
    multiplications,
    parameters,
    phone_book,
)


@dataclass(frozen=True)
class PhoneBookState:
    """A trained layer: what it knows, and what a name costs.

    `names` is packed as `phone_book` says. `stored` and `read` are bytes: of the whole layer, and
    of the part that one name needs.
    """

    names: np.ndarray
    experts: int
    visits: int
    units: int
    known: float
    work: int
    stored: int
    read: int


class PhoneBook(Explorer):
    """Hidden units, experts, visits → what is known, by whom, and what that costs."""

    title = "Which part of the network keeps this number?"
    inputs = {
        "units": Choice("hidden units", UNITS, 8, in_picture=True),
        "experts": Choice("cut into", EXPERTS, 1, in_picture=True),
        "visits": Choice("a name visits", VISITS, 1, in_picture=True),
    }
    presets = {
        "8 hidden units": {"units": 8, "experts": 1, "visits": 1},
        "32 hidden units": {"units": 32, "experts": 1, "visits": 1},
        "128 hidden units": {"units": 128, "experts": 1, "visits": 1},
        "8 experts, 2 for each name": {"units": 128, "experts": 8, "visits": 2},
        "8 experts, 1 for each name": {"units": 128, "experts": 8, "visits": 1},
    }
    view = "phone_book.js"
    reading = (
        "Each square is a person: the row is the first name, the column the last name. It is full "
        "where the network knows the number, and pale where it does not. Its colour is the first "
        "expert that the name visits. Point at a person, or move with the arrow keys: everybody "
        "who visits the same expert lights up. Multiplications and bytes are those of the "
        "layer, with its router and without the vectors of the names. Each layer was trained "
        "once, from one seed, with the loop of the lecture."
    )

    def compute(self, units: int, experts: int, visits: int) -> PhoneBookState:
        names = phone_book(units, experts, visits).numpy()
        stored, read = parameters(units, experts, visits)
        return PhoneBookState(
            names=names,
            experts=experts,
            visits=min(visits, experts),
            units=units,
            known=float((names & 1).mean()),
            work=multiplications(units, experts, visits),
            stored=BYTES * stored,
            read=BYTES * read,
        )

    def caption(self, state: PhoneBookState) -> str:
        who = f"{state.units} hidden units"
        if state.experts > 1:
            who += f" in {state.experts} experts, {state.visits} for each name"
        people = number(state.names.size * state.known)
        return (
            f"{who}: [b:{people}] of 4,096 numbers known, for {number(state.work)} "
            "multiplications each."
        )

"""The stored trainings of the small GPT: sound ones, and ten with one mistake each, by letter.

tools/scripts/train_broken_gpts.py makes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

import numpy as np

from course_utils.data.package_files import read_packaged
from lectures.l09_since_gpt2.experiments.broken_gpts import FAULTS, SOUND, Run, train
from lectures.l09_since_gpt2.experiments.broken_sheets import (
    Sheet,
    measure_end,
    measure_start,
    measures,
    packed,
    unpacked,
)

BROKEN_FILE = "broken_gpts.json"
SOUND_SEEDS, SEEDS = range(6), (1, 2, 3)
MEAN_OF = 10  # steps for each loss that is stored
NOTHING = 0.05  # a gap that counts as none where all sound ones are equal
LETTERS = {
    "A": "dead experts",
    "B": "no scaling",
    "C": "unshifted targets",
    "D": "norm missing",
    "E": "learning rate",
    "F": "wrong head split",
    "G": "tied weights untied",
    "H": "RoPE pairing",
    "I": "no causal mask",
    "J": "positions off by one in the cache",
}
# For each fault the measure that shows it, and whether it is larger than in a sound one.
EVIDENCE = {
    "no causal mask": ("future", True),
    "wrong head split": ("unseen past", True),
    "no scaling": ("entropy at step 0", False),
    "unshifted targets": ("last loss", False),
    "RoPE pairing": ("shift", True),
    "positions off by one in the cache": ("cache", True),
    "norm missing": ("output's input", False),
    "dead experts": ("idlest expert", False),
    "tied weights untied": ("own cosine", False),
    "learning rate": ("last loss", True),
}


class Stored(NamedTuple):
    """A training of the file."""

    fault: str
    seed: int
    sheet: Sheet


def trainings() -> Iterator[tuple[str, int]]:
    """Each training that is stored: its fault and its seed. No two have the same seed."""
    yield from ((SOUND, seed) for seed in SOUND_SEEDS)
    yield from ((each, 100 + 10 * i + seed) for i, each in enumerate(FAULTS) for seed in SEEDS)


def measured(fault: str, seed: int) -> dict[str, object]:
    """Train one GPT, and return its sheet as the file has it."""
    start: Sheet = {}
    run = train(fault, seed, begun=lambda model: start.update(measure_start(model)))
    return as_stored(fault, seed, start, run)


def as_stored(fault: str, seed: int, start: Sheet, run: Run) -> dict[str, object]:
    """A training as the file has it."""
    losses = np.array(run.losses).reshape(-1, MEAN_OF).mean(1)
    sheet = {"loss": losses, **start, **measure_end(run.model)}
    return {"fault": fault, "seed": seed, **packed(sheet)}


@cache
def stored_runs() -> tuple[Stored, ...]:
    """Every training of the file."""
    return tuple(
        Stored(run.pop("fault"), run.pop("seed"), unpacked(run))
        for run in json.loads(read_packaged(BROKEN_FILE))
    )


def runs_of(fault: str) -> list[Stored]:
    """The trainings with this fault."""
    return [run for run in stored_runs() if run.fault == fault]


def sheet_of(letter: str) -> Sheet:
    """The first training of a letter; of any other name, the first sound one."""
    return runs_of(LETTERS.get(letter, SOUND))[0].sheet


def sound_band(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest values of the sound ones, number by number."""
    values = np.stack([run.sheet[name] for run in runs_of(SOUND)])
    return values.min(0), values.max(0)


@cache
def sound_spread() -> Mapping[str, tuple[float, float]]:
    """Of each measure, the smallest and the largest value of the sound ones."""
    rows = [measures(run.sheet) for run in runs_of(SOUND)]
    return {name: (min(r[name] for r in rows), max(r[name] for r in rows)) for name in rows[0]}


def exceeds(fault: str, sheet: Sheet) -> bool:
    """Whether this sheet has the fault's evidence: beyond every sound one by their whole spread."""
    name, is_larger = EVIDENCE[fault]
    low, high = sound_spread()[name]
    room = max(high - low, NOTHING)
    value = measures(sheet)[name]
    return value > high + room if is_larger else value < low - room

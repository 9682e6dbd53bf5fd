"""What one claim's run measures: the cells of its lecture, at a seed and a setting."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from course_utils.teaching.claims import Claim, Numbers, ProgramClaim, Setting, Statement
from course_utils.threads import one_thread
from course_utils.training import learning_rates_times
from lectures import COURSE, Lecture
from tools.claims.cells import CellError, run_cells
from tools.notebook_file import LECTURES

AS_STATED = Setting("as the lecture has it")


class ClaimError(Exception):
    """A claim cannot be judged; the message says why."""


def claims_of(lecture: Lecture) -> tuple[Statement, ...]:
    """Return the claims of a lecture."""
    module = lecture.module("claims")
    return module.CLAIMS if module else ()


def claims_named(stem: str, names: Sequence[str]) -> tuple[Lecture, list[Statement]]:
    """Return a lecture, and those of its claims."""
    lecture = next(lecture for lecture in COURSE if lecture.stem == stem)
    return lecture, [claim for claim in claims_of(lecture) if claim.name in names]


def what_runs(claim: Statement) -> tuple:
    """What a claim's runs execute: claims of a lecture in which that is equal share their runs."""
    if isinstance(claim, Claim):
        return claim.cells, claim.budget
    assert isinstance(claim, ProgramClaim)
    return claim.run, claim.budget


def settings_of(claim: Statement) -> list[Setting]:
    """Return the settings at which a claim is run, the lecture's own first."""
    control = getattr(claim, "control", "")
    return [AS_STATED, *claim.settings, *([control] if isinstance(control, Setting) else [])]


def measure(
    stem: str,
    claims: Sequence[Any],
    seeds: Sequence[int],
    setting: Setting = AS_STATED,
    *,
    quick: bool = False,
) -> dict[str, list[Numbers]]:
    """Return the numbers of each seed, for claims that share their runs, however many threads."""
    first = claims[0]
    with one_thread():
        if isinstance(first, ProgramClaim):
            with learning_rates_times(setting.rate):
                budget = (first.quick if quick else first.budget) * setting.budget
                found = first.run(seeds, budget, **setting.arguments)
            tables = {claim.name: found for claim in claims}
        else:
            tables = {claim.name: [] for claim in claims}
            for seed in seeds:
                cell = run_of(stem, claims, seed, setting, quick=quick)
                for claim in claims:
                    tables[claim.name].append(read(claim, cell))
    return {
        name: [{key: plain(number) for key, number in each.items()} for each in table]
        for name, table in tables.items()
    }


def plain(number: Any) -> float:
    """A number, or the one number of a tensor or an array."""
    return float(number.item() if hasattr(number, "item") else number)


def run_of(stem: str, claims: Sequence[Any], seed: int, setting: Setting, *, quick: bool) -> Any:
    """Run the cells that these claims share, and return what they leave."""
    changes: dict[str, Callable[[Any], Any]] = {"SEED": lambda _: seed}
    if setting.rate != 1:
        changes["RATE"] = lambda rate: times(rate, setting.rate)
    if (budget := claims[0].budget * setting.budget) != 1:
        changes["STEPS"] = lambda steps: times(steps, budget)
    values = {name: value for claim in claims for name, value in claim.quick.items() if quick}
    for name, value in {**values, **setting.arguments}.items():
        changes[name] = lambda _, value=value: value
    try:
        return run_cells(LECTURES / f"{stem}.ipynb", claims[0].cells, changes, setting.edits)
    except CellError as error:
        raise ClaimError(f"{claims[0].name}, {setting.name}: {error}") from error


def times(value: Any, factor: float) -> Any:
    """Multiply a number, or each number of a tuple or a dictionary."""
    if isinstance(value, dict):
        return {name: times(each, factor) for name, each in value.items()}
    if isinstance(value, tuple):
        return tuple(times(each, factor) for each in value)
    return value * factor


def read(claim: Claim, cell: Any) -> Numbers:
    """Take a claim's numbers from what its cells left."""
    try:
        return {**claim.read(cell)}
    except (AttributeError, LookupError) as error:
        raise ClaimError(
            f"{claim.name}: the cells {list(claim.cells)} do not leave what it reads: {error!r}"
        ) from error


def check_numbers(claim: Statement, numbers: Numbers) -> None:
    """Check that a run measured what the claim names.

    Raises:
        ClaimError: if a name is missing, or a number is NaN or infinite.
    """
    if missing := {claim.effect, claim.rival or claim.effect} - numbers.keys():
        raise ClaimError(f"{claim.name}: {missing} is not among {sorted(numbers)}")
    if odd := [name for name, number in numbers.items() if not math.isfinite(number)]:
        raise ClaimError(f"{claim.name}: {odd} is no finite number")


def check_seeds_apart(stem: str, claims: Sequence[Statement], a: int, b: int) -> None:
    """Check at the quick budget that a run depends on its own seed, and on nothing else.

    Raises:
        ClaimError: if it does not.
    """
    alone, again = (measure(stem, claims, [a], quick=True) for _ in range(2))
    beside = measure(stem, claims, [b, a], quick=True)
    for claim in claims:
        [first], [second], (other, with_other) = (
            each[claim.name] for each in (alone, again, beside)
        )
        check_numbers(claim, first)
        if first != second:
            raise ClaimError(f"{claim.name}: seed {a} gave {first}, and run again {second}")
        # Side by side, sums are made in another order: more than rounding would be a leak.
        if any(abs(first[key] - with_other[key]) > 1e-3 * max(1, abs(first[key])) for key in first):
            raise ClaimError(
                f"{claim.name}: seed {a} gave {first} alone, and {with_other} beside seed {b}"
            )
        if first == other:
            raise ClaimError(f"{claim.name}: seeds {a} and {b} both gave {first}: no seed is used")

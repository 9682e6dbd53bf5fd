"""Claims that rest on a run, and how often they held when somebody else chose the seeds.

A lecture's ``claims.py`` declares them. ``make claims`` runs each on fresh seeds, and at settings
that its author did not choose, and keeps what came out in ``lectures/replications.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from IPython.display import Markdown

REPLICATIONS = Path(__file__).resolve().parents[2] / "lectures" / "replications.json"
Numbers = dict[str, float]
Z_95 = 1.959963984540054


class DamagedError(Exception):
    """What was measured cannot be read; the message says what brings it back."""


@dataclass(frozen=True)
class Setting:
    """One choice of the author's, made otherwise.

    Attributes:
        name: as the table says it.
        rate: factor on every learning rate: on what the cells call ``RATE``.
        budget: factor on the budget: on what the cells call ``STEPS``.
        arguments: other values of what the cells name, ``{"WIDTH": 64}``; of a program's arguments.
        edits: passages of the cells, each found once in them, and what stands there instead.
        seeds: on how many of the seeds it is tried.
    """

    name: str
    rate: float = 1.0
    budget: int = 1
    arguments: Mapping[str, Any] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    seeds: int = 6


RATES = (Setting("⅓ × rate", rate=1 / 3), Setting("3 × rate", rate=3.0))
LONGER = Setting("4 × steps", budget=4)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A sentence whose truth depends on a trained or random run.

    Attributes:
        name: what it is called in replications.json; no other claim of the course has it.
        sentence: the claim in full, with its thresholds; understood without its lecture.
        holds: whether the numbers of one seed bear the sentence out.
        effect: the name of the number that says how large the effect is.
        unit: the unit of the effect and of its rival.
        settings: what else it is run at.
        rival: the name of the number that a sceptic would compare the effect with, if there is one.
        at_stake: whether a run had something to lose. Where it had not, it counts neither way.
    """

    name: str
    sentence: str
    holds: Callable[[Numbers], bool]
    effect: str
    unit: str
    settings: tuple[Setting, ...]
    rival: str = ""
    at_stake: Callable[[Numbers], bool] = lambda numbers: True

    def judge(self, numbers: Numbers) -> bool | None:
        """Whether the claim held in a run; None where the run had nothing to lose."""
        return bool(self.holds(numbers)) if self.at_stake(numbers) else None


@dataclass(frozen=True, kw_only=True)
class Claim(Statement):
    """A statement on what some cells of its lecture do: they are run, and nothing beside them.

    Attributes:
        cells: the ids of the cells that a run executes, in this order.
        read: takes the numbers from what the cells leave: ``lambda cell: {"loss": cell.loss}``.
        control: the same cells with the mechanism taken away, so that the sentence must fail; or
            why no such run makes sense.
        quick: values of what the cells name with which a run takes a second or less.
        budget: how many times the cells' own ``STEPS`` a run has.
    """

    cells: tuple[str, ...]
    read: Callable[[Any], Mapping[str, Any]]  # numbers, or tensors of one
    control: Setting | str
    quick: Mapping[str, Any] = field(default_factory=dict)
    budget: int = 1


@dataclass(frozen=True, kw_only=True)
class ProgramClaim(Statement):
    """A statement on a program of its lecture's package, which no cell shows.

    Attributes:
        run: ``run(seeds, budget)`` returns for each seed the numbers that were measured, by a name
            that a reader understands. Each depends on its own seed alone.
        budget: how many steps, or draws, a run has.
        quick: a budget of a second or so, which keeps the code alive in ``make test``.
    """

    run: Callable[..., Sequence[Mapping[Any, Any]]]  # numbers, or tensors of one
    budget: int
    quick: int


@dataclass(frozen=True)
class Replication:
    """What the runs of one claim gave.

    Attributes:
        budget: of a run.
        seeds: of the runs.
        holds: for each seed whether the claim held; None where there was nothing to lose.
        effect: for each seed.
        rival: for each seed; empty if the claim has none.
        settings: by name, as ``holds``, for the first of the seeds.
        control: the same without the mechanism; empty if the claim has no control.
    """

    budget: int
    seeds: list[int]
    holds: list[bool | None]
    effect: list[float]
    rival: list[float]
    settings: dict[str, list[bool | None]]
    control: list[bool | None] = field(default_factory=list)

    @property
    def held(self) -> int:
        """In how many runs it held."""
        return self.holds.count(True)

    @property
    def tried(self) -> int:
        """How many runs could have gone either way."""
        return len(self.holds) - self.holds.count(None)

    @property
    def rate(self) -> str:
        """How often it held, as a lecture says it."""
        return rate(self.holds)

    @property
    def elsewhere(self) -> str:
        """How often it held at each other setting."""
        return "; ".join(f"{name}: {rate(holds)}" for name, holds in self.settings.items())

    def row(self, claim: Statement) -> str:
        """A row of a Markdown table."""
        held = self.rate
        if self.tried:
            low, high = wilson_interval(self.held, self.tried)
            held += f" ({low:.2f} to {high:.2f})"
        if idle := self.holds.count(None):
            held += f"; {idle} more had nothing to lose"
        effect = f"{claim.effect}: {spread(self.effect)} {claim.unit}"
        if self.rival:
            effect += f"<br>{claim.rival}: {spread(self.rival)}"
        control = getattr(claim, "control", "")
        if isinstance(control, Setting):
            control = f"{control.name}: {rate(self.control)}"
        cells = (claim.sentence, held, self.elsewhere, control, effect)
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


HEADER = (
    "| claim | held (95 % interval of the rate) | held elsewhere | held without what it is about "
    "| effect, and its rival: median (quartiles) |\n"
    "| --- | --- | --- | --- | --- |"
)


def rate(holds: Sequence[bool | None]) -> str:
    """Return how often a claim held, of the runs that had something to lose.

    >>> rate([True, None, False, True])
    '2 of 3'
    >>> rate([None, None])
    'not at stake'
    """
    tried = len(holds) - holds.count(None)
    return f"{holds.count(True)} of {tried}" if tried else "not at stake"


def wilson_interval(held: int, tried: int) -> tuple[float, float]:
    """Return the 95 % interval of a rate of which ``held`` of ``tried`` runs were seen.

    (p + z²/2n ± z √(p (1 − p)/n + z²/4n²)) / (1 + z²/n), with p = held / tried, n = tried, z 1.96.
    Unlike p ± z √(p (1 − p)/n) it does not call 12 of 12 certain.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.

    >>> [round(end, 2) for end in wilson_interval(12, 12)]
    [0.76, 1.0]
    """
    p, share = held / tried, Z_95**2 / tried
    half = math.sqrt(Z_95**2 * p * (1 - p) / tried + share**2 / 4)
    return (p + share / 2 - half) / (1 + share), (p + share / 2 + half) / (1 + share)


def spread(values: Sequence[float]) -> str:
    """Return median and quartiles in three significant digits.

    >>> spread([1.0, 2.0, 3.0, 4.0, 500.0])
    '3 (2 to 4)'
    """
    low, _, high = quantiles(values, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return f"{median(values):.3g} ({low:.3g} to {high:.3g})"


@cache
def read_replications(path: Path = REPLICATIONS) -> dict[str, Replication]:
    """Return what ``make claims`` has measured, by the claims' names.

    Raises:
        DamagedError: if the file is damaged.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: Replication(**fields) for name, fields in content.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise DamagedError(f"{path} is damaged: `git checkout {path}` brings it back") from error


def show_claims(claims: Iterable[Statement]) -> Markdown:
    """The table of these claims: how often each held, here and at other settings."""
    replications = read_replications()
    rows = [replications[claim.name].row(claim) for claim in claims]
    return Markdown("\n".join([HEADER, *rows]))

"""Claims that rest on a run, and how often they held when somebody else chose the seeds.

A lecture's ``claims.py`` declares them; ``make claims`` runs each on fresh seeds and keeps what
came out in ``lectures/claims.json``; ``show_claims`` is the table that a lecture shows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from IPython.display import Markdown

__all__ = ["Claim", "Record", "read_records", "show_claims", "wilson_interval"]

RECORDS = Path(__file__).resolve().parents[1] / "lectures" / "claims.json"
RATE = "{held} of {tried}"
Numbers = dict[str, float]
Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Claim:
    """A sentence whose truth depends on a trained or random run.

    Attributes:
        name: what it is called in claims.json; no other claim of the course has it.
        sentence: as the lecture has it, word for word. Where it holds in fewer than 9 of 10 runs it
            must give its rate: ``{held} of {tried}`` stands for that.
        run: ``run(seeds, budget)`` returns for each seed the numbers that were measured, by a name
            that a reader understands. Each depends on its own seed alone.
        holds: whether the numbers of one seed bear the sentence out.
        effect: the name of the number that says how large the effect is.
        baseline: the name of the number that a sceptic would put beside it.
        budget: how many steps, or draws, a run has; where the sentence says *cannot* or *never*,
            several times those of the lecture.
        quick: a budget of a second or so, which keeps the code alive in ``make test``.
    """

    name: str
    sentence: str
    run: Callable[[Sequence[int], int], Sequence[Mapping[Any, Any]]]  # numbers, or tensors of one
    holds: Callable[[Numbers], bool]
    effect: str
    baseline: str
    budget: int
    quick: int

    @property
    def states_its_rate(self) -> bool:
        """Whether the sentence says how often it held."""
        return RATE in self.sentence

    def stated(self, record: Record) -> str:
        """The sentence with its rate filled in."""
        return self.sentence.format(held=record.held, tried=record.tried)


@dataclass(frozen=True)
class Record:
    """What the runs of one claim gave: whether it held, and the numbers, for each seed."""

    budget: int
    seeds: list[int]
    holds: list[bool]
    effect: list[float]
    baseline: list[float]

    @property
    def held(self) -> int:
        """In how many runs it held."""
        return sum(self.holds)

    @property
    def tried(self) -> int:
        """How many runs there were."""
        return len(self.holds)

    def row(self, claim: Claim) -> str:
        """A row of a Markdown table."""
        low, high = wilson_interval(self.held, self.tried)
        effect = f"{claim.effect}: {spread(self.effect)}"
        baseline = f"{claim.baseline}: {spread(self.baseline)}"
        rate = f"{self.held} of {self.tried} ({low:.2f} to {high:.2f})"
        sentence = claim.stated(self).replace("|", r"\|")
        return f"| {sentence} | {rate} | {effect} | {baseline} |"


HEADER = (
    "| claim | held (95 % interval of the rate) | effect, median (quartiles) | beside it |\n"
    "| --- | --- | --- | --- |"
)


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
def read_records(path: Path = RECORDS) -> dict[str, Record]:
    """Return what ``make claims`` has measured, by the claims' names."""
    content = json.loads(path.read_text(encoding="utf-8"))
    return {name: Record(**fields) for name, fields in content.items()}


def show_claims(claims: Iterable[Claim]) -> Markdown:
    """The table of these claims: how often each held, its effect, and what stands beside it."""
    records = read_records()
    rows = [records[claim.name].row(claim) for claim in claims]
    return Markdown("\n".join([HEADER, *rows]))

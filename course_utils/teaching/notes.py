"""Source notes: where the lectures this course follows and a measurement disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course_utils.teaching.cards import card, section


@dataclass(frozen=True)
class SourceNote:
    """One row of the course's corrections, beside the numbers of the cell that shows it."""

    row: int
    claim: str
    measured: str
    holds: str

    def parts(self) -> tuple[tuple[str, str], ...]:
        """The three labelled sentences, in reading order."""
        return (
            ("What the source text says", self.claim),
            ("What a run shows", self.measured),
            ("What holds", self.holds),
        )

    def __repr__(self) -> str:
        body = "\n".join(f"  {heading}: {text}" for heading, text in self.parts())
        return f"Source note {self.row}\n{body}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        sections = "".join(section(heading, text) for heading, text in self.parts())
        title = f"<div><strong>Source note {self.row}</strong></div>"
        return {"text/html": card(title + sections, tone="careful"), "text/plain": repr(self)}


def source_note(row: int, *, claim: str, measured: str, holds: str) -> SourceNote:
    """A card: what the source text says, what a run shows, what holds.

    Args:
        row: the number of the correction, from 1.
        claim: what the source text says.
        measured: a sentence made from numbers that the cell has just computed.
        holds: the corrected statement.

    >>> source_note(2, claim="3 steps", measured="7 steps", holds="log needs dilation")
    Source note 2
      What the source text says: 3 steps
      What a run shows: 7 steps
      What holds: log needs dilation
    """
    return SourceNote(row, claim, measured, holds)

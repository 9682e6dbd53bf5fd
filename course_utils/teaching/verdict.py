"""``Verdict``: what a check says about an answer, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course_utils.teaching.cards import card, inline


@dataclass(frozen=True)
class Verdict:
    """The result of a check; true when the answer passed.

    Attributes:
        passed: the answer is right on every probe.
        started: the stub has been changed.
        message: the diagnosis, one or more sentences.
        exercise: title, difficulty and minutes of the exercise.
        picture: what is shown below the words, as HTML.

    >>> Verdict(False, True, "You gave 8, expected 64.", "Score variance")
    Not yet. You gave 8, expected 64.
    """

    passed: bool
    started: bool
    message: str
    exercise: str = ""
    picture: str = ""

    def __bool__(self) -> bool:
        return self.passed

    @property
    def word(self) -> str:
        """The verdict in a word or two."""
        if self.passed:
            return "Passed"
        return "Not yet" if self.started else "Not started"

    def __repr__(self) -> str:
        return f"{self.word}. {self.message}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        tone = "good" if self.passed else "careful" if self.started else "neutral"
        title = f" <em>{inline(self.exercise)}</em>" if self.exercise else ""
        body = (
            f"<div><strong>{self.word}.</strong>{title}</div>"
            f'<div style="margin: 6px 0;">{inline(self.message)}</div>{self.picture}'
        )
        return {"text/html": card(body, tone=tone, role="status"), "text/plain": repr(self)}

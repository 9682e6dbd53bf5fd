"""The parts of the reader's GPT: theirs where they have built them, ours where they have not."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.part_map import BROKEN, OURS, YOURS, draw_map
from course_utils.teaching.parts import FILE, PartsError, judge_alone, my_parts
from lectures import COURSE, Lecture

__all__ = ["Parts", "collect_parts", "judge_part", "parts_of_the_course"]


class Parts:
    """Each part as an attribute, and a table of whose it is."""

    def __init__(
        self,
        functions: Mapping[str, Callable[..., Any]],
        rows: list[tuple[str, str, str]],  # name, lecture, and whose it is
        problem: str = "",  # what is to be said about `my_gpt.py`
    ) -> None:
        vars(self).update(functions)
        self._rows, self._problem = rows, problem

    def __repr__(self) -> str:
        lines = [f"{name:12} lecture {lecture}   {whose}" for name, lecture, whose in self._rows]
        return "\n".join([*lines, *filter(None, [self._problem])])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """The table, and where there is HTML a map above it."""
        states = {
            name: {"yours": YOURS, "ours": OURS}.get(whose, BROKEN) for name, _, whose in self._rows
        }
        table = f"<pre>{html.escape(repr(self))}</pre>"
        return {"text/html": draw_map(states) + table, "text/plain": repr(self)}


def parts_of_the_course(
    file: str | None = FILE,  # which keeps the part; None for any
) -> Iterator[tuple[Lecture, Exercise]]:
    """Yield the exercises that build a part, each with its lecture, in the course's order."""
    for lecture in COURSE:
        for each in getattr(lecture.module("exercises"), "EXERCISES", ()):
            if each.kept_as and file in (None, each.kept_in.name):
                yield lecture, each


def judge_part(exercise: Exercise, mine: Mapping[str, Any]) -> tuple[str, str]:
    """Return how a part is, and what its check says where it does not pass."""
    if exercise.kept_as not in mine:
        return "not built yet", ""
    try:
        verdict = judge_alone(exercise.part, mine[exercise.kept_as])
    except PartsError as error:
        return "takes too long", str(error)
    return ("yours", "") if verdict.passed else ("does not pass", verdict.message)


def collect_parts(
    folder: Path | None = None,  # of the reader's copies; None is where this Python runs
) -> Parts:
    """Return every part: the reader's if it is in `my_gpt.py` and passes its check, else ours."""
    problem = ""
    try:
        mine = my_parts(folder)
    except PartsError as error:
        mine, problem = {}, f"my_gpt.py cannot be used: {error}"
    functions, rows = {}, []
    for lecture, exercise in parts_of_the_course():
        name = exercise.kept_as
        state, message = judge_part(exercise, mine)
        if state == "takes too long":
            problem += f"my_gpt.py: {message}\n"
        functions[name] = mine[name] if state == "yours" else exercise.reference
        whose = {"yours": "yours", "not built yet": "ours"}.get(state, f"ours: yours {state}")
        rows.append((name, lecture.number, whose))
    return Parts(functions, rows, problem.rstrip())

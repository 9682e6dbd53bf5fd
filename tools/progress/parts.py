"""Which parts of the reader's GPT are in `my_gpt.py`, and whether each still passes its check.

    python -m tools.progress.parts                   of my_course
    python -m tools.progress.parts FOLDER            of another folder of copies

The file is run, as an import would. The exit status is 1 where something in it does not pass.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from course_utils.lectures import COURSE, Lecture
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.parts import PartsError, my_parts
from tools.editions.my_course import MY_COURSE

__all__ = ["parts_of_the_course"]


def parts_of_the_course() -> Iterator[tuple[Lecture, Exercise]]:
    """Yield the exercises that build a part, each with its lecture, in the course's order."""
    for lecture in COURSE:
        module = lecture.module("exercises")
        yield from ((lecture, each) for each in getattr(module, "EXERCISES", ()) if each.kept_as)


def main(arguments: list[str]) -> int:
    """Print a line for each part; return the exit status."""
    folder = Path(*arguments[:1] or [MY_COURSE])
    try:
        mine = my_parts(folder)
    except PartsError as error:
        print(f"{folder / 'my_gpt.py'}: {error}")
        return 1
    print(f"Your GPT, in {folder / 'my_gpt.py'}\n")
    failed = False
    for lecture, exercise in parts_of_the_course():
        state, message = _state(exercise, mine)
        print(f"{exercise.kept_as:14} lecture {lecture.number:02}   {state}")
        if message:
            print(textwrap.indent(textwrap.fill(message, 96), "    "))
        failed |= bool(message)
    return int(failed)


def _state(exercise: Exercise, mine: dict[str, object]) -> tuple[str, str]:
    """How a part is, and what its check says where it does not pass."""
    if exercise.kept_as not in mine:
        return "not built yet", ""
    verdict = exercise.judge(mine[exercise.kept_as])
    return ("yours", "") if verdict.passed else ("does not pass", verdict.message)


if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))

"""The command: how far worked copies of the lectures are, in words or as JSON.

    python -m tools.progress                         your copies in my_course, a line for each
    python -m tools.progress my_copy.ipynb           every exercise, every question
    python -m tools.progress class/*.ipynb           a line for each copy
    python -m tools.progress class/*.ipynb --json    the same for a machine

The exit status is 0 where everything passes, 1 where something does not, 2 where a file is no copy
of a lecture. Saved outputs prove nothing and are not read: the copy's code is run.
"""

from __future__ import annotations

import argparse
import json
import textwrap
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from lectures import COURSE
from tools.editions.my_course import MY_COURSE, copies_of
from tools.ending import leave_in_order
from tools.progress.process import Progress, examine

WIDTH = 100
EPILOGUE = (
    "This runs the code in the copy, with your rights: its set-up cell and its cells from the "
    "exercises on, in a process of its own, in a temporary folder, with limits of time and memory. "
    "They guard against accidents, not against malice: read a copy first, or run this in a "
    "container, where you do not trust its author. A pass is no proof of work. Quiz answers count "
    'once they are recorded in the cell, as exercises.QUIZ.with_answers("b a - c"); the live quiz '
    "shows the line."
)


def main(arguments: list[str]) -> int:
    """Print the progress of the copies named; return the exit status."""
    options = _parser().parse_args(arguments)
    leave_in_order()
    paths = options.copies or _my_copies()
    if not paths:
        print("There are no copies in my_course yet: `make lab` makes them.")
        return 2
    several = len(paths) > 1 and not options.json
    width = max(len(printable(str(path))) for path in paths)
    end = time.monotonic() + options.total
    found = []
    for path in paths:
        left = end - time.monotonic()
        if left > 0:
            found.append(examine(path, min(options.limit, left), options.all))
        else:
            found.append(Progress(str(path), error=f"{path} was not judged: --total is spent."))
        if several:
            print(_in_one_line(found[-1], width), flush=True)
    if options.json:
        print(json.dumps([asdict(each) for each in found], indent=1))
    elif not several:
        print("\n".join(_in_full(found[0])))
    if any(each.error for each in found):
        return 2
    return 0 if all(each.complete for each in found) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.progress",
        description="Say which exercises and quiz questions of worked copies pass.",
        epilog=EPILOGUE,
    )
    parser.add_argument(
        "copies", nargs="*", type=Path, metavar="NOTEBOOK",
        help="a worked copy; without any, the newest of each lecture in my_course",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON, a list of copies")
    seconds = {"type": float, "metavar": "S"}
    parser.add_argument(
        "--limit", default=120.0, help="seconds for a copy, a quarter for a cell (120)", **seconds
    )
    parser.add_argument(
        "--total", default=3600.0, help="seconds for all copies together (3600)", **seconds
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="run the lecture's own cells too, where an answer needs them (minutes)",
    )
    return parser


def _my_copies() -> list[Path]:
    """The newest copy of each lecture that there is one of."""
    copies = (copies_of(lecture.stem, MY_COURSE) for lecture in COURSE)
    return [found[-1] for found in copies if found]


def printable(text: str) -> str:
    r"""A text in one line, without signs that rewrite a terminal or turn the line around.

    >>> printable("a\x1b[2Jb\nc\u202e")
    'a�[2Jb�c�'
    """
    unseen = ("Cc", "Cf", "Cs", "Zl", "Zp")
    signs = ("\N{REPLACEMENT CHARACTER}" if unicodedata.category(s) in unseen else s for s in text)
    return "".join(signs)


def _in_one_line(found: Progress, width: int) -> str:
    """One copy of several; the names are padded to the longest."""
    if found.error:
        return printable(found.error)
    states = ", ".join(f"{n} {mark.state}" for n, mark in enumerate(found.exercises, start=1))
    quiz = f"quiz {found.right} of {len(found.quiz)}"
    remark = "; more to say, see it alone" if found.notes else ""
    file = printable(found.file).ljust(width)
    return printable(f"{file}  {found.lecture}  {states}; {quiz}{remark}")


def _in_full(found: Progress) -> Iterator[str]:
    """Everything about one copy."""
    if found.error:
        yield printable(found.error)
        return
    yield printable(f"{found.file}, lecture {found.lecture}") + "\n"
    for number, mark in enumerate(found.exercises, start=1):
        yield printable(f"{number} · {mark.title}: {mark.state}")
        if mark.message:
            yield _wrapped(mark.message, "    ")
    answers = (f"{number} {word}" for number, word in enumerate(found.quiz, start=1))
    yield printable("Quiz: " + ", ".join(answers)) + "\n"
    yield from (_wrapped(note, "") for note in found.notes)
    yield (
        f"{found.passed} of {len(found.exercises)} exercises passed, "
        f"{found.right} of {len(found.quiz)} questions right."
    )


def _wrapped(text: str, indent: str) -> str:
    words = printable(" ".join(text.split()))
    return textwrap.fill(words, WIDTH, initial_indent=indent, subsequent_indent=indent)

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
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from course_utils.lectures import COURSE
from tools.editions.my_course import MY_COURSE, copies_of
from tools.notebook_file import NotebookFileError
from tools.progress.copies import Copy, read_copy
from tools.progress.marks import Progress, progress_of
from tools.progress.process import CellProcess

WIDTH = 100
EPILOGUE = (
    "This runs the code in the copy, with your rights: its set-up cell and its cells from the "
    "exercises on, in a process of its own, in a temporary folder, with a time limit for each. The "
    "limit guards against accidents, not against malice: read a copy first, or run this in a "
    "container, where you do not trust its author. A pass is no proof of work. Quiz answers count "
    'once they are recorded in the cell, as exercises.QUIZ.with_answers("b a - c"); the live quiz '
    "shows the line."
)


def main(arguments: list[str]) -> int:
    """Print the progress of the copies named; return the exit status.

    >>> main(["nowhere.ipynb"])
    there must be a notebook at nowhere.ipynb, found no such file
    2
    """
    options = _parser().parse_args(arguments)
    options.copies = options.copies or _my_copies()
    if not options.copies:
        print("There are no copies in my_course yet: `make lab` makes them.")
        return 2
    several = len(options.copies) > 1 and not options.json
    # All are read before any is run: the code of one could rewrite another.
    copies = [_read(path, options.lecture) for path in options.copies]
    found: list[Progress | str] = []
    for path, copy in zip(options.copies, copies, strict=True):
        found.append(copy if isinstance(copy, str) else _examine(copy, options))
        if several:
            print(_printable(_in_one_line(path, found[-1], options.copies)), flush=True)
    if options.json:
        print(_printable(_as_json(found, options.copies)))
    elif not several:
        print("\n".join(map(_printable, _in_full(found[0]))))
    if any(isinstance(each, str) for each in found):
        return 2
    return 0 if all(isinstance(each, Progress) and each.complete for each in found) else 1


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
    parser.add_argument(
        "--lecture",
        choices=[f"{lecture.number:02}" for lecture in COURSE],
        type=lambda number: number.zfill(2),
        help="refuse copies of another lecture than this",
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=60.0,
        metavar="S",
        help="seconds that a cell, or a check, may take (default: 60)",
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


def _read(path: Path, number: str | None) -> Copy | str:
    """A copy, or why there is none."""
    try:
        return read_copy(path, number=number)
    except NotebookFileError as error:
        return str(error)


def _examine(copy: Copy, options: argparse.Namespace) -> Progress | str:
    """The progress of a copy, or why there is none: one copy must not end the others' report."""
    try:
        with CellProcess(limit=options.limit, lecture=copy.lecture) as process:
            return progress_of(copy, process, everything=options.all)
    except Exception as error:
        return f"{copy.path} could not be examined: {type(error).__name__}: {error}"


def _as_json(found: list[Progress | str], paths: list[Path]) -> str:
    entries = [
        {"file": str(path), "error": each} if isinstance(each, str) else asdict(each)
        for path, each in zip(paths, found, strict=True)
    ]
    return json.dumps(entries, ensure_ascii=False, indent=1)


def _printable(line: str) -> str:
    r"""A line without control characters, with which a message could rewrite a terminal.

    >>> _printable("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join("\N{REPLACEMENT CHARACTER}" if _controls(sign) else sign for sign in line)


def _controls(sign: str) -> bool:
    return unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\t"


def _in_one_line(path: Path, found: Progress | str, paths: list[Path]) -> str:
    """One copy of several; the names are padded to the longest."""
    if isinstance(found, str):
        return found
    width = max(len(str(each)) for each in paths)
    states = ", ".join(f"{n} {mark.state}" for n, mark in enumerate(found.exercises, start=1))
    quiz = f"quiz {found.right} of {len(found.quiz)}"
    remark = "; more to say, see it alone" if found.notes else ""
    return f"{str(path).ljust(width)}  {found.lecture}  {states}; {quiz}{remark}"


def _in_full(found: Progress | str) -> Iterator[str]:
    """Everything about one copy."""
    if isinstance(found, str):
        yield found
        return
    yield f"{found.file}, lecture {found.lecture}"
    yield ""
    for number, mark in enumerate(found.exercises, start=1):
        yield f"{number} · {mark.title}: {mark.state}"
        if mark.message:
            yield textwrap.fill(
                mark.message, WIDTH, initial_indent="    ", subsequent_indent="    "
            )
    yield "Quiz: " + ", ".join(f"{n} {word}" for n, word in enumerate(found.quiz, start=1))
    yield ""
    for note in found.notes:
        yield textwrap.fill(note, WIDTH)
    yield (
        f"{found.passed} of {len(found.exercises)} exercises passed, "
        f"{found.right} of {len(found.quiz)} questions right."
    )

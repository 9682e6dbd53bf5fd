"""A worked copy of a lecture, as text: where its answers stand. Nothing is executed here."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from course_utils.lectures import COURSE, Lecture
from tools.notebook_file import Cell, NotebookFileError, calls, read_cells

_TITLE = re.compile(r"^# (\d\d) · ", re.MULTILINE)
_OWN_IMPORT = re.compile(r"\bcourse_utils\.lectures\.l(\d\d)_")
_EXERCISES = re.compile(r"^## Exercises\b", re.MULTILINE)
_LECTURES = {f"{lecture.number:02}": lecture for lecture in COURSE}


@dataclass(frozen=True)
class Asked:
    """One exercise of a lecture: its title, what its stub defines, the name of its check."""

    title: str
    function: str
    check: str


@dataclass(frozen=True)
class Answer:
    """Where a copy answers an exercise.

    Attributes:
        asked: the exercise.
        cells: the code cells that define the answer, in order; none where they were deleted.
        name: what the function is called in this copy.
    """

    asked: Asked
    cells: tuple[Cell, ...]
    name: str


@dataclass(frozen=True)
class Copy:
    """A worked copy.

    Attributes:
        path: its file.
        lecture: the lecture it is a copy of.
        setup: the code cells with the imports.
        lesson: the code cells before the exercises, the set-up among them.
        work: the code cells from the exercises on, and stubs that were moved up, without those that
            only call a check or quiz.
        answers: one for each exercise of the lecture.
        letters: the recorded answers to the quiz, empty where there are none.
    """

    path: Path
    lecture: Lecture
    setup: tuple[Cell, ...]
    lesson: tuple[Cell, ...]
    work: tuple[Cell, ...]
    answers: tuple[Answer, ...]
    letters: str


def asked_in(lecture: Lecture) -> tuple[Asked, ...]:
    """What a lecture asks, in its order.

    >>> [asked.function for asked in asked_in(COURSE[8])]
    ['merge', 'tiled_bytes', 'online_attention', 'causal_flash']
    """
    module = import_module(f"{lecture.package}.exercises")
    checks = {name: value for name, value in vars(module).items() if name.startswith("check_")}
    return tuple(
        Asked(
            exercise.title,
            exercise.function,
            next(name for name, check in checks.items() if check == exercise.check),
        )
        for exercise in module.EXERCISES
    )


def read_copy(path: Path, *, number: str | None = None) -> Copy:
    """Find the answers in a worked copy: by cell id, by the function's name, by the check's call.

    Cells may have been moved, renamed, doubled or deleted, and may have lost their ids.

    Args:
        path: the copy.
        number: of the lecture that it must be of, such as ``"04"``; of any where None.

    Raises:
        NotebookFileError: for what is no notebook, no lecture of this course, or another lecture.
    """
    cells = read_cells(path)
    found = _lecture_number(path, cells)
    if number not in (None, found):
        raise NotebookFileError(f"the copy must be of lecture {number}; {path} is of {found}")
    asked = asked_in(_LECTURES[found])
    start = _start_of_exercises(cells, asked)
    code = [cell for cell in cells if cell.kind == "code"]
    later = [cell for cell in code if cell.place >= start or "exercise" in cell.tags]
    lesson = tuple(cell for cell in code if cell not in later)
    # A cell that only calls a check is left out: the check is called by us, with a time limit.
    work = tuple(cell for cell in later if not _only_asks(cell.source))
    return Copy(
        path=path,
        lecture=_LECTURES[found],
        setup=tuple(cell for cell in lesson if cell.id.startswith("setup")) or lesson[:1],
        lesson=lesson,
        work=work,
        answers=tuple(_answer(each, n, code, work) for n, each in enumerate(asked, start=1)),
        letters=_letters(code),
    )


def _lecture_number(path: Path, cells: tuple[Cell, ...]) -> str:
    """The lecture that most of the titles and imports speak of."""
    votes = Counter[str]()
    for cell in cells:
        pattern = _TITLE if cell.kind == "markdown" else _OWN_IMPORT
        votes.update(number for number in pattern.findall(cell.source) if number in _LECTURES)
    if not votes:
        raise NotebookFileError(
            f"the notebook must be a copy of lecture {', '.join(_LECTURES)}; {path} has neither "
            "the title nor an import of one"
        )
    return votes.most_common(1)[0][0]


def _start_of_exercises(cells: tuple[Cell, ...], asked: tuple[Asked, ...]) -> int:
    """The place of the exercises' heading, or, where no check follows it, of their first cell.

    A single cell that was moved up does not take the lecture with it. The end where there is none.
    """
    checks = {each.check for each in asked}
    calling = [c.place for c in cells if any(name in checks for name, _ in calls(c.source))]
    headings = [c.place for c in cells if c.kind == "markdown" and _EXERCISES.search(c.source)]
    if headings and any(place > headings[0] for place in calling):
        return headings[0]
    tagged = [cell.place for cell in cells if "exercise" in cell.tags]
    return min([*headings, *calling, *tagged], default=len(cells))


def _answer(asked: Asked, number: int, code: list[Cell], work: tuple[Cell, ...]) -> Answer:
    """The cells that define the function that the check is called with, or is meant to be."""
    called = [
        call.args[0].id
        for cell in code
        for name, call in calls(cell.source)
        if name == asked.check and call.args and isinstance(call.args[0], ast.Name)
    ]
    for name in (*called[-1:], asked.function):
        cells = tuple(cell for cell in work if _defines(cell.source, name))
        if cells:
            return Answer(asked, cells, name)
    stub = tuple(cell for cell in work if cell.id == f"ex-{number}-stub")
    return Answer(asked, stub, asked.function)


def _defines(source: str, name: str) -> bool:
    """Whether a line defines the name. By its text: a cell with an error in it counts, too."""
    name = re.escape(name)
    return re.search(rf"^(?:def {name}\b|{name}\s*(?::[^=]*)?=(?!=))", source, re.M) is not None


def _only_asks(source: str) -> bool:
    """Whether a cell does nothing but import, check, or show quiz, predictions or claims."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError):
        return False
    asks = [node for node in body if not isinstance(node, ast.Import | ast.ImportFrom)]
    return bool(asks) and all(_is_check_or_quiz(node) for node in asks)


def _is_check_or_quiz(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    called = _last_name(node.value.func) if isinstance(node.value, ast.Call) else ""
    if called.startswith("check_") or called in ("predict", "guesses", "show_claims"):
        return True
    return any(_last_name(part) == "QUIZ" for part in ast.walk(node))


def _last_name(node: ast.AST) -> str:
    """``check_it`` of ``exercises.check_it`` and of ``check_it``."""
    return getattr(node, "attr", None) or getattr(node, "id", "")


def _letters(code: list[Cell]) -> str:
    """What the last ``QUIZ.with_answers("…")`` records."""
    found = ""
    for cell in code:
        for name, call in calls(cell.source):
            if name == "with_answers" and call.args and isinstance(call.args[0], ast.Constant):
                found = str(call.args[0].value)
    return found

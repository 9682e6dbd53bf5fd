"""A worked copy of a lecture, as text: where its answers are. Nothing is executed here."""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from course_utils.teaching.exercise import Exercise
from lectures import COURSE, Lecture
from tools.notebook_file import UNREADABLE, Cell, NotebookFileError, calls, read_cells

_LECTURE = re.compile(r"^# (\d\d[a-z]?) · |\blectures\.l(\d\d[a-z]?)_", re.MULTILINE)
_EXERCISES = re.compile(r"^## Exercises\b", re.MULTILINE)
_OPTIONAL = re.compile(r"^## (?:Optional|If you have time)\b", re.MULTILINE)
_LECTURES = {lecture.number: lecture for lecture in COURSE}
_SHOWS = ("predict", "guesses", "with_answers", "show_claims")


@dataclass(frozen=True)
class Answer:
    """Where a copy answers an exercise.

    Attributes:
        exercise: the exercise.
        name: what the function is called in this copy.
        cells: the code cells that define it, in order; none where they were deleted.
    """

    exercise: Exercise
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Copy:
    """A worked copy.

    Attributes:
        lecture: the lecture it is a copy of.
        setup: the code cells with the imports.
        lesson: the code cells before the exercises, the set-up among them.
        work: the exercises' code cells, without those that only check, ask or show, and without
            what is optional after them, unless it answers an exercise.
        answers: one for each exercise of the lecture.
        letters: the recorded answers to the quiz, empty where there are none.
    """

    lecture: Lecture
    setup: tuple[Cell, ...]
    lesson: tuple[Cell, ...]
    work: tuple[Cell, ...]
    answers: tuple[Answer, ...]
    letters: str


def read_copy(path: Path) -> Copy:
    """Find the answers in a worked copy, whose cells may have been moved, doubled or deleted.

    Raises:
        NotebookFileError: for what is no notebook, or no lecture of this course.
    """
    cells = read_cells(path)
    lecture = _lecture(path, cells)
    exercises = _exercises(lecture)
    headings = [c.place for c in cells if c.kind == "markdown" and _EXERCISES.search(c.source)]
    stubs = [cell.place for cell in cells if "exercise" in cell.tags]
    start = min(headings, default=len(cells))
    code = [cell for cell in cells if cell.kind == "code"]
    answering = {exercise.function for exercise in exercises.values()}
    # Without a heading, what defines an answer is no part of the lesson.
    named = set() if headings else answering
    lesson = tuple(
        c
        for c in code
        if c.place < start
        and c.place not in stubs
        and not any(_defines(c.source, name) for name in named)
    )
    optional = [c.place for c in cells if c.kind == "markdown" and _OPTIONAL.search(c.source)]
    end = max([place for place in optional if place > start], default=len(cells))
    work = tuple(
        c
        for c in code
        if c not in lesson
        and not _only_asks(c.source)
        and (c.place < end or any(_defines(c.source, name) for name in answering))
    )
    called = {name: call.args for cell in code for name, call in calls(cell.source) if call.args}
    letters = called.get("with_answers", [ast.Constant("")])[0]
    return Copy(
        lecture=lecture,
        setup=tuple(c for c in lesson if c.id.startswith("setup"))
        or tuple(c for c in lesson if c.source.startswith("import "))  # the ids were lost
        or lesson[:1],
        lesson=lesson,
        work=work,
        answers=tuple(
            _answer(number, exercise, called.get(check), work)
            for number, (check, exercise) in enumerate(exercises.items(), start=1)
        ),
        letters=str(letters.value) if isinstance(letters, ast.Constant) else "",
    )


def _lecture(path: Path, cells: tuple[Cell, ...]) -> Lecture:
    """The lecture that most of the titles and imports name."""
    named = [a or b for cell in cells for a, b in _LECTURE.findall(cell.source)]
    votes = Counter(number for number in named if number in _LECTURES)
    if not votes:
        raise NotebookFileError(f"{path} has neither the title nor an import of a lecture")
    return _LECTURES[votes.most_common(1)[0][0]]


def _exercises(lecture: Lecture) -> dict[str, Exercise]:
    """The exercises of a lecture, in its order, by the name of their check.

    >>> list(_exercises(_LECTURES["08"]))
    ['check_merge', 'check_causal_flash', 'check_missing_rescale']
    """
    module = import_module(f"{lecture.package}.exercises")
    checks = {name: check for name, check in vars(module).items() if name.startswith("check_")}
    return {
        next(name for name, check in checks.items() if check == exercise.check): exercise
        for exercise in module.EXERCISES
    }


def _answer(
    number: int, exercise: Exercise, checked: list[ast.expr] | None, work: tuple[Cell, ...]
) -> Answer:
    """The cells that define the function that the copy gives to the check, or is meant to."""
    names = [exercise.function]
    if checked and isinstance(checked[0], ast.Name):
        names.insert(0, checked[0].id)
    for name in names:
        if cells := tuple(cell for cell in work if _defines(cell.source, name)):
            return Answer(exercise, name, cells)
    stub = tuple(cell for cell in work if cell.id == f"ex-{number}-stub")
    return Answer(exercise, exercise.function, stub)


def _defines(source: str, name: str) -> bool:
    """Whether a line defines the name. By its text: a cell with an error in it counts, too."""
    line = rf"^(?:(?:def|class) {name}\b|{name}\s*(?::[^=\n]*)?=(?!=))"
    return re.search(line, source, re.M) is not None


def _only_asks(source: str) -> bool:
    """Whether a cell defines nothing and calls a check or shows quiz, predictions or claims."""
    try:
        body = ast.parse(source).body
    except UNREADABLE:
        return False
    asks = any(name.startswith("check_") or name in _SHOWS for name, _ in calls(source))
    return asks and all(isinstance(node, ast.Expr | ast.Import | ast.ImportFrom) for node in body)

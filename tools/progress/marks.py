"""What a worked copy has reached: its cells are run, its answers are given to the checks."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from course_utils.teaching.quiz import Option
from tools.notebook_file import Cell
from tools.progress.copies import Answer, Copy
from tools.progress.lectures import Asked

__all__ = ["Judged", "Mark", "Progress", "Worker", "progress_of"]

PASSED, NOT_YET, NOT_STARTED, DELETED = "passed", "not yet", "not started", "deleted"
RIGHT, WRONG, NOT_ANSWERED = "right", "wrong", "not answered"

_UNKNOWN_NAME = re.compile(r"NameError: name '\w+' is not defined")
_HINT = " Does another cell of the lecture define it? --all runs them."


@dataclass(frozen=True)
class Judged:
    """What became of a call of a check: a state, ``"missing"`` among them, and its words."""

    state: str
    message: str = ""


@runtime_checkable
class Worker(Protocol):
    """Whoever runs cells; a kernel, outside tests."""

    def run(self, source: str) -> str:
        """Run a cell; return what stopped it in words, nothing where it ran."""
        ...

    def judge(self, asked: Asked, name: str) -> Judged:
        """Call the check on what ``name`` stands for now."""
        ...


@dataclass(frozen=True)
class Mark:
    """An exercise by its title, how far it is, and what the check says of it."""

    title: str
    state: str
    message: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a copy is.

    Attributes:
        file: the copy, as it was named.
        lecture: its number.
        exercises: in the lecture's order.
        quiz: for each question "right", "wrong" or "not answered".
        notes: what else is to be said.
    """

    file: str
    lecture: str
    exercises: tuple[Mark, ...]
    quiz: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> int:
        """How many exercises pass."""
        return sum(mark.state == PASSED for mark in self.exercises)

    @property
    def right(self) -> int:
        """How many questions are answered rightly."""
        return self.quiz.count(RIGHT)

    @property
    def complete(self) -> bool:
        """Whether every exercise passes and every question is right."""
        return self.passed == len(self.exercises) and self.right == len(self.quiz)


def progress_of(copy: Copy, worker: Worker, *, everything: bool = False) -> Progress:
    """Run a copy's cells with ``worker`` and judge its answers.

    Args:
        copy: what to judge.
        worker: runs the cells, and survives what they do.
        everything: run the whole lecture before the exercises, not the set-up alone.

    >>> from tools.notebook_file import find_lecture
    >>> from tools.progress.copies import read_copy
    >>> class Idle:
    ...     def run(self, source): return ""
    ...     def judge(self, asked, name): return Judged("not started")
    >>> progress = progress_of(read_copy(find_lecture("01")), Idle())
    >>> progress.passed, [mark.state for mark in progress.exercises]
    (0, ['not started', 'not started', 'not started'])
    """
    set_up = []
    for cell in copy.lesson if everything else copy.setup:
        problem = worker.run(cell.source)
        if problem and cell in copy.setup:
            set_up.append(f"Its set-up, {cell.name}, stops: {problem}")
    judged, stopped = _judge_all(copy, worker)
    marks = tuple(_mark(answer, judged[answer.asked], everything) for answer in copy.answers)
    quiz, complaint = _quiz(copy)
    # Without its set-up hardly a cell runs: that one sentence is enough.
    notes = (*_without_ids(copy), *(set_up or stopped), *complaint)
    return Progress(str(copy.path), copy.lecture, marks, quiz, notes)


def _without_ids(copy: Copy) -> list[str]:
    if all(cell.id for cell in (*copy.lesson, *copy.work)):
        return []
    return ["Its cells have lost their ids; answers are found by the names of their functions."]


def _judge_all(
    copy: Copy, worker: Worker
) -> tuple[dict[Asked, list[tuple[Judged, str]]], list[str]]:
    """Judge each answer after each of its cells; beside it what stopped the cell, if anything.

    Then what stopped the other cells: an answer may lack what one of them was to define.
    """
    judged: dict[Asked, list[tuple[Judged, str]]] = {answer.asked: [] for answer in copy.answers}
    stopped = []
    for cell in copy.work:
        problem = worker.run(cell.source)
        answers = _answers_in(cell, copy)
        for answer in answers:
            judged[answer.asked].append((worker.judge(answer.asked, answer.name), problem))
        if problem and not answers and "raises-exception" not in cell.tags:
            stopped.append(f"Beside its answers, {cell.name} stops: {problem}")
    return judged, stopped


def _answers_in(cell: Cell, copy: Copy) -> list[Answer]:
    return [answer for answer in copy.answers if cell in answer.cells]


def _mark(answer: Answer, judged: list[tuple[Judged, str]], everything: bool) -> Mark:
    """The mark for the last attempt that was begun; a stub kept below it takes nothing back."""
    title = answer.asked.title
    if not judged:
        return Mark(title, DELETED)
    begun = [each for each in judged if each[0].state in (PASSED, NOT_YET)]
    outcome, problem = (begun or judged)[-1]
    if outcome.state == "missing":
        said = f"its cell stops: {problem}" if problem else f"its cell defines no `{answer.name}`."
        outcome = Judged(NOT_YET, said[0].upper() + said[1:])
    message = outcome.message if outcome.state == NOT_YET else ""
    if not everything and _UNKNOWN_NAME.search(message):
        message += _HINT
    return Mark(title, outcome.state, message)


def _quiz(copy: Copy) -> tuple[tuple[str, ...], list[str]]:
    """A word for each question, and a complaint where the recorded answers are none."""
    quiz = importlib.import_module(f"course_utils.teaching.quizzes_{copy.lecture}").QUIZ
    unanswered = (NOT_ANSWERED,) * len(quiz.questions)
    if not copy.letters:
        return unanswered, []
    try:
        chosen = quiz.with_answers(copy.letters).chosen
    except ValueError as error:
        return unanswered, [f"The answers to its quiz cannot be read: {error}"]
    pairs = zip(quiz.questions, chosen, strict=True)
    return tuple(_word(question.options, place) for question, place in pairs), []


def _word(options: tuple[Option, ...], place: int | None) -> str:
    if place is None:
        return NOT_ANSWERED
    return RIGHT if options[place].correct else WRONG

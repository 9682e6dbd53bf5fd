"""What a worked copy has reached: its cells are run, its answers are given to the checks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module

from course_utils.teaching.quiz import Option
from tools.notebook_file import Cell
from tools.progress.copies import Answer, Copy
from tools.progress.process import CellProcess, Judged

PASSED, NOT_YET, DELETED = "passed", "not yet", "deleted"
RIGHT, WRONG, NOT_ANSWERED = "right", "wrong", "not answered"

_UNKNOWN_NAME = re.compile(r"NameError: name '\w+' is not defined")
_HINT = " Does another cell of the lecture define it? --all runs them."


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


def progress_of(copy: Copy, process: CellProcess, *, everything: bool = False) -> Progress:
    """Run a copy's cells and judge its answers.

    Args:
        copy: what to judge.
        process: runs the cells, and survives what they do.
        everything: run the whole lecture before the exercises, not the set-up alone.
    """
    notes = []
    if not all(cell.id for cell in (*copy.lesson, *copy.work)):
        notes.append(
            "Its cells have lost their ids; answers are found by the names of their functions."
        )
    set_up = []
    for cell in copy.lesson if everything else copy.setup:
        problem = process.run(cell.source)
        if problem and cell in copy.setup:
            set_up.append(f"Its set-up, {cell.name}, stops: {problem}")
    judged, stopped = _judge_all(copy, process)
    marks = tuple(_mark(answer, judged[answer.asked.check], everything) for answer in copy.answers)
    quiz, complaint = _quiz(copy)
    # Without its set-up hardly a cell runs: that one sentence is enough.
    notes += [*(set_up[:1] or stopped), *complaint]
    return Progress(str(copy.path), f"{copy.lecture.number:02}", marks, quiz, tuple(notes))


def _judge_all(
    copy: Copy, process: CellProcess
) -> tuple[dict[str, list[tuple[Judged, str]]], list[str]]:
    """Judge each answer after each of its cells; beside it what stopped the cell, if anything.

    Then what stopped the other cells: an answer may lack what one of them was to define.
    """
    judged: dict[str, list[tuple[Judged, str]]] = {each.asked.check: [] for each in copy.answers}
    stopped = []
    for cell in copy.work:
        problem = process.run(cell.source)
        answers = _answers_in(cell, copy)
        for answer in answers:
            check = answer.asked.check
            judged[check].append((process.judge(check, answer.name), problem))
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
        said = f"Its cell stops: {problem}" if problem else f"Its cell defines no `{answer.name}`."
        outcome = Judged(NOT_YET, said)
    message = outcome.message if outcome.state == NOT_YET else ""
    if not everything and _UNKNOWN_NAME.search(message):
        message += _HINT
    return Mark(title, outcome.state, message)


def _quiz(copy: Copy) -> tuple[tuple[str, ...], list[str]]:
    """A word for each question, and a complaint where the recorded answers are none."""
    quiz = import_module(f"{copy.lecture.package}.exercises").QUIZ
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

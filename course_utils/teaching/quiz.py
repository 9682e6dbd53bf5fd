"""Quizzes that explain every choice: the data, and the page that needs no kernel."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course_utils.explorers.shown import replace_shown
from course_utils.teaching.cards import card, inline
from course_utils.widgets import widget_view

__all__ = ["Option", "Question", "Quiz", "read_quiz"]

LETTERS = "abcdefgh"
NOT_ANSWERED = "-"


@dataclass(frozen=True)
class Option:
    """One answer to choose, and why it is right or wrong.

    ``text`` stands beside a radio button, which shows neither LaTeX nor HTML: write √d_k.
    """

    text: str
    why: str
    correct: bool = False


@dataclass(frozen=True)
class Question:
    """A prompt and its options, exactly one of them right."""

    prompt: str
    options: tuple[Option, ...]

    @property
    def answer(self) -> Option:
        """The right option."""
        return next(option for option in self.options if option.correct)


@dataclass(frozen=True)
class Quiz:
    """A few questions; as the last line of a cell, it can be answered.

    With a kernel each question has radio buttons and a *Check* button. On a page without a kernel
    a click on an option says whether it is right, and why; that needs no script.

    A saved notebook does not hold what was clicked. :meth:`with_answers` does: it is a line of the
    cell, and the live quiz shows it when something has been answered.

    Attributes:
        title: what it is about.
        questions: in their order.
        chosen: for each question the place of the option that was recorded, or None; empty where
            nothing was.

    >>> yes, no = Option("yes", "it is", correct=True), Option("no", "it is")
    >>> Quiz("Short", (Question("Is it?", (no, yes)),))
    Quiz: Short
    <BLANKLINE>
    1. Is it?
       a) no
       b) yes
    """

    title: str
    questions: tuple[Question, ...]
    chosen: tuple[int | None, ...] = ()

    def __repr__(self) -> str:
        lines = [f"Quiz: {self.title}"]
        for number, question in enumerate(self.questions, start=1):
            lines += ["", f"{number}. {question.prompt}"]
            lines += [
                f"   {letter}) {option.text}"
                for letter, option in zip(LETTERS, question.options, strict=False)
            ]
        return "\n".join(lines)

    def with_answers(self, letters: str) -> Quiz:
        """This quiz with answers chosen: one letter for each question, ``-`` for none.

        Raises: ValueError for other letters, or another number of them than questions.

        >>> yes, no = Option("yes", "it is", correct=True), Option("no", "it is")
        >>> Quiz("Short", (Question("Is it?", (no, yes)),)).with_answers("b").chosen
        (1,)
        """
        given = letters.replace(" ", "").lower()
        if len(given) != len(self.questions):
            raise ValueError(
                f"letters must hold one for each of the {len(self.questions)} questions, "
                f"with {NOT_ANSWERED!r} for none; got {letters!r}"
            )
        pairs = zip(self.questions, given, strict=True)
        chosen = tuple(_place(question, letter) for question, letter in pairs)
        return replace(self, chosen=chosen)

    def recording(self, chosen: Sequence[int | None]) -> str:
        """The line of a cell that records the options at these places.

        >>> yes, no = Option("yes", "it is", correct=True), Option("no", "it is")
        >>> quiz = Quiz("Short", (Question("Is it?", (no, yes)), Question("Is it?", (yes, no))))
        >>> quiz.recording([1, None])
        'exercises.QUIZ.with_answers("b -")'
        """
        letters = [NOT_ANSWERED if place is None else LETTERS[place] for place in chosen]
        return f'exercises.QUIZ.with_answers("{" ".join(letters)}")'

    def live(self) -> Any:
        """The quiz as widgets: a :class:`~course_utils.teaching.quiz_live.LiveQuiz`."""
        # ipywidgets is needed for this alone; the questions can be read without it.
        from course_utils.teaching.quiz_live import LiveQuiz

        return LiveQuiz(self)

    def html(self) -> str:
        """The quiz as a page without a kernel shows it."""
        questions = "".join(
            _question_html(question, number)
            for number, question in enumerate(self.questions, start=1)
        )
        title = f"<div><strong>Quiz: {inline(self.title)}</strong> Choose an answer to each.</div>"
        return card(f"{title}{questions}")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        live = self.live()
        replace_shown(live)
        view = widget_view(live.box)
        return {**view, "text/html": self.html(), "text/plain": repr(self)}


def read_quiz(path: Path) -> Quiz:
    """The quiz in a lecture's ``quiz.toml``: a title, questions, and each one's options."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    questions = (
        Question(asked["prompt"], tuple(Option(**option) for option in asked["options"]))
        for asked in table["questions"]
    )
    return Quiz(table["title"], tuple(questions))


def _place(question: Question, letter: str) -> int | None:
    """The place of the option that a letter stands for."""
    known = LETTERS[: len(question.options)]
    if letter == NOT_ANSWERED:
        return None
    if letter not in known:
        raise ValueError(
            f"letters must be of {', '.join(known)} or {NOT_ANSWERED!r}, got {letter!r} for "
            f"{question.prompt!r}"
        )
    return known.index(letter)


def _question_html(question: Question, number: int) -> str:
    options = "".join(
        _option_html(option, letter, f"question-{number}")
        for letter, option in zip(LETTERS, question.options, strict=False)
    )
    prompt = f"<strong>{number}.</strong> {inline(question.prompt)}"
    return f'<div style="margin: 12px 0 4px;">{prompt}</div>{options}'


def _option_html(option: Option, letter: str, group: str) -> str:
    """One option to click: its reason folds out, and that of another folds in."""
    kind, verdict = ("right", "Right.") if option.correct else ("wrong", "Not that one.")
    return (
        f'<details class="course-option" name="{group}">'
        f"<summary>{letter}) {inline(option.text)}</summary>"
        f'<div class="course-{kind}" style="margin: 0 0 8px 1.2em;">'
        f"<strong>{verdict}</strong> {inline(option.why)}</div></details>"
    )

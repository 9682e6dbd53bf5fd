"""Quizzes that explain every choice."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from course_utils.explorers.explorer import Explorer
from course_utils.explorers.inputs import Choice
from course_utils.teaching.cards import inline

LETTERS = "abcdefgh"
NOT_ANSWERED = "-"
VIEW = Path(__file__).resolve().parents[1] / "explorers" / "kit" / "quiz.js"


@dataclass(frozen=True)
class Option:
    """One answer to choose, and why it is right or wrong.

    ``text`` shows neither LaTeX nor HTML: write √d_k.
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

    A press on an option says whether it is right, and why.

    A saved notebook does not hold what was pressed. :meth:`with_answers` does: it is a line of the
    cell, and the quiz shows it when something has been answered.

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
        chosen = letters.replace(" ", "").lower()
        if len(chosen) != len(self.questions):
            raise ValueError(
                f"letters must hold one for each of the {len(self.questions)} questions, "
                f"with {NOT_ANSWERED!r} for none; got {letters!r}"
            )
        pairs = zip(self.questions, chosen, strict=True)
        places = tuple(_place(question, letter) for question, letter in pairs)
        return replace(self, chosen=places)

    def live(self) -> LiveQuiz:
        """The quiz to press on."""
        return LiveQuiz(self)

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.live()._repr_mimebundle_()


class LiveQuiz(Explorer):
    """A quiz on the page: for each question its options as buttons, and why each is right or not.

    Its controls are the questions, `"1"` and so on, with the letter that is chosen.
    """

    view = VIEW
    pictured = False

    def __init__(self, quiz: Quiz) -> None:
        self.quiz, self.title = quiz, f"Quiz: {quiz.title}"
        letters = {
            str(number): (NOT_ANSWERED, *LETTERS[: len(question.options)])
            for number, question in enumerate(quiz.questions, start=1)
        }
        self.inputs = {
            number: Choice(f"question {number}", known, NOT_ANSWERED, in_picture=True)
            for number, known in letters.items()
        }
        chosen = zip(letters, quiz.chosen, strict=False)
        super().__init__(**{n: LETTERS[place] for n, place in chosen if place is not None})

    @property
    def in_words(self) -> str:
        """The questions and their options."""
        return repr(self.quiz)

    def given(self, **served: Any) -> dict[str, Any]:
        """The questions; prompts and reasons as HTML."""
        return {"questions": [_spec(question) for question in self.quiz.questions]}


def read_quiz(path: Path) -> Quiz:
    """The quiz in a lecture's ``quiz.toml``: a title, questions, and each one's options."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    questions = (
        Question(each["prompt"], tuple(Option(**option) for option in each["options"]))
        for each in table["questions"]
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


def _spec(question: Question) -> dict[str, Any]:
    options = [
        {
            "text": each.text,
            "label": inline(each.text),
            "why": inline(each.why),
            "correct": each.correct,
        }
        for each in question.options
    ]
    return {"prompt": inline(question.prompt), "options": options}

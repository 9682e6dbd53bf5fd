"""Read one worked copy, run its cells, judge its answers: in a process of its own.

    python -m tools.progress.judge COPY REPLY SECONDS [--all]

What it finds is written to REPLY as JSON, before every cell and at the end, so that what was judged
is known when a later cell takes the process with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from course_utils.teaching.quiz import Option
from course_utils.teaching.time_limit import within
from tools.notebook_file import NotebookFileError
from tools.progress.copies import Answer, Copy, read_copy

MOST_WORDS = 2_000
MOST_BYTES = {"RLIMIT_DATA": 8 << 30, "RLIMIT_FSIZE": 1 << 30}  # of memory, and of a file
# IPython's name of a cell differs from run to run.
_PLACE = re.compile(r"\([^(),]*, line (\d+)\)")
_UNKNOWN_NAME = re.compile(r"NameError: name '\w+' is not defined")
_HINT = " Does another cell of the lecture define it? --all runs them."


class Run:
    """The cells of one copy, run one after the other as a notebook does.

    Args:
        copy: the copy.
        seconds: that a cell, or a check, may take.
    """

    def __init__(self, copy: Copy, seconds: float, reply: Path | None = None) -> None:
        self.copy, self.seconds, self.reply = copy, seconds, reply
        self.shell = _shell()
        self.notes: list[str] = []
        self.marks = [
            _mark(each, "not judged" if each.cells else "deleted", "") for each in copy.answers
        ]

    def judge(self, everything: bool = False) -> dict[str, Any]:
        """Run the set-up, or the whole lesson, then the exercises; return the progress."""
        for cell in self.copy.lesson if everything else self.copy.setup:
            problem = self._run(cell.name, cell.source)
            if problem and cell in self.copy.setup:
                self.notes.append(f"Its set-up, {cell.name}, stops: {problem}")
        for cell in self.copy.work:
            problem = self._run(cell.name, cell.source)
            answers = [k for k, answer in enumerate(self.copy.answers) if cell in answer.cells]
            for k in answers:
                self._check(k, problem, "" if everything else _HINT)
            if problem and not answers and not self.notes:
                self.notes.append(f"Beside its answers, {cell.name} stops: {problem}")
        return self._progress()

    def _run(self, name: str, source: str) -> str:
        """Run a cell; return what stopped it, nothing where it ran."""
        if self.reply:  # whoever reads it will know where this process was ended
            _write(self.reply, self._progress() | {"at": name})
        try:
            result = within(self.seconds, lambda: self.shell.run_cell(source))
            error = result.error_before_exec or result.error_in_exec
        except BaseException as raised:
            error = raised
        return _words(error, self.seconds) if error else ""

    def _check(self, k: int, problem: str, hint: str) -> None:
        """Judge the answer as it is now; a stub kept below an answer takes nothing back."""
        answer = self.copy.answers[k]
        if answer.name not in self.shell.user_ns:
            said = f"stops: {problem}" if problem else f"defines no `{answer.name}`."
            state, message = "not yet", f"Its cell {said}"
        else:
            state, message = self._verdict(answer)
        if state == "not started" and self.marks[k]["state"] != "not judged":
            return
        message = message if state == "not yet" else ""
        message += hint if _UNKNOWN_NAME.search(message) else ""
        self.marks[k] = _mark(answer, state, message)

    def _verdict(self, answer: Answer) -> tuple[str, str]:
        try:
            given = self.shell.user_ns[answer.name]
            verdict = within(self.seconds, lambda: answer.exercise.check(given))
        except BaseException as error:  # the time is up
            return "not yet", f"The check called `{answer.name}`: {_words(error, self.seconds)}"
        return verdict.word.lower(), verdict.message

    def _progress(self) -> dict[str, Any]:
        quiz, complaint = _quiz(self.copy)
        return {
            "lecture": self.copy.lecture.number,
            "exercises": self.marks,
            "quiz": quiz,
            "notes": [note[:MOST_WORDS] for note in self.notes[:1]] + complaint,
        }


def _shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Shell(InteractiveShell):
        def enable_gui(self, gui: str | None = None) -> None:  # asked for by %matplotlib
            pass

    return Shell(config=Config(HistoryManager={"enabled": False}))


def _words(error: BaseException, seconds: float) -> str:
    """An exception's name and message, without IPython's own name for the cell."""
    if isinstance(error, KeyboardInterrupt):
        return f"stopped after {seconds:g} s."
    message = _PLACE.sub(r"(line \1)", str(error)).strip()
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def _mark(answer: Answer, state: str, message: str) -> dict[str, str]:
    return {"title": answer.exercise.title, "state": state, "message": message[:MOST_WORDS]}


def _quiz(copy: Copy) -> tuple[list[str], list[str]]:
    """A word for each question, and a complaint where the recorded answers are none."""
    quiz = import_module(f"{copy.lecture.package}.exercises").QUIZ
    chosen, complaint = [None] * len(quiz.questions), []
    try:
        chosen = quiz.with_answers(copy.letters).chosen if copy.letters else chosen
    except ValueError as error:
        complaint = [f"The answers to its quiz cannot be read: {error}"[:MOST_WORDS]]
    pairs = zip(quiz.questions, chosen, strict=True)
    return [_word(question.options, place) for question, place in pairs], complaint


def _word(options: tuple[Option, ...], place: int | None) -> str:
    if place is None:
        return "not answered"
    return "right" if options[place].correct else "wrong"


def _write(reply: Path, progress: dict[str, Any]) -> None:
    part = reply.with_suffix(".part")
    part.write_text(json.dumps(progress), encoding="utf-8")
    os.replace(part, reply)


def _limit_resources() -> None:
    """Keep a copy from filling memory and disk; where the system can, which Windows cannot."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        for name, most in MOST_BYTES.items():
            resource.setrlimit(getattr(resource, name), (most, most))


def main(arguments: list[str]) -> None:
    """Judge the copy that is named, and write what came of it."""
    path, reply, seconds, *more = arguments
    _limit_resources()
    try:
        found = Run(read_copy(Path(path)), float(seconds), Path(reply)).judge("--all" in more)
    except NotebookFileError as error:
        found = {"error": str(error)}
    _write(Path(reply), found)


if __name__ == "__main__":
    main(sys.argv[1:])

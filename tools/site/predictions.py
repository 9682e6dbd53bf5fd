"""What a page asks: the buttons of predictions, at the end all guesses, and the quiz."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tools.site import live

QUIZ = "exercises.QUIZ"
SHOWS = re.compile(r"^exercises\.(predict|guesses)\((?:\"([\w-]+)\")?\)$", re.MULTILINE)


def questions_in(exercises: Any) -> Callable[[str], str]:
    """Return what gives a cell's prediction or quiz as HTML, from its code; else "".

    Args:
        exercises: the module of the lecture.
    """

    def question(source: str) -> str:
        if source == QUIZ:
            return live.kit_explorer(exercises.QUIZ.live())
        call = SHOWS.search(source)
        if call is None:
            return ""
        shown = getattr(exercises, call[1])(*filter(None, call.groups()[1:]))
        return live.kit_explorer(shown)

    return question

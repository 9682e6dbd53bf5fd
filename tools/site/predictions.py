"""Predictions on a page: the same buttons as in the notebook, and at the end all guesses."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tools.site import live

SHOWS = re.compile(r"^exercises\.(predict|guesses)\((?:\"([\w-]+)\")?\)$", re.MULTILINE)


def predictions_of(exercises: Any) -> Callable[[str], str]:
    """Return what gives a cell's prediction as HTML, from its code; else "".

    Args:
        exercises: the module of the lecture.
    """

    def asked(source: str) -> str:
        call = SHOWS.search(source)
        if call is None:
            return ""
        shown = getattr(exercises, call[1])(*filter(None, call.groups()[1:]))
        return live.asked(shown)

    return asked

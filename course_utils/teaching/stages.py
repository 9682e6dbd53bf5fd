"""Exercises in stages: the next one is asked when the one before is passed."""

from __future__ import annotations

from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.verdict import Verdict

__all__ = ["check_in_turn"]


def check_in_turn(answer: Any, *stages: Exercise) -> Verdict:
    """The verdict of the first stage that ``answer`` does not pass, or of the last.

    A function that is wrong twice, say over the wrong axis and without a safe range, does what no
    single mistake does. In stages it hears of one thing at a time.

    Raises:
        ValueError: when there is no stage.

    >>> from course_utils.teaching.exercise import Exercise
    >>> small = Exercise("Twice", 1, 1, lambda x: 2 * x, ({"x": 3},), (), "Small numbers work.")
    >>> large = Exercise("Twice", 1, 1, lambda x: 2 * x, ({"x": 99},), (), "All numbers work.")
    >>> check_in_turn(lambda x: x + x, small, large)
    Passed. All numbers work.
    >>> check_in_turn(lambda x: min(2 * x, 100), small, large)
    Not yet. With x = 99 you gave 100 for `result`, expected about 198; ratio 0.5051.
    """
    if not stages:
        raise ValueError("stages must hold at least one exercise, got none")
    verdict = stages[0].check(answer)
    for stage in stages[1:]:
        if not verdict.passed:
            break
        verdict = stage.check(answer)
    return verdict

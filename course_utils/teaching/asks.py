"""What a lecture asks: checks, quiz and predictions, by the names that its cells use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz


def asks(folder: Path, exercises: Sequence[Exercise]) -> dict[str, Any]:
    """The names of a lecture's module `exercises`: `check_<function>`, `QUIZ`, `predict` and so on.

    Args:
        folder: has ``quiz.toml`` and ``predictions.toml``.
        exercises: in their order.
    """
    predictions = read_predictions(folder / "predictions.toml")
    return {
        **{f"check_{each.function}": each.check for each in exercises},
        "EXERCISES": tuple(exercises),
        "QUIZ": read_quiz(folder / "quiz.toml"),
        "PREDICTIONS": predictions,
        "predict": predictions.ask,
        "guesses": predictions.guesses,
    }

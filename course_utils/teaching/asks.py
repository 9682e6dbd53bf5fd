"""What a lecture asks: checks, quiz and predictions, by the names that its cells use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz


def asks(folder: Path, **exercises: Exercise) -> dict[str, Any]:
    """The names of a lecture's module `exercises`: `check_<name>`, `QUIZ`, `predict` and so on.

    Args:
        folder: has ``quiz.toml`` and ``predictions.toml``.
        exercises: in their order, each by the name of its check.
    """
    predictions = read_predictions(folder / "predictions.toml")
    return {
        **{f"check_{name}": exercise.check for name, exercise in exercises.items()},
        "EXERCISES": tuple(exercises.values()),
        "QUIZ": read_quiz(folder / "quiz.toml"),
        "PREDICTIONS": predictions,
        "predict": predictions.ask,
        "guesses": predictions.guesses,
    }

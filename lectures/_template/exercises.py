"""The exercises of the lecture, in their order, and its quiz."""

from __future__ import annotations

from pathlib import Path

import torch

from course_utils.teaching import Exercise, Mistake
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz

SCORES = torch.tensor([0.5, -1.0, 2.0])

SOFTEN = Exercise(
    title="A softmax with a temperature",
    function="soften",
    difficulty=1,
    minutes=3,
    reference=lambda scores, temperature: torch.softmax(scores / temperature, dim=-1),
    probes=(
        {"scores": SCORES, "temperature": 3.0},
        {"scores": torch.stack([SCORES, SCORES.flip(0)]), "temperature": 0.5},
    ),
    parts=("weights",),
    praise="Dividing the scores by a temperature above 1 evens the weights out.",
    mistakes=(
        Mistake(
            "multiplied",
            lambda scores, temperature: torch.softmax(scores * temperature, dim=-1),
            "You multiply by the temperature {temperature}. Hot means even, so the scores are "
            "divided by it.",
        ),
        Mistake(
            "weights divided",
            lambda scores, temperature: torch.softmax(scores, dim=-1) / temperature,
            "You divide the weights, and they no longer sum to 1. Divide the scores, then take "
            "the softmax.",
        ),
        Mistake(
            "softmax over the first axis",
            lambda scores, temperature: torch.softmax(scores / temperature, dim=0),
            "Your columns sum to 1. A query's weights stand in a row: `dim=-1`.",
        ),
    ),
)

EXERCISES = (SOFTEN,)
check_soften = SOFTEN.check

QUIZ = read_quiz(Path(__file__).with_name("quiz.toml"))
PREDICTIONS = read_predictions(Path(__file__).with_name("predictions.toml"))
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

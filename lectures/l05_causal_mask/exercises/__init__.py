"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from lectures.l05_causal_mask.exercises.causal_mask import CAUSAL_MASK
from lectures.l05_causal_mask.exercises.leak import LEAK
from lectures.l05_causal_mask.exercises.leak_models import leak_suspects, tokens
from lectures.l05_causal_mask.exercises.step import STEP

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_causal_mask",
    "check_leak",
    "check_step",
    "guesses",
    "leak_suspects",
    "predict",
    "tokens",
]

EXERCISES = (CAUSAL_MASK, STEP, LEAK)
check_causal_mask = CAUSAL_MASK.check
check_step = STEP.check
check_leak = LEAK.check
QUIZ = read_quiz(Path(__file__).parents[1] / "quiz.toml")
PREDICTIONS = read_predictions(Path(__file__).parents[1] / "predictions.toml")
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

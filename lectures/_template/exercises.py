"""The exercises of the lecture, in their order, and its quiz."""

from __future__ import annotations

from pathlib import Path

import torch

from course_utils.teaching import Exercise
from course_utils.teaching.asks import asks

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
)


@SOFTEN.mistake()
def multiplied(scores, temperature):
    """You multiply by the temperature {temperature}. Hot means even, so the scores are divided by
    it.
    """
    return torch.softmax(scores * temperature, dim=-1)


@SOFTEN.mistake()
def weights_divided(scores, temperature):
    """You divide the weights, and they no longer sum to 1. Divide the scores, then take the
    softmax.
    """
    return torch.softmax(scores, dim=-1) / temperature


@SOFTEN.mistake()
def softmax_over_the_first_axis(scores, temperature):
    """Your columns sum to 1. A query's weights stand in a row: `dim=-1`."""
    return torch.softmax(scores / temperature, dim=0)


globals().update(asks(Path(__file__).parent, soften=SOFTEN))

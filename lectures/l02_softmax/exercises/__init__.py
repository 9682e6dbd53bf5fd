"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l02_softmax.exercises.entropy_gradient import ENTROPY_GRADIENT
from lectures.l02_softmax.exercises.softmax import SOFTMAX

globals().update(
    asks(
        Path(__file__).parents[1],
        softmax=SOFTMAX,
        entropy_gradient=ENTROPY_GRADIENT,
    )
)

"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l06b_learning.exercises.diagnose import DIAGNOSE, training_curves
from lectures.l06b_learning.exercises.nucleus import NUCLEUS
from lectures.l06b_learning.exercises.sampler import SAMPLER, mystery_sampler
from lectures.l06b_learning.exercises.settled import SETTLED
from lectures.l06b_learning.exercises.silence import SILENCE

__all__ = ["mystery_sampler", "training_curves"]

globals().update(
    asks(
        Path(__file__).parents[1],
        nucleus=NUCLEUS,
        diagnose=DIAGNOSE,
        silence=SILENCE,
        settled=SETTLED,
        find_settings=SAMPLER,
    )
)

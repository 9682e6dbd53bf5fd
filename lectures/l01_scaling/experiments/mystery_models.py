"""Six black-box models that score queries against keys; one divides by √d_model.

The scale belongs to a head: √64 = 8 for a head of width 64. Code that reads the width from the
residual stream divides by √512 instead, keeps every shape right, and trains.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from course_utils.shapes import Float

D_MODEL = 512
NUM_HEADS = 8
HEAD_WIDTH = D_MODEL // NUM_HEADS

NAMES = ("amber", "birch", "cedar", "dogwood", "elder", "fir")

# What each kind divides its scores by, as a function of the number of keys.
DIVISORS: dict[str, Callable[[int], float]] = {
    "root of head width": lambda keys: math.sqrt(HEAD_WIDTH),
    "root of model width": lambda keys: math.sqrt(D_MODEL),
    "head width": lambda keys: HEAD_WIDTH,
    "nothing": lambda keys: 1.0,
    "root of length": lambda keys: math.sqrt(keys),
    "multiplies": lambda keys: 1 / math.sqrt(HEAD_WIDTH),
}


@dataclass(frozen=True)
class MysteryModel:
    """A model as a black box: call it with q and k, and it gives scores (before the softmax)."""

    name: str
    kind: str = field(repr=False)

    def __call__(
        self, q: Float[Tensor, "*batch T D"], k: Float[Tensor, "*batch S D"]
    ) -> Float[Tensor, "*batch T S"]:
        """Scores (..., T, S) of queries (..., T, 64) against keys (..., S, 64)."""
        return q @ k.transpose(-2, -1) / DIVISORS[self.kind](k.shape[-2])


def mystery_models(seed: int = 0) -> dict[str, MysteryModel]:
    """Six models by name, with d_model 512 and 8 heads; ``seed`` decides which name is which."""
    kinds = list(DIVISORS)
    random.Random(seed).shuffle(kinds)
    return {name: MysteryModel(name, kind) for name, kind in zip(NAMES, kinds, strict=True)}


def name_of(models: dict[str, MysteryModel], kind: str) -> str:
    """The name under which ``kind`` hides."""
    return next(name for name, model in models.items() if model.kind == kind)

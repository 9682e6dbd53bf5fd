"""Lecture 02: scores in the hand, their weights, the Jacobian, and its norm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from random import Random
from typing import Any

import numpy as np
import torch

from course_utils.attention import effective_tokens, softmax_jacobian
from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider

KEYS = 16
HIGHEST = 60.0
DRAWS = 20
# The draw whose norms at d_k = 16, 64 and 512 lie nearest to the medians of 10,000 rows or more.
TYPICAL = 6
WIDEST = 512
LARGEST_NORM = 0.5
SHARPNESS = np.geomspace(1e-3, 1e3, 121)
ONE_AHEAD = [2.5 if key == 6 else 0.0 for key in range(KEYS)]
ONE_HAS_WON = [7.3 if key == 6 else 0.0 for key in range(KEYS)]
TWO_COMPETE = [6.0 if key in (4, 11) else -4.0 for key in range(KEYS)]


@lru_cache(maxsize=1)
def running_scores() -> torch.Tensor:
    """q·k over the first 1, 2, ... 512 coordinates, (draws, keys, widths): always the same."""
    random = torch.Generator().manual_seed(2)
    size = (DRAWS, 1, WIDEST)
    q = torch.randn(size, generator=random, dtype=torch.float64)
    k = torch.randn((DRAWS, KEYS, WIDEST), generator=random, dtype=torch.float64)
    return (q * k).cumsum(dim=-1)


def typical_scores(width: int) -> list[float]:
    """The typical draw's scores at a head width, to one decimal, as the hand can set them."""
    scores = running_scores()[TYPICAL - 1, :, width - 1]
    return [round(each, 1) for each in scores.tolist()]


def jacobian_norm(weights: np.ndarray) -> np.ndarray:
    """Frobenius norm of diag(p) - p p^T for each row of weights, without forming the matrix.

    Each p_i meets what the others sum up to: (1 - p_i)² on the diagonal, their squares beside it.
    Written so, nothing is subtracted, and the norm of a row next to a vertex is not lost.
    """
    off = 1 - np.eye(weights.shape[-1])
    squares = weights**2
    return np.asarray(np.sqrt((squares * ((weights @ off) ** 2 + squares @ off)).sum(-1)))


def _path(scores: torch.Tensor) -> np.ndarray:
    """Largest weight and norm, as the scores grow from almost nothing to almost a vertex."""
    rows = (torch.from_numpy(SHARPNESS)[:, None] * scores).softmax(dim=-1).numpy()
    return np.stack([rows.max(-1), jacobian_norm(rows)])


@dataclass(frozen=True)
class Scores:
    """A row of scores that the picture lets the reader drag up and down."""

    label: str
    default: list[float]

    def check(self, name: str, value: Any) -> list[float]:
        if not isinstance(value, Sequence) or len(value) != len(self.default):
            raise TypeError(f"{name} must be {len(self.default)} numbers, got {value!r}")
        if not all(isinstance(each, Real) and not isinstance(each, bool) for each in value):
            raise TypeError(f"{name} must be {len(self.default)} numbers, got {value!r}")
        if not all(abs(float(each)) <= HIGHEST for each in value):
            raise ValueError(f"{name} must be −{HIGHEST:.0f} to {HIGHEST:.0f}, got {value!r}")
        return [float(each) for each in value]

    def spec(self) -> dict[str, Any]:
        ends = {"min": -HIGHEST, "max": HIGHEST, "step": 0.1}
        return {"kind": "scores", "label": self.label, **ends, "in_picture": True}

    def sweep(self) -> list[Any]:
        rising = [round(0.3 * key - 2, 1) for key in range(KEYS)]
        spread = [HIGHEST * (1 if key % 3 else -1) for key in range(KEYS)]
        alone = [HIGHEST if key == 9 else -HIGHEST for key in range(KEYS)]
        return [self.default, [0.0] * KEYS, rising, spread, alone]

    def sample(self, random: Random) -> Any:
        spread = random.choice((0.5, 3, 20))
        return [round(random.uniform(-spread, spread), 1) for _ in self.default]


@dataclass(frozen=True)
class SoftmaxState:
    """One query's scores (S,), weights (S,), and their Jacobian (S, S) with its norm.

    `path` holds largest weight and norm, (2, N), as the same scores are multiplied by anything
    from 0.001 to 1000.
    """

    scores: np.ndarray
    weights: np.ndarray
    jacobian: np.ndarray
    path: np.ndarray
    largest: float
    norm: float
    effective: float
    temperature: float


def _preset(scores: list[float], temperature: float = 1.0) -> dict[str, Any]:
    return {"scores": scores, "temperature": temperature}


class SoftmaxJacobian(Explorer):
    """Scores and a temperature → weights, Jacobian, and what is left of a gradient."""

    title = "How strongly do the weights react to the scores?"
    inputs = {
        "scores": Scores("score of key", ONE_AHEAD),
        "temperature": Slider("temperature", 0.1, 16.0, 1.0, 0.1, fine=1, in_picture=True),
    }
    presets = {
        "one ahead": _preset(ONE_AHEAD),
        "one has won": _preset(ONE_HAS_WON),
        "all equal": _preset([0.0] * KEYS),
        "two compete": _preset(TWO_COMPETE),
        "d_k = 16": _preset(typical_scores(16)),
        "d_k = 64": _preset(typical_scores(64)),
        "d_k = 512": _preset(typical_scores(512)),
        "d_k = 64, divided": _preset(typical_scores(64), 8.0),
    }
    view = "softmax.js"
    reading = (
        "Drag a score, and all weights follow, because they add up to 1. The temperature divides "
        "all scores; a faint outline is a score before that. The square, the softmax's Jacobian, "
        "has a column for each divided score and a row for each weight: teal where the weight "
        "rises with the score, magenta where it falls. Its strength is one number for all of it, "
        "the root of the sum of its squares (its norm). The curve shows the strength at every "
        "temperature: low on the left, where no key is ahead, and on the right, where one has "
        "everything. The buttons with d_k have the scores of a random query and random keys."
    )

    def compute(self, scores: list[float], temperature: float) -> SoftmaxState:
        raw = torch.tensor(scores, dtype=torch.float64)
        weights = (raw / temperature).softmax(dim=-1)
        return SoftmaxState(
            scores=raw.numpy(),
            weights=weights.numpy(),
            jacobian=softmax_jacobian(weights).numpy(),
            path=_path(raw),
            largest=weights.amax().item(),
            norm=float(jacobian_norm(weights.numpy())),
            effective=effective_tokens(weights).item(),
            temperature=temperature,
        )

    def caption(self, state: SoftmaxState) -> str:
        strength = "below 0.001" if state.norm < 0.0005 else number(state.norm, 3)
        return (
            f"The largest weight is [b:{number(state.largest, 2)}]; the query attends to about "
            f"[k:{number(state.effective, 1)}] of {KEYS} keys. The weights "
            f"react with strength [b:{strength}] (at most {number(LARGEST_NORM, 1)})."
        )

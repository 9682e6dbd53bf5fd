"""Queries and keys as clock hands that turn with their positions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider, Steps
from course_utils.positions import apply_rope, rope_frequencies

D = 64
PAIRS = D // 2
FARTHEST = 8192
BASES = (100, 1_000, 10_000, 100_000, 500_000, 1_000_000)
AIMS = (0, 1, 2, 5, 10, 20)
NEAR = {"m": 17, "n": 12, "base": 10_000, "pair": 4, "aim": 0}
FAR = {**NEAR, "m": 4012}
TURNS_DRAWN = 3  # beyond so many turns, one pair's wave is too fast to draw

# Whole offsets, all the near ones, ever fewer far out; and any distances for one pair's wave.
_AHEAD = np.unique(np.geomspace(1, FARTHEST, 200).round().astype(int))
OFFSETS = np.concatenate([-_AHEAD[::-1], [0], _AHEAD])
WAVE_DISTANCES = 10 ** np.linspace(0, math.log10(1 + FARTHEST), 360) - 1


@dataclass(frozen=True)
class RopeState:
    """One query and one key, rotated: hands as angles in radians, scores as shares of the maximum.

    `curve` is the score of all pairs where the key is `OFFSETS` away from the query, `wave` that of
    the chosen pair at the first `WAVE_DISTANCES` from where the query aims. `turn` is the number
    of positions in which the chosen pair turns once, `apart` the angle between its hands.
    """

    q_angles: np.ndarray
    k_angles: np.ndarray
    shares: np.ndarray
    score: float
    curve: np.ndarray
    wave: np.ndarray
    turn: float
    apart: float
    m: int
    n: int
    pair: int
    aim: int


@lru_cache(maxsize=len(BASES) * len(AIMS))
def vectors(base: int, aim: int) -> tuple[Tensor, Tensor]:
    """The query and the key before they are rotated, (D,) each: every pair of length 1.

    The key's pairs point to the right. The query is the key, rotated back by `aim` positions, so
    that it has the same direction as a key that many positions earlier.
    """
    k = torch.cat([torch.ones(PAIRS), torch.zeros(PAIRS)]).double()
    return apply_rope(k[None], torch.tensor([-aim]), base=base)[0], k


@lru_cache(maxsize=len(BASES) * len(AIMS))
def score_curve(base: int, aim: int) -> np.ndarray:
    """The score at every offset of `OFFSETS`: here the query is at 0."""
    q, k = vectors(base, aim)
    offsets = torch.from_numpy(OFFSETS)
    return (apply_rope(k.expand(len(offsets), D), offsets, base=base) @ q / PAIRS).numpy()


class RopeClock(Explorer):
    """Positions m and n, base, pair → hands, the score over the offset, all clocks at once."""

    title = "RoPE: does a score depend on where two tokens are, or on how far apart?"
    inputs = {
        "m": Slider("query's position m", 0, FARTHEST, NEAR["m"], fine=30, colour="query"),
        "n": Slider("key's position n", 0, FARTHEST, NEAR["n"], fine=30, colour="key"),
        "base": Steps("base of the angles", BASES, NEAR["base"]),
        "aim": Steps("query aims back by", AIMS, NEAR["aim"]),
        "pair": Slider("pair of dimensions", 0, PAIRS - 1, NEAR["pair"], in_picture=True),
    }
    presets = {
        "5 apart": NEAR,
        "move both: nothing changes": {**NEAR, "m": 27, "n": 22},
        "both 5,000 further": {**NEAR, "m": 5017, "n": 5012},
        "far apart": FAR,
        "base 10,000 → 500,000": {**FAR, "base": 500_000},
        "a query that aims 5 back": {**NEAR, "aim": 5},
    }
    view = "rope.js"
    reading = (
        "RoPE cuts a query and a key into 32 pairs of numbers. Each pair is a clock: position m "
        "turns the query's hand, position n the key's hand. Pair 0 turns fastest, pair 31 slowest. "
        "Hands that point the same way add to the score, opposite hands subtract; the score is the "
        "mean cosine of all 32 angles. Turn a hand to move one position, turn the face to move "
        "both, drag the dot to change the distance, and choose a clock to see it large."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        return {"offsets": OFFSETS, "wave_distances": WAVE_DISTANCES}

    def compute(self, m: int, n: int, base: int, aim: int, pair: int) -> RopeState:
        q, k = vectors(base, aim)
        both = apply_rope(torch.stack([q, k]), torch.tensor([m, n]), base=base)
        (qx, kx), (qy, ky) = (half.numpy() for half in both.chunk(2, dim=-1))
        shares = qx * kx + qy * ky
        speed = float(rope_frequencies(D, base=base)[pair])
        waves = int(np.searchsorted(WAVE_DISTANCES * speed, TURNS_DRAWN * 2 * math.pi))
        q_angles, k_angles = np.arctan2(qy, qx), np.arctan2(ky, kx)
        apart = math.remainder(float(q_angles[pair] - k_angles[pair]), 2 * math.pi)
        return RopeState(
            q_angles=q_angles,
            k_angles=k_angles,
            shares=shares,
            score=float(shares.mean()),
            curve=score_curve(base, aim),
            wave=np.cos(WAVE_DISTANCES[:waves] * speed),
            turn=2 * math.pi / speed,
            apart=abs(math.degrees(apart)),
            m=m,
            n=n,
            pair=pair,
            aim=aim,
        )

    def caption(self, state: RopeState) -> str:
        return (
            f"With the query at [q:{number(state.m)}] and the key at [k:{number(state.n)}], the "
            f"score is [b:{number(state.score, 3)}] of its maximum. In pair {state.pair}, the "
            f"hands are {number(state.apart)}° apart."
        )

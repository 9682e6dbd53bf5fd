"""Two pairs of a key under RoPE: where it goes as its position grows, and which pair counts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider, Steps
from course_utils.positions import apply_rope

KEYS = 64  # positions
BASES = (25, 100, 400)
NEAR = {"m": 10, "n": 16, "slow": 50, "base": 100}
FAR = {**NEAR, "n": 54}


@dataclass(frozen=True)
class TorusState:
    """A query at m and a key at every position, of two pairs, length 1, one direction at first.

    `fast` and `slow` (64,) are what each pair adds to the score of each position, `scores` (64,)
    their sum. `fast_angles` and `slow_angles` (64,) are how far the position has turned a pair.
    `tube` is the length of the fast pair, from 0 to 1.
    """

    fast_angles: np.ndarray
    slow_angles: np.ndarray
    fast: np.ndarray
    slow: np.ndarray
    scores: np.ndarray
    tube: float
    m: int
    n: int


class RopeTorus(Explorer):
    """Positions m and n, the length in the slow pair, base → a path on a torus, and the score.

    The rotation keeps the length of each pair, and the score is Σ |qᵢ| |kᵢ| cos(angle of pair i).
    """

    title = "Which pair does a score listen to?"
    inputs = {
        "m": Slider("query's position m", 0, KEYS - 1, NEAR["m"], in_picture=True),
        "n": Slider("key's position n", 0, KEYS - 1, NEAR["n"], in_picture=True),
        "slow": Slider("slow pair's squared length", 0, 100, NEAR["slow"], step=5, unit="%"),
        "base": Steps("base of the angles", BASES, NEAR["base"]),
    }
    presets = {
        "6 apart": NEAR,
        "44 apart": FAR,
        "… with a long fast pair": {**FAR, "slow": 10},
        "… with a long slow pair": {**FAR, "slow": 90},
        "… and a slower slow pair": {**FAR, "slow": 90, "base": 400},
        "only the slow pair": {**NEAR, "slow": 100},
    }
    view = "torus.js"
    reading = (
        "Two pairs have two angles, so a key whose position grows winds around a doughnut: its "
        "fast pair takes it around the tube, its slow pair around the ring. Each bead is a "
        "position, teal where the score with the query is high, magenta where it is negative. A "
        "thicker tube is a longer fast pair. Drag m or n along the beads, and drag the doughnut to "
        "look around. The doughnut shows both angles; distances on it are not those of the vectors."
    )

    def compute(self, m: int, n: int, slow: int, base: int) -> TorusState:
        share = slow / 100
        lengths = torch.tensor([math.sqrt(1 - share), math.sqrt(share)], dtype=torch.float64)
        content = torch.cat([lengths, torch.zeros(2)])  # both pairs point to the right
        positions = torch.arange(KEYS)
        keys = apply_rope(content.expand(KEYS, -1), positions, base=base)
        query = apply_rope(content[None], torch.tensor([m]), base=base)[0]
        fast, slow_part = (keys * query).unflatten(-1, (2, 2)).sum(-2).T.numpy()
        speed = base**-0.5
        return TorusState(
            fast_angles=np.arange(KEYS) * 1.0,
            slow_angles=np.arange(KEYS) * speed,
            fast=fast,
            slow=slow_part,
            scores=fast + slow_part,
            tube=float(lengths[0]),
            m=m,
            n=n,
        )

    def caption(self, state: TorusState) -> str:
        fast, slow, score = (
            number(each[state.n], 2) for each in (state.fast, state.slow, state.scores)
        )
        return (
            f"With the query at [q:{number(state.m)}] and the key at [k:{number(state.n)}], the "
            f"fast pair adds {fast} and the slow pair {slow}: the score is [b:{score}]."
        )

"""When the score of a turned query and key is an angle on the sphere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.attention import unit_vectors
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import BLUE, INK, MAGENTA, MUTED, ORANGE
from course_utils.positions import apply_rope

KEYS = 64  # at distances 0 to 63 behind the query
OFF, ON = "as they are", "to length 1"
BASES = (100, 1_000, 10_000, 100_000, 500_000)
PAIR_COUNTS = (1, 2, 4, 8, 32)
LONGEST = 2.05  # of a key, at the largest spread
SAME_ANGLE = 2.0  # degrees
START = {"distance": 20, "lengths": OFF, "spread": 0.3, "pairs": 8, "base": 10_000}


@dataclass(frozen=True)
class SphereState:
    """A query of length 1 and 64 keys of one direction, all turned; angles in degrees.

    `twins` are the two keys at nearly one angle whose scores differ most, as distances.
    """

    angles: np.ndarray
    scores: np.ndarray
    norms: np.ndarray
    changed_norm: float
    twins: tuple[int, int]
    distance: int
    pairs: int
    base: int
    normalised: bool


@lru_cache(maxsize=1)
def key_draws() -> np.ndarray:
    """A fixed draw for each key, standard normal, cut at 2: its length is exp(spread * draw)."""
    return torch.randn(KEYS, generator=torch.Generator().manual_seed(4)).clamp(-2, 2).numpy()


@lru_cache(maxsize=len(BASES) * len(PAIR_COUNTS))
def turned_directions(pairs: int, base: int) -> tuple[np.ndarray, np.ndarray]:
    """The query (2 pairs,) and the 64 keys (64, 2 pairs), all of length 1 and turned by RoPE.

    Before turning they are one vector, with equally much in every pair. The query stands at 63,
    the key of distance d at 63 - d.
    """
    content = unit_vectors(torch.cat([torch.ones(pairs), torch.zeros(pairs)]).double())
    places = torch.tensor([KEYS - 1, *range(KEYS - 1, -1, -1)])
    turned = apply_rope(content.expand(KEYS + 1, -1), places, base=base).numpy()
    return turned[0], turned[1:]


def find_twins(angles: np.ndarray, scores: np.ndarray) -> tuple[int, int]:
    """The two entries within `SAME_ANGLE` degrees of one another whose scores differ most.

    At every base and number of pairs that can be chosen there are some.

    >>> find_twins(np.array([10.0, 40.0, 40.5, 41.0]), np.array([0.9, 0.8, 0.5, 0.7]))
    (1, 2)
    """
    near = np.abs(angles[:, None] - angles) <= SAME_ANGLE
    gaps = np.where(np.triu(near, 1), np.abs(scores[:, None] - scores), -1.0)
    first, second = np.unravel_index(int(gaps.argmax()), gaps.shape)
    return int(first), int(second)


class RopeSphere(DrawnExplorer):
    """Distance, lengths, pairs, base → the angle of each key to the query, and its score."""

    title = "When is a score after RoPE an angle on the sphere?"
    inputs = {
        "distance": Slider("distance m − n", 0, KEYS - 1, 1, START["distance"]),
        "lengths": Choice("queries and keys", (OFF, ON), START["lengths"]),
        "spread": Slider("spread of the lengths", 0.0, 0.35, 0.05, START["spread"]),
        "pairs": Steps("pairs of coordinates", PAIR_COUNTS, START["pairs"]),
        "base": Steps("base of the speeds", BASES, START["base"]),
    }
    scenes = {
        "lengths mix in": START,
        "all to length 1: the cosine": {**START, "lengths": ON},
        "as they are, but of one length": {**START, "spread": 0.0, "distance": 40},
        "one pair: round the circle": {**START, "lengths": ON, "pairs": 1, "distance": 4},
        "base 500,000": {**START, "lengths": ON, "base": 500_000},
    }
    size = (8.0, 3.4)
    frames = ("distance", "lengths")

    def prepare(self) -> None:
        for pairs in PAIR_COUNTS:
            for base in BASES:
                turned_directions(pairs, base)

    def compute(
        self, distance: int, lengths: str, spread: float, pairs: int, base: int
    ) -> SphereState:
        query, directions = turned_directions(pairs, base)
        before = np.ones(KEYS) if lengths == ON else np.exp(spread * key_draws())
        keys = before[:, None] * directions
        norms = np.linalg.norm(keys, axis=1)
        scores = keys @ query
        angles = np.degrees(np.arccos(np.clip(scores / norms, -1, 1)))
        return SphereState(
            angles=angles,
            scores=scores,
            norms=norms,
            changed_norm=float(np.abs(norms / before - 1).max()),
            twins=find_twins(angles, scores),
            distance=distance,
            pairs=pairs,
            base=base,
            normalised=lengths == ON,
        )

    def draw(self, figure: Figure, state: SphereState) -> None:
        self._draw_vectors(figure.add_axes((0.015, 0.185, 0.555, 0.705)))
        self._draw_scores(figure.add_axes((0.665, 0.185, 0.305, 0.705)))

    def _draw_vectors(self, axes: Axes) -> None:
        """Each key in the half plane it spans with the query; its shadow there is the score."""
        axes.set(xlim=(-LONGEST, LONGEST), ylim=(-0.1, LONGEST), aspect="equal", yticks=[])
        axes.set(xticks=[-2, -1, 0, 1, 2], xlabel="score: the key's shadow on the query")
        axes.set_title("keys at their angle to the query (blue)", loc="left")
        axes.spines["left"].set_visible(False)
        axes.spines["bottom"].set_position(("data", 0.0))
        half = np.linspace(0, math.pi, 121)
        axes.plot(np.cos(half), np.sin(half), color=MUTED, linewidth=1.2, linestyle="--")
        axes.annotate("length 1", (-0.74, 0.74), color=MUTED, ha="right", fontsize=11)
        (self._tips,) = axes.plot([], [], "o", color=MAGENTA, markersize=6, markeredgecolor=BLUE)
        axes.plot([0, 1], [0, 0], color=BLUE, linewidth=3.5, zorder=3)
        (self._shadow,) = axes.plot([], [], color=INK, linewidth=6, alpha=0.35)
        (self._drop,) = axes.plot([], [], color=INK, linewidth=1.2, linestyle=":")
        (self._key,) = axes.plot([], [], color=ORANGE, linewidth=3, marker="s", markevery=[1])
        self.animate(self._tips, self._shadow, self._drop, self._key)

    def _draw_scores(self, axes: Axes) -> None:
        axes.set(xlim=(0, 180), xticks=range(0, 181, 45), ylim=(-LONGEST, LONGEST))
        axes.set(xlabel="angle to the query, degrees", ylabel="score q · k")
        axes.set_title("line: the cosine", loc="left")
        angle = np.linspace(0, 180, 91)
        axes.plot(angle, np.cos(np.radians(angle)), color=MUTED, linewidth=1.2, linestyle="--")
        (self._dots,) = axes.plot([], [], "o", color=MAGENTA, markersize=6, markeredgecolor=BLUE)
        (self._twins,) = axes.plot([], [], "o-", color=INK, markersize=10, fillstyle="none")
        (self._here,) = axes.plot([], [], "s", color=ORANGE, markersize=9)
        self.animate(self._dots, self._twins, self._here)

    def update(self, state: SphereState) -> None:
        x = state.scores
        y = state.norms * np.sin(np.radians(state.angles))
        at = state.distance
        self._tips.set_data(x, y)
        self._key.set_data([0, x[at]], [0, y[at]])
        self._drop.set_data([x[at], x[at]], [0, y[at]])
        self._shadow.set_data([0, x[at]], [0, 0])
        self._dots.set_data(state.angles, state.scores)
        self._here.set_data(state.angles[at : at + 1], state.scores[at : at + 1])
        twins = list(state.twins)
        self._twins.set_data(state.angles[twins], state.scores[twins])

    def caption(self, state: SphereState) -> str:
        at = state.distance
        angle, score, norm = state.angles[at], state.scores[at], state.norms[at]
        if state.normalised:
            whose = f"Its length is 1, so its score is the cosine, {_minus(score)}."
        else:
            whose = f"Its length is {norm:.2f}, so its score is {norm:.2f} times the cosine, "
            whose += f"{_minus(score)}."
        return f"{_angle_in_words(at, angle)} {whose} {_compare(state)} {_turning(state)}"


def _angle_in_words(distance: int, angle: float) -> str:
    where = "At the query's own place" if distance == 0 else f"{distance} back"
    return f"{where}, the key stands at {angle:.0f}° to the query."


def _compare(state: SphereState) -> str:
    one, other = state.twins
    first, second = state.scores[one], state.scores[other]
    gap = abs(first - second)
    numbers = (
        f"differ by {gap:.2f}" if gap < 0.05 else f"score {_minus(first)} and {_minus(second)}"
    )
    return f"The keys {one} and {other} back stand within {SAME_ANGLE:.0f}° and {numbers}."


def _turning(state: SphereState) -> str:
    if state.pairs == 1:
        turn = "position" if state.distance == 1 else "positions"
        return (
            f"With one pair the turn is the angle: {state.distance} {turn} of 57.3° (1 radian, "
            f"whatever the base) make {math.degrees(state.distance):,.0f}°, taken the short way."
        )
    return (
        f"Each of {state.pairs} pairs turns at its own speed (base {state.base:,}): the angle is "
        "that of their mean cosine. RoPE changed no length."
    )


def _minus(number: float) -> str:
    return f"{number:z.2f}".replace("-", "−")

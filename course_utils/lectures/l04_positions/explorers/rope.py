"""Queries and keys as clock hands that turn with their positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_utils.explorers.draw import HeatMap, mute_axes
from course_utils.explorers.explorer import Explorer
from course_utils.explorers.inputs import Slider, Steps
from course_utils.explorers.style import BLUE, GRID, INK, MUTED, ORANGE, PURPLE, SIGNED_MAP, YELLOW
from course_utils.positions import apply_rope, rope_frequencies

D = 64
PAIRS = D // 2
FARTHEST = 8192
BASES = (100, 1_000, 10_000, 100_000, 500_000, 1_000_000)
AIMS = (0, 1, 2, 5, 10, 20)
NEAR = {"m": 17, "n": 12, "base": 10_000, "pair": 4, "aim": 0}
FAR = {**NEAR, "m": 4012}

ROW = 16  # clocks in a row
TURNS_DRAWN = 3  # beyond so many turns, one pair's wave is too fast to draw
MARKS = (0, 10, 100, 1000)
CENTRES = np.stack([np.arange(PAIRS) % ROW, np.arange(PAIRS) // ROW], axis=1).astype(float)


@dataclass(frozen=True)
class RopeState:
    """One query and one key, turned: hands as angles in radians, scores as shares of the largest.

    `curve` is the score of all pairs at the distances of `DISTANCES`, `wave` that of the
    chosen pair at those of `WAVE_DISTANCES`, up to `waves` of them. In `aligned` pairs the hands
    are less than 60 degrees apart.
    """

    q_angles: np.ndarray
    k_angles: np.ndarray
    shares: np.ndarray
    score: float
    curve: np.ndarray
    wave: np.ndarray
    waves: int
    m: int
    n: int
    base: int
    pair: int
    aim: int
    speed: float
    aligned: int


def signed_log(distance: np.ndarray) -> np.ndarray:
    """Where a distance stands on the axis: logarithmic on both sides of 0.

    >>> signed_log(np.array([-9.0, 0.0, 99.0])).tolist()
    [-1.0, 0.0, 2.0]
    """
    return np.sign(distance) * np.log10(1 + np.abs(distance))


# Whole distances, all the near ones, ever fewer far out; and any distances for one pair's wave.
_AHEAD = np.unique(np.geomspace(1, FARTHEST, 200).round().astype(int))
DISTANCES = np.concatenate([-_AHEAD[::-1], [0], _AHEAD])
CURVE_X = signed_log(DISTANCES)
END = float(signed_log(np.array([FARTHEST]))[0])
WAVE_DISTANCES = 10 ** np.linspace(0, END, 360) - 1


@lru_cache(maxsize=len(BASES) * len(AIMS))
def vectors(base: int, aim: int) -> tuple[Tensor, Tensor]:
    """The query and the key before they are turned, (D,) each: every pair of length 1.

    The key's pairs point to the right. The query is the key, turned back by `aim` positions, so
    that it meets a key that many positions earlier head on.
    """
    k = torch.cat([torch.ones(PAIRS), torch.zeros(PAIRS)]).double()
    return apply_rope(k[None], torch.tensor([-aim]), base=base)[0], k


@lru_cache(maxsize=len(BASES) * len(AIMS))
def score_curve(base: int, aim: int) -> np.ndarray:
    """The score at every distance of `DISTANCES`: here the key stands at 0."""
    q, k = vectors(base, aim)
    distances = torch.from_numpy(DISTANCES)
    return (apply_rope(q.expand(len(distances), D), distances, base=base) @ k / PAIRS).numpy()


class RopeClock(Explorer):
    """Positions m and n, base, pair → hands, the score over the distance, all clocks at once."""

    title = "RoPE: what does a score know about positions m and n?"
    inputs = {
        "m": Slider("query's position m", 0, FARTHEST, 1, NEAR["m"]),
        "n": Slider("key's position n", 0, FARTHEST, 1, NEAR["n"]),
        "base": Steps("base of the speeds", BASES, NEAR["base"]),
        "pair": Slider("pair shown large", 0, PAIRS - 1, 1, NEAR["pair"]),
        "aim": Steps("query aims back by", AIMS, NEAR["aim"]),
    }
    scenes = {
        "5 apart": NEAR,
        "shift both by 10: nothing changes": {**NEAR, "m": 27, "n": 22},
        "shift both by 5,000": {**NEAR, "m": 5017, "n": 5012},
        "long distance": FAR,
        "base 10,000 → 500,000": {**FAR, "base": 500_000},
        "a query that aims 5 back": {**NEAR, "aim": 5},
    }
    size = (8.0, 4.5)
    frames = ("m", "n")

    def prepare(self) -> None:
        for base in BASES:
            for aim in AIMS:
                score_curve(base, aim)

    def compute(self, m: int, n: int, base: int, pair: int, aim: int) -> RopeState:
        q, k = vectors(base, aim)
        both = apply_rope(torch.stack([q, k]), torch.tensor([m, n]), base=base)
        (qx, kx), (qy, ky) = (half.numpy() for half in both.chunk(2, dim=-1))
        shares = qx * kx + qy * ky
        speed = float(rope_frequencies(D, base=base)[pair])
        waves = int(np.searchsorted(WAVE_DISTANCES * speed, TURNS_DRAWN * 2 * math.pi))
        return RopeState(
            q_angles=np.arctan2(qy, qx),
            k_angles=np.arctan2(ky, kx),
            shares=shares,
            score=float(shares.mean()),
            curve=score_curve(base, aim),
            wave=np.cos(WAVE_DISTANCES[:waves] * speed),
            waves=waves,
            m=m,
            n=n,
            base=base,
            pair=pair,
            aim=aim,
            speed=speed,
            aligned=int((shares > math.cos(math.radians(60))).sum()),
        )

    def draw(self, figure: Figure, state: RopeState) -> None:
        self._draw_circle(figure.add_axes((0.01, 0.32, 0.315, 0.595)))
        self._draw_curve(figure.add_axes((0.41, 0.41, 0.575, 0.505)))
        self._draw_clocks(figure.add_axes((0.1, 0.01, 0.89, 0.198)))

    def _draw_circle(self, axes: Axes) -> None:
        mute_axes(axes)
        axes.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
        turn = np.linspace(0, 2 * math.pi, 181)
        axes.plot(np.cos(turn), np.sin(turn), color=GRID, linewidth=1.5)
        (self._between,) = axes.plot([], [], color=GRID, linewidth=6)
        self._hands = [
            axes.plot([], [], color=colour, marker=marker, markersize=9, linewidth=3.2)[0]
            for colour, marker in ((ORANGE, "s"), (BLUE, "o"))
        ]
        _headings(axes, ("query at m", BLUE), ("key at n", ORANGE))
        self.animate(self._between, *self._hands)

    def _draw_curve(self, axes: Axes) -> None:
        axes.set(xlim=(-END - 0.16, END + 0.16), ylim=(-1.08, 1.12), yticks=[-1, 0, 1])
        axes.set_xlabel("distance m − n", labelpad=1)
        axes.set_ylabel("share of the largest", labelpad=1)
        _headings(axes, ("score of all 32 pairs", INK), ("of the pair shown large", PURPLE))
        marks = [-mark for mark in MARKS[:0:-1]] + list(MARKS)
        axes.set_xticks(
            signed_log(np.array(marks)), [f"{mark:,}".replace("-", "−") for mark in marks]
        )
        axes.axhline(0, color=GRID, linewidth=1)
        (self._wave,) = axes.plot([], [], color=PURPLE, linewidth=1.1)
        (self._curve,) = axes.plot([], [], color=INK, linewidth=1.6)
        (self._here,) = axes.plot([], [], color=MUTED, linewidth=1.2, linestyle="--")
        (self._dot,) = axes.plot([], [], "D", color=YELLOW, markersize=10, markeredgecolor=INK)
        self.animate(self._wave, self._curve, self._here, self._dot)

    def _draw_clocks(self, axes: Axes) -> None:
        mute_axes(axes)
        axes.set(xlim=(-0.5, ROW - 0.5), ylim=(PAIRS // ROW - 0.5, -0.5))
        for row, words in enumerate((f"0 to {ROW - 1}", f"{ROW} to {PAIRS - 1}")):
            axes.text(-0.65, row, words, ha="right", va="center")
        axes.set_title(
            "all pairs, the fastest first; orange: hands together, purple: opposite",
            loc="left",
            fontsize=12,
            pad=5,
        )
        # Pale colours, from the middle of the map, so that hands in front stay visible.
        self._faces = HeatMap(axes, low=-2.2, high=2.2, colormap=SIGNED_MAP)
        (gaps,) = axes.plot(*_gaps(), color="white", linewidth=3)
        self._small = [
            axes.plot([], [], color=colour, linewidth=width)[0]
            for colour, width in ((ORANGE, 3.0), (BLUE, 2.0))
        ]
        self._frame = Rectangle(
            (0, 0), 0.94, 0.94, fill=False, edgecolor=INK, linewidth=2.6, zorder=4
        )
        axes.add_patch(self._frame)
        self.animate(self._faces, gaps, *self._small, self._frame)

    def update(self, state: RopeState) -> None:
        angles = (state.k_angles, state.q_angles)
        for hand, small, angle in zip(self._hands, self._small, angles, strict=True):
            tip = angle[state.pair]
            hand.set_data([0, math.cos(tip)], [0, math.sin(tip)])
            small.set_data(*_clock_hands(angle))
        self._between.set_data(*_arc(state.k_angles[state.pair], state.q_angles[state.pair]))
        self._faces.set_data(state.shares.reshape(-1, ROW))
        self._frame.set_xy(CENTRES[state.pair] - 0.47)
        # The wave of one pair peaks where the query aims.
        offsets = WAVE_DISTANCES[: state.waves]
        both = np.concatenate([state.aim - offsets[::-1], state.aim + offsets])
        self._wave.set_data(signed_log(both), np.concatenate([state.wave[::-1], state.wave]))
        here = signed_log(np.array([state.m - state.n]))
        # The curve skips far distances; through the one shown it has to go.
        at = np.searchsorted(DISTANCES, state.m - state.n)
        self._curve.set_data(np.insert(CURVE_X, at, here), np.insert(state.curve, at, state.score))
        self._here.set_data(here.repeat(2), [-1.08, state.score])
        self._dot.set_data(here, [state.score])

    def caption(self, state: RopeState) -> str:
        share = state.shares[state.pair]
        apart = math.degrees(math.acos(max(-1.0, min(1.0, share))))
        once = 2 * math.pi / state.speed
        aims = f", and the query aims {state.aim:,} back" if state.aim else ""
        return (
            f"m = {state.m:,} and n = {state.n:,}: m − n = {_minus(state.m - state.n, ',')}{aims}. "
            f"The score is {_minus(state.score, 'z.3f')} of the largest. With base {state.base:,}, "
            f"pair {state.pair} turns once in {once:,.1f} positions; its hands stand {apart:.0f}° "
            f"apart, cosine {_minus(share, 'z.2f')}. In {state.aligned} of {PAIRS} pairs the hands "
            "are less than 60° apart. Moving m and n together turns every hand and leaves the "
            "score as it is."
        )


def _minus(number: float, form: str) -> str:
    """A number with a minus sign as long as a plus sign.

    >>> _minus(-12, ","), _minus(-0.001, "z.2f")
    ('−12', '0.00')
    """
    return format(number, form).replace("-", "−")


def _headings(axes: Axes, left: tuple[str, str], right: tuple[str, str]) -> None:
    """Two names above an axes, each in the colour of what it names."""
    for (words, colour), where, x in ((left, "left", 0.0), (right, "right", 1.0)):
        axes.text(x, 1.03, words, color=colour, ha=where, fontsize=13, transform=axes.transAxes)


def _gaps() -> tuple[np.ndarray, np.ndarray]:
    """The lines between the clocks, as one line with gaps."""
    columns, rows = np.arange(1, ROW) - 0.5, np.arange(1, PAIRS // ROW) - 0.5
    down, across = np.array([-0.5, PAIRS // ROW - 0.5, np.nan]), np.array([-0.5, ROW - 0.5, np.nan])
    x = [*np.repeat(columns, 3), *np.tile(across, len(rows))]
    return np.array(x), np.array([*np.tile(down, len(columns)), *np.repeat(rows, 3)])


def _clock_hands(angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All small hands as one line with gaps."""
    tips = CENTRES + 0.41 * np.stack([np.cos(angles), -np.sin(angles)], axis=1)  # y points down
    line = np.stack([CENTRES, tips, np.full((PAIRS, 2), np.nan)], axis=1).reshape(-1, 2)
    return line[:, 0], line[:, 1]


def _arc(start: float, end: float) -> tuple[np.ndarray, np.ndarray]:
    """The shorter way round from one hand to the other."""
    gap = math.remainder(end - start, 2 * math.pi)
    turn = start + np.linspace(0, gap, 41)
    return 0.45 * np.cos(turn), 0.45 * np.sin(turn)

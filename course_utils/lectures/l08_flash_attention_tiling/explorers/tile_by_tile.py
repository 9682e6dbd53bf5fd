"""Lecture 08: the tiled loop step by step: the tile, m, l, the accumulator, the bytes moved."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_utils.explorers.draw import HeatMap
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import BLUE, MUTED, ORANGE, SIGNED_MAP
from course_utils.kernels.trace import TileStep, trace_tiles
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import naive_forward

N, D = 24, 4
BLOCKS = (4, 6, 8, 12)
MOST_STEPS = (N // BLOCKS[0]) ** 2
EVERY, CAUSAL = "every key", "earlier keys (causal)"
SCORE_VIEW, ACC_VIEW, OUT_VIEW = 5.0, 4.0, 1.5
M_VIEW, L_VIEW = (-2, 6), (0, 8)
# Marks of squares that show no number, and their colours.
VALUE, BLANK, DONE, DEAD = -1, 0, 1, 2
MARKS = ("#ffffff", "#cfe3f0", "#d5d5d5")


class MarkedMap(HeatMap):
    """A heat map in which a square may carry a mark, a plain colour, instead of a number."""

    def __init__(self, axes: Axes, *, view: float) -> None:
        super().__init__(axes, low=-view, high=view, colormap=SIGNED_MAP)
        colours = np.array([to_rgba(mark) for mark in MARKS])
        self._table = self._table.copy()
        self._table[: len(MARKS)] = (255 * colours).round().astype(np.uint8).view(np.uint32)[:, 0]

    def set_marked(self, values: np.ndarray, marks: np.ndarray) -> None:
        """Show each value, or its mark where there is one (0 and up)."""
        self.set_data(values)
        levels = self._levels.clip(min=len(MARKS))
        self._levels = np.where(marks >= 0, marks, levels).astype(np.uint8)


@dataclass(frozen=True)
class TileState:
    """What is drawn: the grid of scores, the running numbers, and the bytes.

    `first_row` to `last_row` and `first_key` to `last_key` are the tile, both inclusive, or the
    last one when `finished`.
    """

    scores: np.ndarray
    score_marks: np.ndarray
    hidden: np.ndarray
    edges: tuple[int, int]
    first_row: int
    last_row: int
    first_key: int
    last_key: int
    m: np.ndarray
    l: np.ndarray  # noqa: E741  (the letter of the papers)
    alpha: np.ndarray
    rose: np.ndarray
    touched: np.ndarray
    in_hand: np.ndarray
    acc: np.ndarray
    acc_marks: np.ndarray
    out: np.ndarray
    out_marks: np.ndarray
    step: int
    steps: int
    finished: bool
    first_of_block: bool
    ends_block: bool
    skipped: int
    causal: bool
    moved: int
    moved_in_the_end: int
    naive: int


@lru_cache(maxsize=1)
def problem() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of one head (N, D), always the same."""
    random = torch.Generator().manual_seed(8)
    q, k, v = torch.randn(3, N, D, generator=random)
    return 1.3 * q, 1.3 * k, v


@lru_cache(maxsize=2 * len(BLOCKS) ** 2)
def steps_of(causal: bool, block_m: int, block_n: int) -> tuple[TileStep, ...]:
    """The loop over the problem, tile by tile."""
    return trace_tiles(*problem(), causal=causal, block_m=block_m, block_n=block_n)


class TileByTile(DrawnExplorer):
    """A step of the loop → the tile that is read, what is held on the chip, what was moved."""

    title = "What does tiled attention hold and move, tile by tile?"
    inputs = {
        "step": Slider("tile number", 1, MOST_STEPS + 1, 1, 6),
        "reads": Choice("a query attends to", (EVERY, CAUSAL), EVERY),
        "block_m": Steps("queries in a tile", BLOCKS, 8),
        "block_n": Steps("keys in a tile", BLOCKS, 6),
    }
    scenes = {
        "first tile": {"step": 1, "reads": EVERY, "block_m": 8, "block_n": 6},
        "maxima rise: rescale": {"step": 6, "reads": EVERY, "block_m": 8, "block_n": 6},
        "last tile": {"step": 12, "reads": EVERY, "block_m": 8, "block_n": 6},
        "causal: tiles skipped": {"step": 5, "reads": CAUSAL, "block_m": 8, "block_n": 6},
        "larger blocks of queries": {"step": 37, "reads": EVERY, "block_m": 12, "block_n": 6},
    }
    size = (8.0, 4.8)
    frames = ("step", "reads")

    def prepare(self) -> None:
        for causal in (False, True):
            for block_m in BLOCKS:
                for block_n in BLOCKS:
                    steps_of(causal, block_m, block_n)

    def compute(self, step: int, reads: str, block_m: int, block_n: int) -> TileState:
        causal = reads == CAUSAL
        loop = steps_of(causal, block_m, block_n)
        finished = step > len(loop)
        at = min(step, len(loop)) - 1
        now = loop[at]
        rows, sums = now.rows, now.l.numpy()
        in_hand = np.zeros(N, bool)
        in_hand[rows.start : rows.stop] = not finished
        written = np.arange(N) < (rows.stop if now.ends_block or finished else rows.start)
        return TileState(
            scores=_scores(),
            score_marks=_score_marks(loop, at, causal, finished),
            hidden=_later(causal),
            edges=(block_m, block_n),
            first_row=rows.start,
            last_row=rows.stop - 1,
            first_key=now.keys.start,
            last_key=now.keys.stop - 1,
            m=np.where(sums > 0, now.m.numpy(), 0),
            l=sums,
            alpha=now.alpha.numpy(),
            rose=in_hand & (now.m > loop[max(at - 1, 0)].m).numpy(),
            touched=sums > 0,
            in_hand=in_hand,
            acc=now.acc.numpy(),
            acc_marks=_only(in_hand),
            out=now.acc.numpy() / np.where(sums > 0, sums, 1)[:, None],
            out_marks=_only(written),
            step=at + 1,
            steps=len(loop),
            finished=finished,
            first_of_block=at == 0 or loop[at - 1].rows != rows,
            ends_block=now.ends_block,
            skipped=now.skipped,
            causal=causal,
            moved=now.bytes_moved,
            moved_in_the_end=loop[-1].bytes_moved,
            naive=naive_forward(N, N, D, element_size=4).bytes,
        )

    def draw(self, figure: Figure, state: TileState) -> None:
        self._draw_grid(figure.add_axes((0.075, 0.3, 0.3695, 0.616)))
        bottom, height = 0.3, 0.616
        self._m = self._draw_bars(figure.add_axes((0.475, bottom, 0.09, height)), "m", M_VIEW)
        self._l = self._draw_bars(figure.add_axes((0.583, bottom, 0.09, height)), "l", L_VIEW)
        self._alpha = self._draw_bars(figure.add_axes((0.691, bottom, 0.09, height)), "α", (0, 1))
        self._acc = self._draw_vectors(figure.add_axes((0.803, bottom, 0.08, height)), "acc")
        self._out = self._draw_vectors(figure.add_axes((0.905, bottom, 0.08, height)), "out")
        for middle, words in ((0.679, "held on the chip"), (0.945, "memory")):
            figure.text(middle, 0.222, words, ha="center", color=MUTED)
        self._draw_bytes(figure.add_axes((0.13, 0.105, 0.855, 0.1)), state)

    def _draw_grid(self, axes: Axes) -> None:
        axes.set(title="scores", ylabel="query")
        axes.set_xlabel("key", labelpad=1)
        _rows_of(axes)
        axes.set(xlim=(-0.5, N - 0.5), xticks=range(0, N, 6))
        self._grid = MarkedMap(axes, view=SCORE_VIEW)
        (self._cuts,) = axes.plot([], [], color=MUTED, linewidth=0.8)
        (self._hidden,) = axes.plot([], [], "x", color=MUTED, markersize=5, markeredgewidth=0.9)
        self._frame = Rectangle((0, 0), 1, 1, fill=False, edgecolor=ORANGE, linewidth=3)
        axes.add_patch(self._frame)
        self.animate(self._grid, self._cuts, self._hidden, self._frame)

    def _draw_bars(self, axes: Axes, title: str, view: tuple[int, int]):
        """Bars of the queries in hand and of the others, each as one thick line with gaps."""
        axes.set(title=title, xlim=view, xticks=[0, view[1]])
        axes.get_xticklabels()[-1].set_horizontalalignment("right")  # clear of the next panel
        _rows_of(axes, labelled=False)
        axes.axvline(0, color=MUTED, linewidth=0.8)
        look = {"linewidth": 6.5, "solid_capstyle": "butt"}
        (others,) = axes.plot([], [], color="#b9c4cc", **look)
        (now,) = axes.plot([], [], color=BLUE, **look)
        self.animate(others, now)
        return others, now

    def _draw_vectors(self, axes: Axes, title: str) -> MarkedMap:
        axes.set(title=title, xlim=(-0.5, D - 0.5), xticks=[])
        _rows_of(axes, labelled=False)
        axes.spines[["top", "right"]].set_visible(True)
        made = MarkedMap(axes, view=ACC_VIEW if title == "acc" else OUT_VIEW)
        self.animate(made)
        return made

    def _draw_bytes(self, axes: Axes, state: TileState) -> None:
        axes.set(xlim=(0, state.naive), ylim=(-0.5, 1.5), xlabel="bytes moved to and from memory")
        axes.set_yticks([1, 0], ["naive", "tiled"])
        axes.set_xticks(range(0, state.naive, 2000))
        axes.tick_params(axis="y", length=0)
        look = {"linewidth": 13, "solid_capstyle": "butt"}
        axes.plot([0, state.naive], [1, 1], color=ORANGE, **look)
        (self._rest,) = axes.plot([], [], color=MARKS[DONE], **look)
        (self._moved,) = axes.plot([], [], color=BLUE, **look)
        self.animate(self._rest, self._moved)

    def update(self, state: TileState) -> None:
        self._grid.set_marked(state.scores, state.score_marks)
        self._cuts.set_data(*_cut_lines(*state.edges))
        query, key = np.nonzero(state.hidden & (state.score_marks != DEAD))
        self._hidden.set_data(key, query)
        rows, keys = state.last_row + 1 - state.first_row, state.last_key + 1 - state.first_key
        self._frame.set_bounds(state.first_key - 0.5, state.first_row - 0.5, keys, rows)
        self._frame.set_visible(not state.finished)
        others = state.touched & ~state.in_hand
        for bars, values in ((self._m, state.m), (self._l, state.l)):
            for bar, shown in zip(bars, (others, state.in_hand), strict=True):
                bar.set_data(*_bars(values, shown))
        self._alpha[1].set_data(*_bars(state.alpha, state.in_hand))
        self._acc.set_marked(state.acc, state.acc_marks)
        self._out.set_marked(state.out, state.out_marks)
        self._moved.set_data([0, state.moved], [0, 0])
        self._rest.set_data([state.moved, state.moved_in_the_end], [0, 0])

    def caption(self, state: TileState) -> str:
        ratio = state.naive / state.moved_in_the_end
        if state.finished:
            return (
                f"All {state.steps} tiles are done, and out = acc / l is written. Moved: "
                f"{state.moved:,} bytes; the naive form moves {state.naive:,}, {ratio:.1f} times "
                f"as many. There was never more than one tile of scores at a time.{_skipped(state)}"
            )
        return (
            f"Tile {state.step} of {state.steps}: queries {state.first_row} to {state.last_row} "
            f"attend to keys {state.first_key} to {state.last_key}. {_rescaled(state)}"
            f"{' Then acc / l is written to out.' if state.ends_block else ''} "
            f"Moved so far: {state.moved:,} bytes of {state.moved_in_the_end:,}; the naive form "
            f"moves {state.naive:,}, {ratio:.1f} times as many. Pale blue: scores used and "
            f"gone.{_skipped(state)}"
        )


def _scores() -> np.ndarray:
    q, k, _ = problem()
    return (q @ k.mT / D**0.5).numpy()


def _score_marks(loop: tuple[TileStep, ...], at: int, causal: bool, finished: bool) -> np.ndarray:
    """What each square of the grid is: being read, done, still to come, or in no tile at all."""
    marks = np.full((N, N), DEAD)
    for index, step in enumerate(loop):
        tile = np.s_[step.rows.start : step.rows.stop, step.keys.start : step.keys.stop]
        if index == at and not finished:
            marks[tile] = np.where(_later(causal)[tile], BLANK, VALUE)
        else:
            marks[tile] = DONE if index <= at else BLANK
    return marks


def _later(causal: bool) -> np.ndarray:
    """Which scores are hidden: those of keys after the query."""
    return np.triu(np.full((N, N), causal), 1)


def _only(shown: np.ndarray) -> np.ndarray:
    return np.where(shown, VALUE, BLANK)[:, None]


def _rescaled(state: TileState) -> str:
    if state.first_of_block:
        return "It is their first tile: there is nothing to rescale yet (α = 0)."
    if not state.rose.any():
        return "No query's maximum rose, so nothing is rescaled (α = 1)."
    return (
        f"The maximum of {state.rose.sum()} of {state.in_hand.sum()} queries rose: their l and acc "
        f"are multiplied by α, {state.alpha[state.rose].min():.2f} at the least."
    )


def _skipped(state: TileState) -> str:
    if not state.causal:
        return ""
    return (
        f" Dead tiles skipped so far: {state.skipped} (grey: no query there may attend to such a "
        "key). × marks a later key in a tile that is needed."
    )


def _rows_of(axes: Axes, *, labelled: bool = True) -> None:
    axes.set(ylim=(N - 0.5, -0.5), yticks=range(0, N, 6) if labelled else [])


def _bars(values: np.ndarray, shown: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One line with gaps, from 0 to the value in each row shown."""
    rows = np.flatnonzero(shown)
    nothing = np.full(len(rows), np.nan)
    x = np.stack([np.zeros(len(rows)), values[rows], nothing], axis=1)
    y = np.stack([rows, rows, nothing], axis=1)
    return x.ravel(), y.ravel()


@lru_cache(maxsize=len(BLOCKS) ** 2)
def _cut_lines(block_m: int, block_n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the grid is cut into tiles, as one line with gaps."""
    across, down = np.arange(block_m, N, block_m) - 0.5, np.arange(block_n, N, block_n) - 0.5
    ends = np.array([-0.5, N - 0.5, np.nan])
    x = [*np.tile(ends, len(across)), *np.repeat(down, 3)]
    y = [*np.repeat(across, 3), *np.tile(ends, len(down))]
    return np.array(x), np.array(y)

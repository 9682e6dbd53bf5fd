"""Lecture 07: what LoRA learns at each rank, and how low a rank the whole change would be."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Steps
from course_utils.explorers.style import BLUE, INK, MUTED, ORANGE, PURPLE
from course_utils.lectures.l07_dynamic_pruning.experiments.adapting import MATRICES
from course_utils.lectures.l07_dynamic_pruning.experiments.lora_runs import LoraRun, lora_runs
from course_utils.models.small_gpt import SMALL_GPT

RANKS = (1, 2, 4, 8, 16, 32, 64)
CODE, PROSE = "code, which it learns", "prose, which it knew"
TEXTS = {CODE: "code", PROSE: "prose"}
ALL = SMALL_GPT.parameters


@dataclass(frozen=True)
class RanksState:
    """Losses by rank, and the singular values of one matrix's change.

    `losses` are those of LoRA, (ranks, runs); `matrices` and `everything` those of the fine-tunes
    without it, of the same matrices alone and of the whole model. `cut` is the loss of the latter
    with each matrix's change cut to the rank; it was measured on code alone, elsewhere it is empty.
    """

    learned: np.ndarray
    losses: np.ndarray
    matrices: np.ndarray
    matrices_learned: int
    everything: np.ndarray
    cut: np.ndarray
    before: float
    spectrum: np.ndarray
    rank: int
    asked: str
    name: str

    @property
    def energy(self) -> float:
        """The share of the change, in squares, that its nearest matrix of the rank holds."""
        squares = self.spectrum**2
        return float(squares[: self.rank].sum() / squares.sum())


class Ranks(DrawnExplorer):
    """Rank → trained numbers, measured loss, and what it leaves of a whole fine-tune's change."""

    title = "How low may the rank of a change be?"
    inputs = {
        "rank": Steps("rank r", RANKS, 4),
        "asked": Choice("asked on", (CODE, PROSE), CODE),
        "block": Steps("spectrum of block", tuple(range(SMALL_GPT.num_layers)), 0),
        "matrix": Choice("and of its matrix", MATRICES, "query"),
    }
    scenes = {
        "rank 1": {"rank": 1, "asked": CODE},
        "rank 16": {"rank": 16, "asked": CODE},
        "rank 64": {"rank": 64, "asked": CODE},
        "what is forgotten": {"rank": 16, "asked": PROSE},
        "another spectrum": {"rank": 4, "block": 2, "matrix": "contract"},
    }
    size = (8.0, 4.3)
    frames = ("rank", "asked")

    def compute(self, rank: int, asked: str, block: int, matrix: str) -> RanksState:
        found = lora_runs()
        by_rank = {run.rank: run for run in found.runs if run.rank is not None}
        matrices, everything = (
            next(run for run in found.runs if run.rank is None and run.only_matrices == only)
            for only in (True, False)
        )
        (spectrum,) = (
            values
            for name, values in found.spectra.items()
            if name.startswith(f"blocks.{block}.") and name.endswith(f".{matrix}")
        )
        return RanksState(
            learned=np.array([by_rank[each].learned for each in RANKS]),
            losses=np.array([_asked(by_rank[each], asked) for each in RANKS]),
            matrices=_asked(matrices, asked),
            matrices_learned=matrices.learned,
            everything=_asked(everything, asked),
            cut=np.array([found.cut[each] for each in RANKS] if asked == CODE else []),
            before=found.code_before if asked == CODE else found.prose_before,
            spectrum=spectrum.numpy(),
            rank=rank,
            asked=asked,
            name=f"block {block}, {matrix}",
        )

    def draw(self, figure: Figure, state: RanksState) -> None:
        self._draw_losses(figure.add_axes((0.085, 0.135, 0.435, 0.735)))
        self._draw_spectrum(figure.add_axes((0.615, 0.135, 0.375, 0.735)))
        named = {
            "LoRA": self._medians,
            "matrices": self._matrices,
            "everything": self._everything,
            "… cut to r": self._cut,
            "before": self._before,
            "kept by r": self._kept,
            "left out": self._rest,
        }
        style: dict[str, Any] = {"handlelength": 1.2, "columnspacing": 1.1, "handletextpad": 0.5}
        figure.legend(
            named.values(), named.keys(), loc="upper center", ncols=len(named),
            borderaxespad=0.15, **style,
        )  # fmt: skip

    def _draw_losses(self, axes: Axes) -> None:
        axes.set(xscale="log", xlim=(3e3, 1.2 * ALL), xlabel="numbers trained")
        axes.set_ylabel("loss (nats per token)")
        axes.set_xticks([1e4, 1e5], ["10,000", "100,000"])
        axes.minorticks_off()
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        (self._before,) = axes.plot([], [], ":", color=INK, linewidth=1.8)
        (self._dots,) = axes.plot([], [], ".", color=BLUE, markersize=5)
        (self._medians,) = axes.plot([], [], "-", color=BLUE)
        (self._cut,) = axes.plot([], [], "--", color=ORANGE, marker="v", markersize=7)
        styles = (("s", "none"), ("s", PURPLE))
        self._matrices, self._everything = (
            axes.plot(
                [], [], mark, color=PURPLE, markerfacecolor=face, markersize=9, markeredgewidth=2
            )[0]
            for mark, face in styles
        )
        (self._chosen,) = axes.plot([], [], "o", color=BLUE, markersize=12, markeredgecolor="white")
        self._losses = axes
        lines = (self._before, self._cut, self._medians, self._dots)
        self.animate(*lines, self._matrices, self._everything, self._chosen)

    def _draw_spectrum(self, axes: Axes) -> None:
        values = SMALL_GPT.width
        axes.set(xlim=(0, values + 1), ylim=(0, 1.03), xlabel="singular value of the change")
        axes.set_ylabel("of the largest")
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        style: dict[str, Any] = {"linewidth": 2.2, "solid_capstyle": "butt"}
        (self._rest,) = axes.plot([], [], color=MUTED, alpha=0.65, **style)
        (self._kept,) = axes.plot([], [], color=BLUE, **style)
        self.animate(self._rest, self._kept)

    def backdrop(self, state: RanksState) -> Hashable:
        return state.asked

    def draw_backdrop(self, state: RanksState) -> None:
        parts = (state.losses, state.matrices, state.everything, state.cut, [state.before])
        every = np.concatenate([np.ravel(part) for part in parts])
        room = 0.06 * (every.max() - every.min())
        self._losses.set_ylim(every.min() - room, every.max() + room)

    def update(self, state: RanksState) -> None:
        at = RANKS.index(state.rank)
        runs = state.losses.shape[1]
        medians = np.median(state.losses, axis=1)
        self._before.set_data((1, 10 * ALL), (state.before, state.before))
        self._dots.set_data(state.learned.repeat(runs), state.losses.ravel())
        self._medians.set_data(state.learned, medians)
        self._cut.set_data(state.learned[: len(state.cut)], state.cut)
        self._matrices.set_data([state.matrices_learned], [np.median(state.matrices)])
        self._everything.set_data([ALL], [np.median(state.everything)])
        self._chosen.set_data([state.learned[at]], [medians[at]])
        shares = state.spectrum / state.spectrum[0]
        places = np.arange(1, len(shares) + 1)
        self._kept.set_data(*_bars(places[: state.rank], shares[: state.rank]))
        self._rest.set_data(*_bars(places[state.rank :], shares[state.rank :]))

    def caption(self, state: RanksState) -> str:
        at = RANKS.index(state.rank)
        learned, losses = int(state.learned[at]), state.losses[at]
        cut = (
            f", and {state.cut[at]:.2f} if what changed in each matrix is cut to rank {state.rank}"
            if len(state.cut)
            else ""
        )
        values = (
            "the largest singular value holds"
            if state.rank == 1
            else f"the {state.rank} largest singular values hold"
        )
        return (
            f"Rank {state.rank}: {learned:,} numbers are trained, {learned / ALL:.1%} of the "
            f"model's {ALL:,}. Loss on unseen {TEXTS[state.asked]}: {np.median(losses):.2f} "
            f"({losses.min():.2f} to {losses.max():.2f} in {len(losses)} runs), before training "
            f"{state.before:.2f}; with these matrices trained in full "
            f"{np.median(state.matrices):.2f}, with everything, embeddings included, "
            f"{np.median(state.everything):.2f}{cut}. Of that change in {state.name}, {values} "
            f"{state.energy:.0%} of the squared norm."
        )


def _asked(run: LoraRun, asked: str) -> np.ndarray:
    return (run.code if asked == CODE else run.prose).numpy()


def _bars(places: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bars from 0 up as one line, broken between them."""
    ends = np.stack([np.zeros(len(heights)), heights, np.full(len(heights), np.nan)], axis=1)
    return places.repeat(3), ends.ravel()

"""Lecture 08: where naive and tiled attention stand under a GPU's roofline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Steps
from course_utils.explorers.style import BLUE, INK, MUTED, ORANGE, PURPLE
from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import GPUS, KB, MB
from course_utils.lectures.l08_flash_attention_tiling.experiments.roofline import (
    attainable_flops,
    tile_memory,
    time_bound,
)
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    Cost,
    naive_forward,
    tiled_forward,
)

HEADS = 64  # batch times heads: enough to fill each of these GPUs
LENGTHS = tuple(2**power for power in range(7, 17))
WIDTHS = (16, 32, 64, 128)
BLOCKS = (16, 32, 64, 128, 256)
EVERY, CAUSAL = "every key", "earlier keys (causal)"
INTENSITIES = np.array([1.0, 1e5])
RATES = (1e12, 2e15)
MOST_SHARE = 3.5


class Scale(NamedTuple):
    """The axis of one of the two panels on the right."""

    title: str
    view: tuple[float, float]
    ticks: dict[float, str]


SCALES = (
    Scale("bytes moved", (1e6, 1e13), {1e6: "1 MB", 1e9: "1 GB", 1e12: "1 TB"}),
    Scale("least time", (1e-7, 10.0), {1e-6: "1 µs", 1e-3: "1 ms", 1.0: "1 s"}),
)
AS_SHOWN = {
    "gpu": "H100 SXM",
    "length": 4096,
    "width": 64,
    "reads": EVERY,
    "block_m": 128,
    "block_n": 64,
}
NAMES = ("naive", "tiled, no cache", "tiled, k and v in L2")
LOOKS = {NAMES[0]: ("o", ORANGE), NAMES[1]: ("s", PURPLE), NAMES[2]: ("D", BLUE)}


@dataclass(frozen=True)
class Standing:
    """One way to compute it: what it moves, and the best it can do."""

    bytes: int
    intensity: float
    seconds: float
    rate: float
    limit: str


@dataclass(frozen=True)
class RooflineState:
    """The roof of the GPU, the three ways under it, and the tile against the chip."""

    gpu: str
    roof: np.ndarray
    ridge: float
    ways: dict[str, Standing]
    length: int
    width: int
    causal: bool
    block_m: int
    block_n: int
    shared: int
    shared_limit: int
    registers: int
    registers_limit: int
    matrix: int
    l2: int
    l2_needed: int


def _standing(cost: Cost, gpu: str) -> Standing:
    bound = time_bound(cost, GPUS[gpu])
    rate = cost.matmul_flops / bound.seconds
    return Standing(cost.bytes, cost.intensity, bound.seconds, rate, bound.limit)


class Roofline(DrawnExplorer):
    """Sizes, tile and GPU → bytes moved, intensity, least time, whether the tile fits."""

    title = "What limits attention: products, exps, or memory?"
    inputs = {
        "gpu": Choice("graphics processor", tuple(GPUS), "H100 SXM"),
        "reads": Choice("a query attends to", (EVERY, CAUSAL), EVERY),
        "length": Steps("sequence length N", LENGTHS, 4096),
        "width": Steps("head width D", WIDTHS, 64),
        "block_m": Steps("queries in a tile", BLOCKS, 128),
        "block_n": Steps("keys in a tile", BLOCKS, 64),
    }
    scenes = {
        "as in the kernel": AS_SHOWN,
        "few queries in a tile": {**AS_SHOWN, "block_m": 16},
        "narrow heads: exp limits": {**AS_SHOWN, "width": 32},
        "a tile too large": {**AS_SHOWN, "width": 128, "block_m": 256, "block_n": 128},
        "a graphics card": {**AS_SHOWN, "gpu": "RTX 4090", "width": 128, "block_n": 128},
        "causal": {**AS_SHOWN, "reads": CAUSAL},
        "64k tokens": {**AS_SHOWN, "length": 65536},
    }
    size = (8.0, 4.5)
    frames = ("length", "block_m")

    def compute(
        self, gpu: str, reads: str, length: int, width: int, block_m: int, block_n: int
    ) -> RooflineState:
        chip, causal = GPUS[gpu], reads == CAUSAL
        sizes = {"T": length, "S": length, "D": width, "heads": HEADS}
        tiles = {"block_m": block_m, "block_n": block_n, "causal": causal}
        costs = (
            naive_forward(**sizes),
            tiled_forward(**sizes, **tiles),
            tiled_forward(**sizes, **tiles, cached=True),
        )
        memory = tile_memory(block_m, block_n, width)
        at_once = min(HEADS, -(-chip.num_sms // -(-length // block_m)))
        return RooflineState(
            gpu=gpu,
            roof=np.array([attainable_flops(chip, x) for x in _roof_x(chip.ridge)]),
            ridge=chip.ridge,
            ways={name: _standing(cost, gpu) for name, cost in zip(NAMES, costs, strict=True)},
            length=length,
            width=width,
            causal=causal,
            block_m=block_m,
            block_n=block_n,
            shared=memory.shared,
            shared_limit=chip.shared_per_block,
            registers=memory.registers,
            registers_limit=chip.registers_per_sm,
            matrix=2 * length * length * HEADS,
            l2=chip.l2,
            l2_needed=at_once * 2 * 2 * length * width,
        )

    def draw(self, figure: Figure, state: RooflineState) -> None:
        self._draw_roof(figure.add_axes((0.105, 0.13, 0.465, 0.85)))
        right, width = 0.625, 0.36
        self._bytes = self._draw_dots(figure.add_axes((right, 0.765, width, 0.15)), SCALES[0])
        self._times = self._draw_dots(figure.add_axes((right, 0.455, width, 0.15)), SCALES[1])
        self._draw_tile(figure.add_axes((right + 0.095, 0.13, width - 0.095, 0.15)))

    def _draw_roof(self, axes: Axes) -> None:
        axes.set(xscale="log", yscale="log", xlim=INTENSITIES, ylim=RATES)
        axes.set(xlabel="FLOP per byte moved", ylabel="TFLOP/s at best")
        axes.set_xticks([1, 10, 100, 1e3, 1e4], ["1", "10", "100", "1,000", "10,000"])
        axes.set_yticks([1e12, 1e13, 1e14, 1e15], ["1", "10", "100", "1,000"])
        axes.minorticks_off()
        axes.grid()
        (self._roof,) = axes.plot([], [], color=INK, linewidth=2.6)
        (self._ridge,) = axes.plot([], [], color=MUTED, linewidth=1.2, linestyle=":")
        self._points = {}
        for name, (marker, colour) in LOOKS.items():
            look = {"markersize": 12, "markeredgecolor": "white", "zorder": 4}
            (self._points[name],) = axes.plot([], [], marker, color=colour, label=name, **look)
        axes.legend(loc="lower right", handletextpad=0.1, borderaxespad=0.2, labelspacing=0.3)
        self.animate(self._roof, self._ridge, *self._points.values())

    def _draw_dots(self, axes: Axes, scale: Scale) -> dict[str, Line2D]:
        """A row for each way, a dot on a logarithmic axis."""
        axes.set(xscale="log", xlim=scale.view, ylim=(2.6, -0.6), title=scale.title, yticks=[])
        axes.set_xticks(list(scale.ticks), list(scale.ticks.values()))
        axes.minorticks_off()
        axes.grid(axis="x")
        dots = {}
        for row, (name, (marker, colour)) in enumerate(LOOKS.items()):
            look = {"marker": marker, "markersize": 9, "markeredgecolor": "white", "linewidth": 2}
            look |= {"markevery": [1], "color": colour}
            (dots[name],) = axes.plot([scale.view[0]] * 2, [row] * 2, **look)
        self.animate(*dots.values())
        return dots

    def _draw_tile(self, axes: Axes) -> None:
        axes.set(title="room for a tile", xlim=(0, MOST_SHARE), ylim=(1.6, -0.6))
        axes.set_yticks([0, 1], ["shared", "registers"])
        axes.set_xticks([0, 1, 2, 3], ["0", "all", "2 ×", "3 ×"])
        axes.tick_params(axis="y", length=0, pad=1)
        axes.axvline(1, color=INK, linewidth=1.6)
        self._shares = [
            axes.plot([], [], color=BLUE, linewidth=11, solid_capstyle="butt")[0] for _ in range(2)
        ]
        self.animate(*self._shares)

    def update(self, state: RooflineState) -> None:
        self._roof.set_data(_roof_x(state.ridge), state.roof)
        self._ridge.set_data([state.ridge] * 2, [RATES[0], state.roof.max()])
        for name, way in state.ways.items():
            self._points[name].set_data([way.intensity], [way.rate])
            self._bytes[name].set_xdata([SCALES[0].view[0], way.bytes])
            self._times[name].set_xdata([SCALES[1].view[0], way.seconds])
        shares = (state.shared / state.shared_limit, state.registers / state.registers_limit)
        for row, (bar, share) in enumerate(zip(self._shares, shares, strict=True)):
            bar.set_data([0, min(share, MOST_SHARE)], [row, row])
            bar.set_color(BLUE if share <= 1 else ORANGE)

    def caption(self, state: RooflineState) -> str:
        naive, plain, cached = state.ways.values()
        return (
            f"{state.gpu}, {HEADS} heads of width {state.width}, N = {state.length:,}"
            f"{', causal' if state.causal else ''}, 16 bits, forward. Naive: {_describe(naive)}. "
            f"Tiled {state.block_m} × {state.block_n}: {_describe(plain)}, if nothing is cached; "
            f"{_describe(cached)}, if k and v of the heads at work ({_size(state.l2_needed)}) "
            f"stay in the L2 cache ({_size(state.l2)}). Beyond {state.ridge:.0f} FLOP/byte "
            f"(dotted) the memory does not limit. {_fit(state)}{_matrix_in_cache(state)}"
        )


def _roof_x(ridge: float) -> np.ndarray:
    return np.array([INTENSITIES[0], ridge, INTENSITIES[1]])


def _describe(way: Standing) -> str:
    return (
        f"{_moved(way.bytes)} moved, {way.intensity:,.0f} FLOP/byte, at least "
        f"{_duration(way.seconds)} ({way.limit})"
    )


def _fit(state: RooflineState) -> str:
    needs = (
        f"{_size(state.shared)} of {_size(state.shared_limit)} of shared memory and "
        f"{_size(state.registers)} of {_size(state.registers_limit)} of registers"
    )
    over = {
        "shared memory": state.shared - state.shared_limit,
        "registers": state.registers - state.registers_limit,
    }
    missing = [f"{_size(size)} of {name}" for name, size in over.items() if size > 0]
    if not missing:
        return f"The tile takes about {needs}: it fits."
    return f"The tile takes about {needs}: it does not fit, for want of {' and '.join(missing)}."


def _matrix_in_cache(state: RooflineState) -> str:
    if state.matrix > state.l2:
        return ""
    return (
        f" So short, the matrices of all heads ({_size(state.matrix)}) would fit in the L2 cache "
        "too, and the naive form may do better than this."
    )


def _size(size: int) -> str:
    """What a place on the chip holds, in 1024s."""
    return f"{size / KB:,.0f} KB" if size < MB else f"{size / MB:,.0f} MB"


def _moved(size: int) -> str:
    """What is moved, in the 1000s of a bandwidth."""
    return f"{size / 1e6:,.1f} MB" if size < 1e9 else f"{size / 1e9:,.1f} GB"


def _duration(seconds: float) -> str:
    """A computed time in three digits."""
    for unit, words in ((1.0, "seconds"), (1e-3, "milliseconds"), (1e-6, "microseconds")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {words}"
    return f"{1e6 * seconds:.2g} microseconds"

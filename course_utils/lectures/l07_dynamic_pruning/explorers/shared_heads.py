"""Lecture 07: query heads that share keys and values, and the cache that this leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.bytes import MEMORIES, describe_bytes
from course_utils.explorers.draw import mute_axes
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Steps
from course_utils.explorers.style import BLUE, MAGENTA, ORANGE, PURPLE
from course_utils.measure.costs import kv_cache_bytes

HEADS = tuple(2**power for power in range(8))
LENGTHS = tuple(2**power for power in range(9, 18))
BATCHES = tuple(2**power for power in range(7))


class Shape(NamedTuple):
    """What else of a published model sizes its cache."""

    layers: int
    head_width: int


# Radford et al., "Language models are unsupervised multitask learners", 2019, and its checkpoint;
# Touvron et al., "Llama 2", 2023, table 1, and the published checkpoints; Jiang et al., "Mistral
# 7B", 2023, table 1; Llama team, "The Llama 3 herd of models", 2024, table 3.
SHAPES = {
    "GPT-2: L 12, D 64": Shape(12, 64),
    "7B models: L 32, D 128": Shape(32, 128),
    "Llama 2 70B: L 80, D 128": Shape(80, 128),
    "Llama 405B: L 126, D 128": Shape(126, 128),
}
_, SEVEN, SEVENTY, LARGEST = SHAPES
ONE = {"length": 4096, "batch": 1}


@dataclass(frozen=True)
class SharingState:
    """Who reads which keys and values, and the bytes of the cache for every way to share.

    `reads` says for each query head which key/value head it reads. `bytes` is the cache at each of
    `counts` key/value heads, from one to one for each query head.
    """

    reads: np.ndarray
    counts: np.ndarray
    bytes: np.ndarray
    heads: int
    key_value_heads: int
    asked: int
    cache: int
    layers: int
    head_width: int
    length: int
    batch: int

    @property
    def sharing(self) -> int:
        """Query heads for each head of keys and values."""
        return self.heads // self.key_value_heads


class SharedHeads(DrawnExplorer):
    """Query heads and key/value heads of a model → who shares, and the bytes of its cache."""

    title = "How many query heads share keys and values, and what does that save?"
    inputs = {
        "heads": Steps("query heads H", HEADS[1:], 32),
        "key_value_heads": Steps("key/value heads G", HEADS, 8),
        "shape": Choice("layers, head width", tuple(SHAPES), SEVEN),
        "length": Steps("tokens in a text T", LENGTHS, 4096),
        "batch": Steps("texts at once B", BATCHES, 1),
    }
    scenes = {
        "Llama 2 7B": {"heads": 32, "key_value_heads": 32, "shape": SEVEN, **ONE},
        "Mistral 7B": {"heads": 32, "key_value_heads": 8, "shape": SEVEN, **ONE},
        "multi-query": {"heads": 32, "key_value_heads": 1, "shape": SEVEN, **ONE},
        "Llama 2 70B": {"heads": 64, "key_value_heads": 8, "shape": SEVENTY, **ONE},
        "… for 32 readers": {
            "heads": 64, "key_value_heads": 8, "shape": SEVENTY, "length": 4096, "batch": 32,
        },
        "Llama 3.1 405B, 128k": {
            "heads": 128, "key_value_heads": 8, "shape": LARGEST, "length": 131072, "batch": 1,
        },
    }  # fmt: skip
    size = (8.0, 4.4)
    frames = ("heads", "key_value_heads")

    def compute(
        self, heads: int, key_value_heads: int, shape: str, length: int, batch: int
    ) -> SharingState:
        layers, head_width = SHAPES[shape]
        groups = min(key_value_heads, heads)  # both are powers of two, so G divides H
        counts = np.array([count for count in HEADS if count <= heads])
        caches = [
            kv_cache_bytes(layers, int(count), head_width, length, batch=batch) for count in counts
        ]
        return SharingState(
            reads=np.arange(heads) // (heads // groups),
            counts=counts,
            bytes=np.array(caches, float),
            heads=heads,
            key_value_heads=groups,
            asked=key_value_heads,
            cache=caches[int(np.log2(groups))],
            layers=layers,
            head_width=head_width,
            length=length,
            batch=batch,
        )

    def draw(self, figure: Figure, state: SharingState) -> None:
        self._draw_sharing(figure.add_axes((0.115, 0.675, 0.875, 0.32)))
        self._draw_bytes(figure.add_axes((0.115, 0.13, 0.64, 0.5)))
        named = {"as set": self._chosen, "another G": self._bars, **self._memories}
        figure.legend(
            named.values(), named.keys(), loc="center left", bbox_to_anchor=(0.785, 0.38),
            handlelength=1.5, borderaxespad=0,
        )  # fmt: skip

    def _draw_sharing(self, axes: Axes) -> None:
        axes.set(xlim=(0, 1), ylim=(-0.25, 1.25))
        mute_axes(axes)
        for height, name in ((1, "queries"), (0, "keys,\nvalues")):
            axes.annotate(
                name, (0, height), (-4, 0), textcoords="offset points", ha="right", va="center",
                annotation_clip=False,
            )  # fmt: skip
        # Neighbours take turns in colour, so that one sees where a group ends.
        self._groups = [
            (
                axes.plot([], [], color=colour, linewidth=1.4)[0],
                axes.plot([], [], "o", color=colour, markeredgecolor="white")[0],
                axes.plot([], [], "s", color=colour, markeredgecolor="white")[0],
            )
            for colour in (BLUE, ORANGE)
        ]
        self.animate(*(artist for group in self._groups for artist in group))

    def _draw_bytes(self, axes: Axes) -> None:
        # Of the whole, not in bytes: then a saving of 8 times looks like one in every setting.
        axes.set(xlim=(0, 1.22), ylim=(-0.6, len(HEADS) - 0.4))
        axes.set(xlabel="cache, as a share of the cache for G = H", ylabel="key/value heads G")
        axes.set_yticks(range(len(HEADS)), [str(count) for count in HEADS])
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "¼", "½", "¾", "1"])
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        bar = {"linewidth": 9, "solid_capstyle": "butt"}
        (self._bars,) = axes.plot([], [], color=MAGENTA, **bar)
        (self._chosen,) = axes.plot([], [], color=BLUE, **bar)
        self._memories = {
            name: axes.axvline(0, color=PURPLE, linewidth=2, linestyle=style)
            for name, style in zip(MEMORIES, ("--", ":"), strict=True)
        }
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
        look: dict[str, Any] = {"va": "center", "fontsize": 11, "bbox": box}
        self._sizes = [axes.text(0, 0, "", **look) for _ in range(2)]
        self.animate(self._bars, self._chosen, *self._memories.values(), *self._sizes)

    def update(self, state: SharingState) -> None:
        H, G = state.heads, state.key_value_heads
        queries = (np.arange(H) + 0.5) / H
        keys = (np.arange(G) + 0.5) / G
        for turn, (lines, circles, squares) in enumerate(self._groups):
            which = state.reads % 2 == turn
            above, below = queries[which], keys[state.reads[which]]
            ends = np.stack([above, below, np.full(len(above), np.nan)], axis=1)
            lines.set_data(ends.ravel(), np.tile([1.0, 0.0, np.nan], len(above)))
            circles.set_data(above, np.ones(len(above)))
            squares.set_data(keys[turn::2], np.zeros(len(keys[turn::2])))
            circles.set_markersize(_size(H))
            squares.set_markersize(_size(G))
        shares, chosen = state.bytes / state.bytes[-1], int(np.log2(G))
        rows, gap = np.arange(len(shares)), np.full(len(shares), np.nan)
        ends = np.stack([np.zeros(len(shares)), shares, gap], axis=1)
        self._bars.set_data(ends.ravel(), rows.repeat(3))
        self._chosen.set_data([0, shares[chosen]], [chosen, chosen])
        for text, row in zip(self._sizes, (chosen, len(shares) - 1), strict=True):
            text.set(position=(shares[row] + 0.01, row), text=describe_bytes(int(state.bytes[row])))
        for name, line in self._memories.items():
            share = MEMORIES[name] / state.bytes[-1]
            line.set_xdata([share, share])
            line.set_visible(share <= 1)

    def caption(self, state: SharingState) -> str:
        texts = "one text" if state.batch == 1 else f"{state.batch} texts"
        return (
            f"{_who(state)} 2 · L · G · D · T · B · 2 bytes = 2 · {state.layers} · "
            f"{state.key_value_heads} · {state.head_width} · {state.length:,} · {state.batch} · 2 "
            f"= {describe_bytes(state.cache)} for {texts}{_saved(state)}. {_fits(state)}"
        )


def _fits(state: SharingState) -> str:
    laptop, card = (state.cache <= size for size in MEMORIES.values())
    if laptop:
        return "A laptop of 16 GB would hold it."
    if card:
        return "It takes more than a laptop's 16 GB."
    return "It takes more than a laptop's 16 GB and an H100's 80 GB."


def _size(count: int) -> float:
    """Of a marker, in points: as large as so many beside each other can be."""
    return min(15.0, 430 / count)


def _who(state: SharingState) -> str:
    H, G = state.heads, state.key_value_heads
    beyond = "" if state.asked == G else f" ({state.asked} would be more than there are queries)"
    if G == H:
        return f"G = H = {H}{beyond}: each query head has its own keys and values (multi-head)."
    if G == 1:
        return f"G = 1: all {H} query heads attend to the same keys and values (multi-query)."
    return f"H = {H}, G = {G}: every {state.sharing} query heads share keys and values (grouped)."


def _saved(state: SharingState) -> str:
    if state.sharing == 1:
        return f"; with one head for all it would be {describe_bytes(int(state.bytes[0]))}"
    return (
        f", 1/{state.sharing} of the {describe_bytes(int(state.bytes[-1]))} of {state.heads} heads"
    )

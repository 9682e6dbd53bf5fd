"""Lecture 05: how much memory the keys and values of a text take, beside models that exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_utils.explorers.bytes import MEMORIES, POWERS, describe_bytes
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.drawn_inputs import Choice, Slider, Steps
from course_utils.explorers.style import BLUE, INK, ORANGE, PURPLE
from course_utils.measure.costs import kv_cache_bytes

LENGTHS = tuple(2**power for power in range(7, 21))
BATCHES = tuple(2**power for power in range(7))
KEY_VALUE_HEADS = (1, 2, 4, 8, 12, 32, 96)
SHARING = (1, 2, 4, 8)
HEAD_WIDTHS = (32, 64, 128, 256)
NUMBERS = {"32 bits": 4, "16 bits": 2, "8 bits": 1}
VIEW = (5e3, 2e16)  # all that the controls can say


class Model(NamedTuple):
    """A published model: the sizes of its cache, the longest text it was made for, its size."""

    layers: int
    key_value_heads: int
    sharing: int
    head_width: int
    context: int
    parameters: int

    @property
    def cache(self) -> int:
        """Bytes of the cache of one text of that length, at 16 bits."""
        return kv_cache_bytes(self.layers, self.key_value_heads, self.head_width, self.context)

    @property
    def weights(self) -> int:
        """Bytes of the model itself, at 16 bits."""
        return 2 * self.parameters


# Radford et al., "Language models are unsupervised multitask learners", 2019, and its checkpoint;
# Brown et al., "Language models are few-shot learners", 2020, table 2.1; Touvron et al., "Llama
# 2", 2023, table 1 (7B without grouped queries); Jiang et al., "Mistral 7B", 2023, table 1, whose
# window of 4,096 bounds the cache; Llama team, "The Llama 3 herd of models", 2024, table 3, 8,192
# tokens at first and 131,072 in 3.1. Parameters, and sizes not printed there, are those
# of the published checkpoints.
MODELS = {
    "GPT-2 small": Model(12, 12, 1, 64, 1024, 124_439_808),
    "GPT-3 175B": Model(96, 96, 1, 128, 2048, 175_000_000_000),
    "Llama 2 7B": Model(32, 32, 1, 128, 4096, 6_738_415_616),
    "Mistral 7B": Model(32, 8, 4, 128, 4096, 7_241_732_096),
    "Llama 3 8B": Model(32, 8, 4, 128, 8192, 8_030_261_248),
    "Llama 3.1 8B": Model(32, 8, 4, 128, 131072, 8_030_261_248),
    "Llama 3.1 70B": Model(80, 8, 8, 128, 131072, 70_553_706_496),
}
OWN_ROWS = ("each head its own, G = H", "as set, G", "one for all, G = 1")
ALONE = {"batch": 1, "number": "16 bits"}


def settings_of(name: str) -> dict[str, object]:
    """The values of the controls at which the explorer stands on a model."""
    layers, key_value_heads, sharing, head_width, context, _ = MODELS[name]
    sizes = {"layers": layers, "key_value_heads": key_value_heads, "sharing": sharing}
    return {**sizes, "head_width": head_width, "length": context, **ALONE}


@dataclass(frozen=True)
class CacheState:
    """Bytes of the cache: by length, now, and with other numbers of key/value heads."""

    by_length: np.ndarray
    bytes: int
    all_heads: int
    one_head: int
    token: int
    layers: int
    heads: int
    key_value_heads: int
    head_width: int
    length: int
    batch: int
    number: int


class CacheBytes(DrawnExplorer):
    """The sizes of a model and of its work → bytes of its KV-cache."""

    title = "How much memory do the keys and values of a text take?"
    inputs = {
        "layers": Slider("layers L", 1, 96, 1, 32),
        "key_value_heads": Steps("key/value heads G", KEY_VALUE_HEADS, 8),
        "sharing": Steps("query heads for each", SHARING, 4),
        "head_width": Steps("head width D", HEAD_WIDTHS, 128),
        "length": Steps("tokens in a text T", LENGTHS, 8192),
        "batch": Steps("texts at once B", BATCHES, 1),
        "number": Choice("bits of a number", tuple(NUMBERS), "16 bits"),
    }
    scenes = {
        "GPT-2 small": settings_of("GPT-2 small"),
        "Llama 2 7B": settings_of("Llama 2 7B"),
        "Llama 3 8B: shared heads": settings_of("Llama 3 8B"),
        "128k tokens": settings_of("Llama 3.1 8B"),
        "… for 32 readers": {**settings_of("Llama 3.1 8B"), "batch": 32},
        "… and in 8 bits": {**settings_of("Llama 3.1 8B"), "batch": 32, "number": "8 bits"},
    }
    size = (8.0, 4.2)
    frames = ("length", "batch")

    def compute(
        self,
        layers: int,
        key_value_heads: int,
        sharing: int,
        head_width: int,
        length: int,
        batch: int,
        number: str,
    ) -> CacheState:
        def bytes_of(heads: int, length: int, batch: int = batch) -> int:
            return kv_cache_bytes(
                layers, heads, head_width, length, batch=batch, bytes_per_number=NUMBERS[number]
            )

        heads = key_value_heads * sharing
        return CacheState(
            by_length=np.array([bytes_of(key_value_heads, each) for each in LENGTHS], float),
            bytes=bytes_of(key_value_heads, length),
            all_heads=bytes_of(heads, length),
            one_head=bytes_of(1, length),
            token=bytes_of(key_value_heads, 1, batch=1),
            layers=layers,
            heads=heads,
            key_value_heads=key_value_heads,
            head_width=head_width,
            length=length,
            batch=batch,
            number=NUMBERS[number],
        )

    def draw(self, figure: Figure, state: CacheState) -> None:
        axes = figure.add_axes((0.31, 0.13, 0.675, 0.79), xscale="log", xlim=VIEW)
        names = [*OWN_ROWS, *(f"{name}, {short(m.context)}" for name, m in MODELS.items())]
        axes.set_yticks([_place(row) for row in range(len(names))], names)
        axes.set_ylim(_place(len(names) - 1) + 0.6, -0.6)
        axes.set_xticks(list(POWERS), list(POWERS.values()))
        axes.set_xlabel("bytes")
        axes.minorticks_off()
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        axes.set_axisbelow(True)
        self._draw_models(axes)
        for (name, size), (align, shift) in zip(
            MEMORIES.items(), (("right", -3), ("left", 3)), strict=True
        ):
            axes.axvline(size, color=ORANGE, linewidth=1.6, linestyle="--")
            at = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            axes.annotate(name, (size, 1), (shift, 4), color=ORANGE, fontsize=11, ha=align, **at)
        look = {"color": BLUE, "linewidth": 2.2, "solid_capstyle": "butt"}
        (self._lengths,) = axes.plot([], [], "|-", markersize=9, **look)
        looks = ((PURPLE, "^"), (BLUE, "o"), (PURPLE, "v"))
        self._dots = [
            axes.plot([], [], mark, color=colour, markersize=11, markeredgecolor="white")[0]
            for colour, mark in looks
        ]
        self.animate(self._lengths, *self._dots)

    def _draw_models(self, axes: Axes) -> None:
        rows = [_place(len(OWN_ROWS) + index) for index in range(len(MODELS))]
        caches = [model.cache for model in MODELS.values()]
        weights = [model.weights for model in MODELS.values()]
        look = {"linestyle": "none", "color": INK, "markersize": 7}
        axes.plot(caches, rows, marker="D", label="cache of one text", **look)
        look |= {"markerfacecolor": "none", "markeredgewidth": 1.6, "markersize": 12}
        axes.plot(weights, rows, marker="s", label="the model itself", **look)
        axes.legend(loc="lower right", handletextpad=0.1, borderaxespad=0.1, labelspacing=0.3)

    def update(self, state: CacheState) -> None:
        self._lengths.set_data(state.by_length, np.full(len(LENGTHS), _place(1)))
        sizes = (state.all_heads, state.bytes, state.one_head)
        for row, (dot, size) in enumerate(zip(self._dots, sizes, strict=True)):
            dot.set_data([size], [_place(row)])

    def caption(self, state: CacheState) -> str:
        texts = "one text" if state.batch == 1 else f"{state.batch} texts"
        return (
            f"2 · L · G · D · T · B · bytes = 2 · {state.layers} · {state.key_value_heads} · "
            f"{state.head_width} · {state.length:,} · {state.batch} · {state.number} = "
            f"{describe_bytes(state.bytes)} for {texts} "
            f"({describe_bytes(state.token)} for each token). {_sharing(state)} {_room(state)} "
            f"The blue line goes from {LENGTHS[0]} to {LENGTHS[-1]:,} tokens."
        )


def _place(row: int) -> float:
    """Where a row stands; a gap parts the explorer's own rows from the models."""
    return row + (0.5 if row >= len(OWN_ROWS) else 0.0)


def short(length: int) -> str:
    """A number of tokens in the 1024s in which it is built.

    >>> short(131072)
    '128k'
    """
    return f"{length // 1024}k"


def _sharing(state: CacheState) -> str:
    H, G = state.heads, state.key_value_heads
    if H == G == 1:
        return "There is one head, with keys and values of its own."
    if H == G:
        return f"Each of the {H} heads keeps its own (G = H); one for all would take 1/{H} of it."
    serve = "1 key/value head serves" if G == 1 else f"{G} key/value heads serve"
    return f"{serve} {H} query heads: one for each would take {describe_bytes(state.all_heads)}."


def _room(state: CacheState) -> str:
    fits = [name for name, size in MEMORIES.items() if state.bytes <= size]
    if not fits:
        cards = int(np.ceil(state.bytes / MEMORIES["H100 80 GB"]))
        return f"It would fill the memory of {cards:,} H100s, before the model itself."
    room = int(MEMORIES["H100 80 GB"] // state.bytes)
    if room == 1:
        return "An H100 holds it once, if it holds nothing else."
    return f"An H100 (80 GB), with nothing else in it, would hold {room:,} such caches."

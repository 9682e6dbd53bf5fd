"""Lecture 07: query heads that share keys and values, and the cache that this leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.bytes import describe_bytes
from course_utils.explorers.inputs import Choice, Steps
from course_utils.measure.costs import kv_cache_bytes

LENGTHS = tuple(2**power for power in range(9, 18))
BATCHES = tuple(2**power for power in range(7))
LAPTOP, H100 = 16e9, 80e9  # bytes


class Model(NamedTuple):
    """What sizes a published model's cache, except for its key/value heads."""

    heads: int
    layers: int
    head_width: int


# Radford et al., "Language models are unsupervised multitask learners", 2019, and its checkpoint;
# Touvron et al., "Llama 2", 2023, table 1, and the published checkpoints; Jiang et al., "Mistral
# 7B", 2023, table 1; Llama team, "The Llama 3 herd of models", 2024, table 3.
MODELS = {
    "GPT-2, 12 heads": Model(12, 12, 64),
    "7B: Llama 2, Mistral": Model(32, 32, 128),
    "70B: Llama 2": Model(64, 80, 128),
    "405B: Llama 3.1": Model(128, 126, 128),
}
SMALL, SEVEN, SEVENTY, LARGEST = MODELS
HEADS = tuple(
    sorted({n for model in MODELS.values() for n in range(1, 129) if model.heads % n == 0})
)


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
    cache: int
    layers: int
    head_width: int
    length: int
    batch: int


class SharedHeads(Explorer):
    """A model and its key/value heads → which query heads share, and the bytes of its cache."""

    title = "How many query heads can share keys and values, and what does that save?"
    inputs = {
        "key_value_heads": Steps("key/value heads", HEADS, 8, in_picture=True),
        "model": Choice("model", tuple(MODELS), SEVEN),
        "length": Steps("tokens in a text", LENGTHS, 4096),
        "batch": Steps("texts at once", BATCHES, 1),
    }
    presets = {
        "Llama 2 7B": {"key_value_heads": 32, "model": SEVEN, "length": 4096, "batch": 1},
        "Mistral 7B": {"key_value_heads": 8, "model": SEVEN, "length": 4096, "batch": 1},
        "multi-query": {"key_value_heads": 1, "model": SEVEN, "length": 4096, "batch": 1},
        "Llama 2 70B": {"key_value_heads": 8, "model": SEVENTY, "length": 4096, "batch": 1},
        "… for 32 readers": {"key_value_heads": 8, "model": SEVENTY, "length": 4096, "batch": 32},
        "Llama 3.1 405B, 128k": {
            "key_value_heads": 8, "model": LARGEST, "length": 131072, "batch": 1,
        },
    }  # fmt: skip
    view = "shared_heads.js"
    reading = (
        "Each circle is a query head. The square that it is joined to holds the keys and values "
        "that it reads. Drag a square sideways, or the end of the bar: wider groups, fewer "
        "squares. Only keys and values are cached, so the bar has one cell for each query head, "
        "and as many full cells as there are squares. Each query head still meets every key of its "
        "square. The weights of the model are not counted."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        return {"models": {name: list(model) for name, model in MODELS.items()}}

    def compute(self, key_value_heads: int, model: str, length: int, batch: int) -> SharingState:
        heads, layers, head_width = MODELS[model]
        counts = [count for count in HEADS if heads % count == 0]
        groups = max(count for count in counts if count <= key_value_heads)
        caches = [kv_cache_bytes(layers, n, head_width, length, batch=batch) for n in counts]
        return SharingState(
            reads=np.arange(heads) // (heads // groups),
            counts=np.array(counts),
            bytes=np.array(caches, float),
            heads=heads,
            key_value_heads=groups,
            cache=caches[counts.index(groups)],
            layers=layers,
            head_width=head_width,
            length=length,
            batch=batch,
        )

    def caption(self, state: SharingState) -> str:
        H, G = state.heads, state.key_value_heads
        cache, whole = (describe_bytes(int(each)) for each in (state.cache, state.bytes[-1]))
        if G == H:
            who = f"[q:{H} query heads], each with its own keys and values: [b:{cache}] of cache"
        else:
            pairs = "key/value head" if G == 1 else "key/value heads"
            who = f"[q:{H} query heads] on [b:{G}] {pairs}: [b:{cache}], 1/{H // G} of {whole}"
        return f"{who}. {_fits(state.cache)}"


def _fits(cache: float) -> str:
    if cache <= LAPTOP:
        return "It fits into a laptop's 16 GB."
    if cache <= H100:
        return "Too much for a laptop's 16 GB."
    return "Too much even for an H100's 80 GB."

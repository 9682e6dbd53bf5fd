"""Lecture 07: query heads that share keys and values, and the cache that this leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Steps
from course_utils.formats import describe_bytes
from course_utils.measure.costs import kv_cache_bytes
from course_utils.models.published import PUBLISHED

LENGTHS = tuple(2**power for power in range(9, 18))
BATCHES = tuple(2**power for power in range(7))
LAPTOP, H100 = 16e9, 80e9  # bytes


MODELS = {
    "GPT-2, 12 heads": PUBLISHED["GPT-2"],
    "7B: Llama 2, Mistral": PUBLISHED["Llama 2 7B"],
    "70B: Llama 2": PUBLISHED["Llama 2 70B"],
    "405B: Llama 3.1": PUBLISHED["Llama 3.1 405B"],
}
SMALL, SEVEN, SEVENTY, LARGEST = MODELS
HEADS = tuple(
    sorted({n for model in MODELS.values() for n in range(1, 129) if model.heads % n == 0})
)


def _preset(name: str, label: str, *, length: int = 4096, batch: int = 1) -> dict[str, Any]:
    groups = PUBLISHED[name].kv_heads
    return {"key_value_heads": groups, "model": label, "length": length, "batch": batch}


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
        "Llama 2 7B": _preset("Llama 2 7B", SEVEN),
        "Mistral 7B": _preset("Mistral 7B", SEVEN),
        "multi-query": {"key_value_heads": 1, "model": SEVEN, "length": 4096, "batch": 1},
        "Llama 2 70B": _preset("Llama 2 70B", SEVENTY),
        "… for 32 readers": _preset("Llama 2 70B", SEVENTY, batch=32),
        "Llama 3.1 405B, 128k": _preset("Llama 3.1 405B", LARGEST, length=131072),
    }
    view = "shared_heads.js"
    reading = (
        "Each circle is a query head. The square that it is joined to holds the keys and values "
        "that it reads. Drag a square sideways, or the end of the bar: wider groups, fewer "
        "squares. Only keys and values are cached, so the bar has one cell for each query head, "
        "and as many full cells as there are squares. Each query head still meets every key of its "
        "square. The weights of the model are not counted."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        sizes = {name: [m.heads, m.layers, m.head_width] for name, m in MODELS.items()}
        return {"models": sizes}

    def compute(self, key_value_heads: int, model: str, length: int, batch: int) -> SharingState:
        layers, heads, _, head_width, _, _ = MODELS[model]
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
        return "This cache fits into a laptop's 16 GB."
    if cache <= H100:
        return "Too much for a laptop's 16 GB."
    return "Too much even for an H100's 80 GB."

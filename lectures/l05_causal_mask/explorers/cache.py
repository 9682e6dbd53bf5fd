"""How long a text fits into memory: the KV cache grows with it, and the weights are there too."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Slider, Steps, Toggle
from course_utils.measure.costs import kv_cache_bytes
from course_utils.models.published import PUBLISHED, PublishedModel

FULL = 128  # steps of the context length: the last is the longest text of the model
WINDOW = 4096  # tokens: Mistral 7B's
MEMORIES = {"laptop, 16 GB": 16e9, "H100, 80 GB": 80e9, "8 H100s, 640 GB": 640e9}
LAPTOP, CARD, _ = MEMORIES.values()
BITS = (16, 8, 4)
SHARING = (1, 2, 4, 8)
UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


NAMES = ("GPT-2 medium", "Llama 2 7B", "Llama 3.1 8B", "Llama 3.1 70B", "GPT-3 175B")
MODELS = {name: PUBLISHED[name] for name in NAMES}


def preset(name: str, tokens: int, texts: int = 1) -> dict[str, Any]:
    """The values of the controls at which a model, as published, reads texts of this length."""
    model = MODELS[name]
    values = {"model": name, "filled": tokens * FULL // model.context, "texts": texts}
    return {**values, "sharing": model.heads // model.kv_heads, "bits": 16, "window": False}


START = preset("Llama 2 7B", 2048, 32)
LONG = preset("Llama 3.1 8B", 131072)


@dataclass(frozen=True)
class CacheState:
    """Bytes of keys, values and weights, and where each memory is full.

    `token` are the bytes of one token of one text, `unshared` those of the cache if every query
    head had keys and values of its own. `full_at` (3,) is the length in tokens from which each
    memory is too small; 0 where the weights by themselves are too large, -1 where it never happens.
    """

    keys: int
    values: int
    weights: int
    total: int
    unshared: int
    token: int
    full_at: list[float]
    length: int
    kept: int
    context: int
    layers: int
    heads: int
    kv_heads: int
    width: int
    texts: int
    bits: int


class CacheBytes(Explorer):
    """A model, its context length, texts at once → the bytes of the KV cache, and what holds it."""

    title = "How long a text fits into memory?"
    inputs = {
        "model": Choice("model", tuple(MODELS), START["model"]),
        "filled": Slider("context length", 1, FULL, START["filled"], in_picture=True),
        "texts": Slider("texts at once", 1, 32, START["texts"]),
        "sharing": Steps("query heads that share a key/value head", SHARING, START["sharing"]),
        "bits": Steps("bits of a number in the cache", BITS[::-1], 16),
        "window": Toggle(f"keep only the last {WINDOW:,} tokens"),
    }
    presets = {
        "Llama 2 7B, 32 texts": START,
        "Llama 3.1 8B, 128k tokens": LONG,
        "… and no shared heads": {**LONG, "sharing": 1},
        "… 32 texts": {**LONG, "texts": 32},
        "… and in 4 bits": {**LONG, "texts": 32, "bits": 4},
        "… and with a window": {**LONG, "texts": 32, "window": True},
        "GPT-2 medium": preset("GPT-2 medium", 1024),
    }
    view = "cache.js"
    reading = (
        "The grey band is the model's weights, at 16 bits. On top are the keys (orange) and the "
        "values (purple) of all texts. Every token adds the same number of bytes; the product "
        "below the picture counts them. Drag the dot to make the texts longer. A ring marks where "
        "a memory is full. Real programs need a little more than is counted here."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        models = {name: _as_given(model) for name, model in MODELS.items()}
        return {"models": models, "memories": list(MEMORIES.values()), "names": list(MEMORIES)}

    def compute(
        self, model: str, filled: int, texts: int, sharing: int, bits: int, window: bool
    ) -> CacheState:
        layers, heads, _, width, context, parameters = MODELS[model]
        length = context * filled // FULL
        kept = min(length, WINDOW) if window else length

        def bytes_of(heads: int, length: int, texts: int = texts) -> int:
            sizes = (layers, heads, width, length)
            return kv_cache_bytes(*sizes, batch=texts, bytes_per_number=2) * bits // 16

        kv_heads = heads // sharing
        cache, weights = bytes_of(kv_heads, kept), 2 * parameters
        most = min(context, WINDOW) if window else context
        return CacheState(
            keys=cache // 2,
            values=cache // 2,
            weights=weights,
            total=weights + cache,
            unshared=bytes_of(heads, kept),
            token=bytes_of(kv_heads, 1, 1),
            full_at=[
                _full_at(size - weights, bytes_of(kv_heads, 1), most) for size in MEMORIES.values()
            ],
            length=length,
            kept=kept,
            context=context,
            layers=layers,
            heads=heads,
            kv_heads=kv_heads,
            width=width,
            texts=texts,
            bits=bits,
        )

    def caption(self, state: CacheState) -> str:
        texts, each = ("1 text", "") if state.texts == 1 else (f"{state.texts} texts", " each")
        return (
            f"{texts} of {number(state.length)} tokens{each}: keys [k:{size_of(state.keys)}], "
            f"values [v:{size_of(state.values)}], weights {size_of(state.weights)}, in all "
            f"[b:{size_of(state.total)}]. {holder_of(state.total)}"
        )


def _as_given(model: PublishedModel) -> dict[str, int]:
    """The sizes under the names that cache.js uses."""
    return {
        "layers": model.layers,
        "heads": model.heads,
        "sharing": model.heads // model.kv_heads,
        "width": model.head_width,
        "context": model.context,
        "parameters": model.parameters,
    }


def _full_at(room: float, token: int, most: int) -> float:
    """Tokens until this room is full: 0 if there is none, -1 if `most` tokens fit."""
    if room <= 0:
        return 0.0
    return -1.0 if room / token >= most else room / token


def size_of(count: float) -> str:
    """Bytes in three digits, in the 1000s of a data sheet.

    >>> size_of(17_179_869_184), size_of(524_288)
    ('17.2 GB', '524 kB')
    """
    unit, name = next((each for each in UNITS if count >= each[0]), (1, "bytes"))
    share = count / unit
    return f"{number(share, 0 if share >= 100 else 1 if share >= 10 else 2)} {name}"


def holder_of(total: int) -> str:
    """What has room for so many bytes, as a sentence."""
    if total <= LAPTOP:
        return f"A laptop's [b:{number(LAPTOP / 1e9)} GB] hold them."
    cards = math.ceil(total / CARD)
    return "One H100 holds them." if cards == 1 else f"It takes [b:{number(cards)}] H100s."

"""How long a text fits into memory: the KV cache grows with it, and the weights are there too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Slider, Steps, Toggle
from course_utils.models.published import PUBLISHED

FULL = 128  # steps of the context length: the last is the longest text of the model
WINDOW = 4096  # tokens: Mistral 7B's
BITS = (16, 8, 4)
SHARING = (1, 2, 4, 8)

OFFERED = {
    name: PUBLISHED[name]
    for name in ("GPT-2 medium", "Llama 2 7B", "Llama 3.1 8B", "Llama 3.1 70B", "GPT-3 175B")
}


def preset(name: str, tokens: int, texts: int = 1) -> dict[str, Any]:
    """The values of the controls at which a model, as published, reads texts of this length."""
    model = OFFERED[name]
    values = {"model": name, "filled": tokens * FULL // model.context, "texts": texts}
    return {**values, "sharing": model.heads // model.kv_heads, "bits": 16, "window": False}


START = preset("Llama 2 7B", 2048, 32)
LONG = preset("Llama 3.1 8B", 131072)


class CacheBytes(Explorer):
    """A model, its context length, texts at once → the bytes of the KV cache, and what holds it."""

    title = "How long a text fits into memory?"
    inputs = {
        "model": Choice("model", tuple(OFFERED), START["model"]),
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
        return {"models": {name: model._asdict() for name, model in OFFERED.items()}}

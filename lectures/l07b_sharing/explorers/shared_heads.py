"""Lecture 07b: query heads that share keys and values, and the cache that this leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Steps
from course_utils.models.published import PUBLISHED

LENGTHS = tuple(2**power for power in range(9, 18))
BATCHES = tuple(2**power for power in range(7))

OFFERED = {
    "GPT-2, 12 heads": PUBLISHED["GPT-2"],
    "7B: Llama 2, Mistral": PUBLISHED["Llama 2 7B"],
    "70B: Llama 2": PUBLISHED["Llama 2 70B"],
    "405B: Llama 3.1": PUBLISHED["Llama 3.1 405B"],
}
SMALL, SEVEN, SEVENTY, LARGEST = OFFERED
HEADS = tuple(
    sorted({n for model in OFFERED.values() for n in range(1, 129) if model.heads % n == 0})
)


def _preset(name: str, label: str, *, length: int = 4096, batch: int = 1) -> dict[str, Any]:
    groups = PUBLISHED[name].kv_heads
    return {"key_value_heads": groups, "model": label, "length": length, "batch": batch}


class SharedHeads(Explorer):
    """A model and its key/value heads → which query heads share, and the bytes of its cache."""

    title = "How many query heads can share keys and values, and what does that save?"
    inputs = {
        "key_value_heads": Steps("key/value heads", HEADS, 8, in_picture=True),
        "model": Choice("model", tuple(OFFERED), SEVEN),
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
        sizes = {name: [m.heads, m.layers, m.head_width] for name, m in OFFERED.items()}
        return {"models": sizes}

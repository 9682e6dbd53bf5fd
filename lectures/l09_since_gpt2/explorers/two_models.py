"""Lecture 09: what two published models keep and compute for a long text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Steps
from lectures.l09_since_gpt2.experiments.model_costs import (
    cache_bytes,
    flops_per_token,
    parameters,
    stack_of,
)
from lectures.l09_since_gpt2.experiments.published_models import MODELS

LENGTHS = tuple(2**power for power in range(9, 21))
TEXTS = tuple(2**power for power in range(8))
LONG = 131_072


def pair(left: str, right: str, length: int = LONG, texts: int = 1) -> dict[str, Any]:
    """The values of the controls at which two models are compared."""
    return {"left": left, "right": right, "length": length, "texts": texts}


START = pair("Qwen3 32B", "Gemma 3 27B")


class TwoModels(Explorer):
    """Two models, a length, texts at once → the bytes that each keeps, and its FLOPs a token."""

    title = "What does a long text cost?"
    inputs = {
        "left": Choice("one model", tuple(MODELS), START["left"], in_picture=True),
        "right": Choice("another model", tuple(MODELS), START["right"], in_picture=True),
        "length": Steps("length of a text", LENGTHS, LONG, in_picture=True),
        "texts": Steps("texts at once", TEXTS, 1, in_picture=True),
    }
    presets = {
        "windows": START,
        "… a short text": pair("Qwen3 32B", "Gemma 3 27B", 1024),
        "a thin vector": pair("Llama 2 7B", "DeepSeek-V3"),
        "states": pair("MiniMax-M2", "Kimi Linear 48B"),
        "… 64 texts": pair("MiniMax-M2", "Kimi Linear 48B", texts=64),
        "six years": pair("GPT-2 XL", "Qwen3-Next 80B"),
    }
    view = "two_models.js"
    reading = (
        "A curve is what a model keeps of all texts, the dashed line of its colour its weights, at "
        "16 bits a number. Both axes are logarithmic. Drag the dots. A stack has a bar for each "
        "layer; its colour and its width say what kind of layer it is. Below are the "
        "multiplications and additions for one new token of one text: with the weights, and, "
        "paler, with what is kept. The curves go on beyond what a model was made for: GPT-2's "
        "positions end at 1,024."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        models = MODELS.values()
        work = [[flops_per_token(model, length) for length in LENGTHS] for model in models]
        return {
            "names": list(MODELS),
            "lengths": list(LENGTHS),
            "stacks": [list(stack_of(model)) for model in models],
            "weights": [2 * parameters(model) for model in models],  # bytes
            "kept": np.array([[cache_bytes(m, each) for each in LENGTHS] for m in models], float),
            "work": np.array(work, float),  # (models, lengths, 2)
        }

"""Lecture 06: a GPT-2 block as a drawing, what each part takes, gives and costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Steps, Toggle
from course_utils.models.gpt2 import GPT2Config
from course_utils.models.published import PUBLISHED
from course_utils.models.story_gpt import STORY_GPT

# In the order of the computation.
PARTS = (
    "LN₁", "W_Q", "W_K", "W_V", "scores", "softmax", "mix", "W_O", "⊕₁",
    "LN₂", "W₁", "GELU", "W₂", "⊕₂",
)  # fmt: skip
# 1, 2, 3, 4, 6, 8, 12, … 16,384: powers of two, and half way between them.
TOKENS = (1, *sorted({2**k for k in range(1, 15)} | {3 * 2**k for k in range(13)}))
SMALL, STORY = "GPT-2", "our story GPT"


def _published(name: str) -> GPT2Config:
    layers, heads, _, head_width, context, _ = PUBLISHED[name]
    return GPT2Config(
        max_positions=context, width=heads * head_width, num_layers=layers, num_heads=heads
    )


# Radford et al., "Language models are unsupervised multitask learners", 2019, table 2; the heads
# are those of the checkpoints.
MODELS = {
    SMALL: _published("GPT-2"),
    "GPT-2 medium": _published("GPT-2 medium"),
    "GPT-2 large": GPT2Config(width=1280, num_layers=36, num_heads=20),
    "GPT-2 XL": GPT2Config(width=1600, num_layers=48, num_heads=25),
    STORY: STORY_GPT,
}


def _preset(model: str, tokens: int, part: str, shares: bool = True) -> dict[str, Any]:
    return {"model": model, "tokens": tokens, "part": part, "shares": shares}


class Block(Explorer):
    """A model, a number of tokens and a part of its block → shapes in and out, and costs."""

    title = "What does each part of a GPT-2 block take, give and cost?"
    inputs = {
        "model": Choice("model", tuple(MODELS), SMALL),
        "tokens": Steps("tokens T", TOKENS, 32),
        "part": Choice("part of the block", PARTS, "W₁", in_picture=True),
        "shares": Toggle("show what each part costs"),
    }
    presets = {
        "guess first": _preset(SMALL, 32, "W₁", shares=False),
        "GPT-2, 32 tokens": _preset(SMALL, 32, "W₁"),
        "GPT-2, 1,024 tokens": _preset(SMALL, 1024, "scores"),
        "a long text": _preset(SMALL, 12288, "scores"),
        "GPT-2 XL": _preset("GPT-2 XL", 1024, "mix"),
        "our story GPT": _preset(STORY, 192, "W_Q"),
    }
    view = "block.js"
    reading = (
        "The thick line is the residual stream x. Two branches read it, pass through their parts, "
        "and are added back. Filled boxes have learned parameters, round ones have none. A small "
        "card on a wire is the tensor there: its height grows with the tokens, its width with the "
        "numbers per token (both by the square root); a stack of cards has one for each head. "
        "Press a part to choose it. FLOPs count the matrix products, scores and mix in full, as in "
        "the lecture's table of symbols."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        sizes = {
            name: {
                "width": config.width,
                "heads": config.num_heads,
                "hidden": config.hidden,
                "context": config.max_positions,
            }
            for name, config in MODELS.items()
        }
        return {"models": sizes}

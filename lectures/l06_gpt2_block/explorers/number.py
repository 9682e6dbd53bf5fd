"""Lecture 06: a block that is small enough to see every number, and what each was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider
from course_utils.models.gpt2 import GPT2Block, GPT2Config

SIZES = GPT2Config(max_positions=4, width=4, num_heads=2, feedforward_width=8)
MATRICES = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "output": "attention.output",
    "expand": "feedforward.expand",
    "contract": "feedforward.contract",
}
LAST = 303  # number of the block's numbers, less one


def small_block() -> tuple[GPT2Block, torch.Tensor]:
    """A block of made-up weights with one decimal, no biases, and what it reads, (1, 4, 4)."""
    dice = torch.Generator().manual_seed(3)
    block = GPT2Block(SIZES)
    with torch.no_grad():
        for name, each in block.named_parameters():
            if each.dim() == 2:
                each.copy_((0.8 * torch.randn(each.shape, generator=dice)).round(decimals=1))
            elif name.endswith("bias"):
                each.zero_()
    return block, torch.randn(1, 4, 4, generator=dice).round(decimals=1)


class Number(Explorer):
    """One number of a block → the numbers that it was made of."""

    title = "What was one number made of?"
    inputs = {"cell": Slider("number", 0, LAST, 302, in_picture=True)}
    presets = {
        "output": {"cell": 302},
        "feed-forward": {"cell": 286},
        "LN₂": {"cell": 206},
        "attention": {"cell": 174},
        "weight": {"cell": 140},
        "score": {"cell": 108},
        "query": {"cell": 46},
    }
    view = "number.js"
    reading = (
        "Every number of a block with four tokens and width 4: a row is a token, or a query; "
        "teal is positive, magenta negative. The number in the thick frame was made of those in "
        "thin ones, as the line at the top says; press one of them and go on backwards. "
        "Weights are made up, biases 0, norms without gain. GPT-2 has 768 columns, and 3,072 "
        "where there are 8."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        """The block's sizes, its matrices and what it reads."""
        block, x = small_block()
        return {
            "tokens": SIZES.max_positions, "width": SIZES.width, "heads": SIZES.num_heads,
            "hidden": SIZES.hidden, "x": x.flatten().double().numpy(),
            "weights": {
                name: block.get_parameter(f"{path}.weight").detach().flatten().double().numpy()
                for name, path in MATRICES.items()
            },
        }  # fmt: skip

"""Lecture 06b: small GPTs that copy a row; each of their heads can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from course_utils.explorers import Explorer
from course_utils.explorers.gpt import packed
from course_utils.explorers.inputs import Choice, Slider, Toggle
from lectures.l06b_learning.experiments.induction import LENGTH, repeated_tokens
from lectures.l06b_learning.experiments.induction_runs import INDUCTION_RUNS, load_induction_run

ROWS = 8
WITH, WITHOUT, ONE = INDUCTION_RUNS
HEADS = tuple((layer, head) for layer in range(2) for head in range(2))
NAMES = tuple(f"layer{layer}_head{head}" for layer, head in HEADS)


def _preset(
    model: str = WITH,
    start: int = 0,
    position: int = 12,
    off: str = "",
    feedforward: bool = True,
) -> dict[str, Any]:
    return {
        "model": model,
        "row": 2,
        "start": start,
        "position": position,
        **{name: name != off for name in NAMES},
        "feedforward": feedforward,
    }


class Induction(Explorer):
    """A trained model, a row with its copy, heads to switch off → weights, predictions, loss."""

    title = "Which head knows what comes next?"
    inputs = {
        "model": Choice("model", tuple(INDUCTION_RUNS), WITH),
        "row": Slider("row of tokens", 1, ROWS, 2),
        "start": Slider("position where the copy starts", 0, LENGTH - 1, 0),
        "position": Slider("token that asks", 0, 2 * LENGTH - 1, 12, in_picture=True),
        **{
            name: Toggle(f"layer {layer}, head {head}", True, in_picture=True)
            for name, (layer, head) in zip(NAMES, HEADS, strict=True)
        },
        "feedforward": Toggle("feed-forward parts", True),
    }
    presets = {
        "whole model": _preset(),
        "first half": _preset(position=5),
        "copy wraps": _preset(start=3),
        "layer 1, one off": _preset(off="layer1_head1"),
        "layer 0, one off": _preset(off="layer0_head1"),
        "without one": _preset(WITHOUT),
        "one layer": _preset(ONE),
        "no feed-forward": _preset(ONE, feedforward=False),
    }
    view = "induction.js"
    reading = (
        "The blue token asks for the next one. Each strip is a head: the bluer a cell, the more "
        "weight the head gives to that token. Its switch takes away what the head writes; the one "
        "below the picture does that to the feed-forward parts. In the copy, the blue ring is the "
        "earlier occurrence, the orange frame the token after it. The bars show the probability "
        "of the token that really comes next, and the loss is the mean of −ln of the seven that "
        "can be known. The first half was never trained, so a model may be sure of nonsense there. "
        "At the right, grey numbers are tokens outside this row."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        rows = repeated_tokens(torch.Generator().manual_seed(11))[:ROWS, :LENGTH]
        return {
            "models": {name: packed(load_induction_run(name)) for name in INDUCTION_RUNS},
            "rows": rows.numpy().astype(np.uint8),
        }

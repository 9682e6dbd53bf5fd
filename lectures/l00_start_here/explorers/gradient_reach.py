"""Lecture 00: how much of a layer's last state still depends on an input t steps back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Steps, Toggle
from lectures.l00_start_here.experiments.gradient_reach import (
    Kind,
    gradient_by_distance,
)

LENGTH = 64
MOST = 0.9  # the part of the gradient whose inputs are counted
WIDTHS = (8, 32, 128)
BIASES = (0, 1, 2, 3)
VARIANTS: tuple[tuple[Kind, dict[str, Any]], ...] = (
    ("rnn", {}),
    ("rnn", {"orthogonal": True}),
    *(("lstm", {"forget_bias": float(bias)}) for bias in BIASES),
    ("attention", {}),
)
AS_IN_PYTORCH = {"orthogonal": False, "bias": 0}
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class ReachState:
    """Of an RNN, an LSTM and attention: which curve, what is left, how far most of it reaches.

    `rows` (3,) are the layers' curves in what the browser is given, `shares` (3,) the part of the
    gradient that the input `distance` steps back gets, `reach` (3,) how many of the last inputs
    get 90 % of it together.
    """

    distance: int
    rows: np.ndarray
    shares: np.ndarray
    reach: np.ndarray


@lru_cache(maxsize=1)
def _curves() -> np.ndarray:
    """The share of the gradient by distance: a row for each variant, width after width."""
    return np.stack(
        [
            gradient_by_distance(kind, width=width, length=LENGTH, **start).numpy()
            for width in WIDTHS
            for kind, start in VARIANTS
        ]
    )


class GradientReach(Explorer):
    """Distance, width and initialisation → what is left of the gradient, for three layers."""

    title = "How far back does the gradient reach?"
    inputs = {
        "distance": Slider("steps back", 0, LENGTH - 1, 20, in_picture=True),
        "width": Steps("width of the state", WIDTHS, 32),
        "orthogonal": Toggle("RNN: orthogonal recurrent matrix"),
        "bias": Slider("LSTM: forget bias", BIASES[0], BIASES[-1], 0),
    }
    presets = {
        "one step": {"distance": 1, "width": 32, **AS_IN_PYTORCH},
        "a sentence ago": {"distance": 20, "width": 32, **AS_IN_PYTORCH},
        "a paragraph ago": {"distance": 63, "width": 32, **AS_IN_PYTORCH},
        "four times as wide": {"distance": 63, "width": 128, **AS_IN_PYTORCH},
        "initialised differently": {"distance": 30, "width": 32, "orthogonal": True, "bias": 3},
    }
    view = "gradient_reach.js"
    reading = (
        "The layers are untrained. A curve shows which share of the last state's gradient each of "
        f"the {LENGTH} inputs gets (median of five layers). Each grid line is a ten-thousandth of "
        "the one above; what is below the dashed line vanishes in a sum of float32 numbers. Filled "
        "squares: the last inputs, which get 90 % together. An even share is 1/64, or 0.016. Drag "
        "the dot of the RNN or the LSTM up or down: the initialisation changes."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        kinds = [kind for _ in WIDTHS for kind, _ in VARIANTS]
        return {"curves": _curves().astype(np.float32), "kinds": kinds}

    def compute(self, distance: int, width: int, orthogonal: bool, bias: int) -> ReachState:
        first = WIDTHS.index(width) * len(VARIANTS)
        rows = first + np.array([int(orthogonal), 2 + bias, len(VARIANTS) - 1])
        curves = _curves()[rows]
        parts = np.cumsum(curves, axis=1) / curves.sum(axis=1, keepdims=True)
        reach = 1 + (parts < MOST).sum(axis=1)
        shares = curves[:, distance].astype(np.float32)  # from 1e-26; half the bytes on a page
        return ReachState(distance, rows.astype(np.uint8), shares, reach.astype(np.uint8))

    def caption(self, state: ReachState) -> str:
        rnn, lstm, attention = (written(float(share)) for share in state.shares)
        steps = "step" if state.distance == 1 else "steps"
        return (
            f"The input [b:{state.distance}] {steps} back gets this share of the gradient: "
            f"[b:{rnn}] in the RNN, [b:{lstm}] in the LSTM, [b:{attention}] in attention."
        )


def written(share: float) -> str:
    """Two digits where they are stable, and only the power of ten below one in a thousand."""
    if share >= 1e-3:
        return f"{share:.3f}"
    return "10" + str(round(math.log10(share))).translate(RAISED)

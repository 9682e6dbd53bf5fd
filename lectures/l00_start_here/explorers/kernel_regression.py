"""Lecture 00: a query among noisy points, and the weighted mean that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.attention import effective_tokens
from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider, Toggle
from lectures.l00_start_here.experiments.kernel_regression import (
    POINTS,
    kernel_estimate,
    learned_coefficients,
    learned_precision,
    regression_data,
    static_precision,
)

SEED = 1
HIGHEST = 2.0  # a value cannot be dragged further from 0
MIDDLE = 42  # a point in the flat part, near x = 0.3
SAME = 1e-9  # a value that has moved by less counts as not moved
UNMOVED = {"point": MIDDLE, "shift": 0.0}


@dataclass(frozen=True)
class RegressionState:
    """One query, its weights and its output; the outputs of all queries.

    `weights` (150,) are the query's, over the points' `values` (150,), and `out` is their weighted
    mean; `effective` is how many points share the weight. `curve` (201,) is the output of each
    query on a grid, `fixed` (201,) with one bandwidth for all; `error` and `fixed_error` are their
    mean squared errors. `moved` is how far one point's value was dragged, `effect` what that did
    to the output.
    """

    bandwidth: float
    chooses: bool
    weights: np.ndarray
    values: np.ndarray
    out: float
    effective: float
    curve: np.ndarray
    fixed: np.ndarray
    error: float
    fixed_bandwidth: float
    fixed_error: float
    point: int
    moved: float
    effect: float


def _data() -> tuple[Tensor, ...]:
    """x, y, grid and true curve: float64, since narrow kernels have large exponents."""
    data = regression_data(SEED)
    return tuple(each.double() for each in (data.x, data.y, data.grid, data.truth))


class KernelRegression(Explorer):
    """The position of a query and its bandwidth → weights, their mean, the curve of all means."""

    title = "Whose values does this query average?"
    inputs = {
        "at": Slider("query position", 0.0, 1.0, 0.3, step=0.005, colour="query", in_picture=True),
        "bandwidth": Slider(
            "bandwidth", 0.004, 0.2, 0.03, step=0.001, colour="query", in_picture=True
        ),
        "chooses": Toggle("each query chooses its own bandwidth (learned)", in_picture=True),
        "point": Slider("point whose value moves", 0, POINTS - 1, MIDDLE, in_picture=True),
        "shift": Slider("move the value by", -2.0, 2.0, 0.0, step=0.05, in_picture=True),
    }
    presets = {
        "flat part": {"chooses": False, "bandwidth": 0.03, "at": 0.3, **UNMOVED},
        "waves": {"chooses": False, "bandwidth": 0.03, "at": 0.825, **UNMOVED},
        "too narrow": {"chooses": False, "bandwidth": 0.005, "at": 0.3, **UNMOVED},
        "too wide": {"chooses": False, "bandwidth": 0.12, "at": 0.825, **UNMOVED},
        "each query chooses": {"chooses": True, "bandwidth": 0.013, "at": 0.3, **UNMOVED},
        "one value moved": {
            "chooses": False,
            "bandwidth": 0.03,
            "at": 0.3,
            "point": MIDDLE,
            "shift": 1.5,
        },
    }
    view = "kernel_regression.js"
    reading = (
        "Each dot is a key (its position x) with a value (its height y). The nearer a key is to "
        "the query, the larger its weight and the deeper its blue. The output is the weighted "
        "mean of the values; the purple curve is the output at every position, the dashed curve "
        "the truth behind the noise. Drag the line to move the query, and h to change the "
        "bandwidth. Drag a dot up or down: the output follows by its weight."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        names = ("x", "y", "grid", "truth")
        found = {name: each.numpy() for name, each in zip(names, _data(), strict=True)}
        return {**found, "coefficients": learned_coefficients(SEED).double().numpy()}

    def compute(
        self, at: float, bandwidth: float, chooses: bool, point: int, shift: float
    ) -> RegressionState:
        x, y, grid, truth = _data()
        values = y.clone()
        values[point] = (y[point] + shift).clamp(-HIGHEST, HIGHEST)

        def estimate(places: Tensor, learned: bool) -> tuple[Tensor, Tensor, Tensor]:
            precision = (
                learned_precision(places, SEED) if learned else static_precision(places, bandwidth)
            )
            return *kernel_estimate(places, precision, x, values), precision.rsqrt()

        out, weights, chosen = estimate(torch.tensor([at], dtype=torch.float64), chooses)
        curves = {learned: estimate(grid, learned)[0] for learned in {chooses, False}}
        errors = {learned: float((c - truth).square().mean()) for learned, c in curves.items()}
        moved = float(values[point] - y[point])
        return RegressionState(
            bandwidth=float(chosen[0]),
            chooses=chooses,
            weights=weights[0].numpy(),
            values=values.numpy(),
            out=float(out[0]),
            effective=float(effective_tokens(weights)[0]),
            curve=curves[chooses].numpy(),
            fixed=curves[False].numpy(),
            error=errors[chooses],
            fixed_bandwidth=bandwidth,
            fixed_error=errors[False],
            point=point,
            moved=moved,
            effect=float(weights[0, point]) * moved,
        )

    def caption(self, state: RegressionState) -> str:
        out = number(state.out, 2)
        if abs(state.moved) > SAME:
            return (
                f"One value moved by [v:{number(state.moved, 2)}]. Its weight is "
                f"[b:{number(state.weights[state.point], 3)}], so the output moved by "
                f"[v:{number(state.effect, 2)}], to [v:{out}]."
            )
        count = f"[b:{number(state.effective)}] of {POINTS} points"
        error, fixed_error = number(state.error, 3), number(state.fixed_error, 3)
        if state.chooses:
            return (
                f"This query chooses bandwidth [q:{number(state.bandwidth, 3)}] and averages about "
                f"{count}. Mean squared error of the curve: [b:{error}]; with "
                f"[q:{number(state.fixed_bandwidth, 3)}] everywhere, [b:{fixed_error}]."
            )
        return (
            f"This query averages about {count}: output [v:{out}]. With bandwidth "
            f"[q:{number(state.bandwidth, 3)}] everywhere, the curve's mean squared error is "
            f"[b:{error}]."
        )

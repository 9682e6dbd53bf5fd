"""Lecture 00: a query among noisy points, and the weighted mean that it gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider, Toggle
from lectures.l00_start_here.experiments.kernel_regression import (
    POINTS,
    learned_coefficients,
    regression_data,
)

SEED = 1
MIDDLE = 42  # a point in the flat part, near x = 0.3
UNMOVED = {"point": MIDDLE, "shift": 0.0}


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
        "the query, the larger its weight and the bluer its dot. The output is the weighted "
        "mean of the values; the purple curve is the output at every position, the dashed curve "
        "the truth behind the noise. Drag the line to move the query, and h to change the "
        "bandwidth. Drag a dot up or down: the output follows by its weight."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        data = regression_data(SEED)
        names = ("x", "y", "grid", "truth")
        # float64, since narrow kernels have large exponents.
        found = {name: getattr(data, name).double() for name in names}
        return {**found, "coefficients": learned_coefficients(SEED).double()}

"""What lecture 02's figures must refuse, as a table: as in support_bad_viz.py."""

import numpy as np

from course_utils.lectures.l02_softmax import figures as figures_02
from tests.core.support_bad_core import COUNT, INF, NAN, POSITIVE, REAL
from tests.core.support_bad_input import Bad, Case, Said

LOSSES = np.linspace(2, 1, 60).reshape(2, 30)
PANEL = {"scaled": LOSSES, "unscaled": LOSSES + 1}
PANELS = {"d_k = 4": PANEL, "d_k = 64": PANEL}
CURVES = {"panels": PANELS, "chance": 2.0}
BAD_CURVES = {
    "panels": Bad(
        (None, [PANEL], Said({1: PANEL}, "1 (int)"), Said({"a": {"b": [1.0]}}, "list")),
        (
            {},
            Said(dict.fromkeys("abcdefghi", PANEL), "9"),
            Said({"a": PANEL, "b": {"scaled": LOSSES}}, "'scaled'"),
            Said({"a": dict.fromkeys("wxyz", LOSSES)}, "4"),
            Said({"a": {"b": LOSSES[0]}}, "(30,)"),
            Said({"a": {"b": LOSSES[:, :9]}}, "(2, 9)"),
            Said({"a": {"b": LOSSES * NAN}}, "NaN"),
        ),
    ),
    "chance": POSITIVE,
    "window": COUNT,
}

WEIGHTS = np.array([[0.5, 0.25, 0.25], [0.9, 0.1, 0.0]])
ROWS = {4: WEIGHTS, 16: WEIGHTS}
BAD_ROWS = Bad(
    (
        None,
        [WEIGHTS],
        Said({4: [1.0], 16: [1.0]}, "list"),
        Said({"4": WEIGHTS, 16: WEIGHTS}, "str"),
    ),
    (
        Said({}, "[]"),
        Said({4: WEIGHTS}, "[4]"),
        Said({0: WEIGHTS, 16: WEIGHTS}, "0"),
        Said({4: WEIGHTS[0], 16: WEIGHTS}, "(3,)"),
        Said({4: WEIGHTS * NAN, 16: WEIGHTS}, "NaN"),
        Said({4: WEIGHTS * 2, 16: WEIGHTS}, "2"),
        Said({4: WEIGHTS - WEIGHTS[::-1], 16: WEIGHTS}, "-0.4"),
    ),
)
OTHER_WIDTHS = Said({4: WEIGHTS, 32: WEIGHTS}, "[4, 32]")
FALL = {"unscaled": ROWS, "scaled": ROWS}
BAD_FALL = {"unscaled": BAD_ROWS, "scaled": Bad(BAD_ROWS.types, (*BAD_ROWS.values, OTHER_WIDTHS))}

TABLE = np.array([[1.0, 2.5, 3.0], [4.0, 7.0, 11.5]])
TOKENS = {"tokens": TABLE, "length": 13.0}
BAD_TOKENS = {
    "tokens": Bad(
        (None, "x", [1.0], TABLE.astype(str)), (TABLE[0], TABLE[:0], TABLE * NAN, TABLE - 1)
    ),
    "length": Bad(REAL.types, (NAN, INF, 11.0)),
}

VALUES = np.array([0.3, 0.5, 0.55, 1.0])
LARGEST = {
    "largest": {"scaled": VALUES, "unscaled": VALUES},
    "printed": {"scaled": 0.35, "unscaled": 1},
}
FOUR = dict.fromkeys("abcd", VALUES)
BAD_LARGEST = {
    "largest": Bad(
        (None, [VALUES], Said({"scaled": [0.5], "unscaled": VALUES}, "list")),
        (
            {},
            Said({"scaled": VALUES[:, None], "unscaled": VALUES}, "(4, 1)"),
            Said({"scaled": VALUES[:0], "unscaled": VALUES}, "(0,)"),
            Said({"scaled": VALUES * NAN, "unscaled": VALUES}, "NaN"),
            Said({"scaled": VALUES + 1, "unscaled": VALUES}, "2"),
            Said({"scaled": -VALUES, "unscaled": VALUES}, "-0.3"),
        ),
    ),
    "printed": Bad(
        (None, [0.35], Said({"scaled": "0.35", "unscaled": 1}, "'0.35'")),
        ({}, Said({"scaled": 0.35}, "'scaled'"), Said({"scaled": NAN, "unscaled": 1}, "nan")),
    ),
}  # fmt: skip


def both(name, good, bad):
    """A figure and its words, which refuse the same."""
    return [
        Case(f"viz.figures_02.{verb}_{name}", getattr(figures_02, f"{verb}_{name}"), good, bad)
        for verb in ("draw", "describe")
    ]


CASES = [
    *both("learning_curves", CURVES, BAD_CURVES),
    *both("jacobian_fall", FALL, BAD_FALL),
    *both("head_tokens", TOKENS, BAD_TOKENS),
    *both("largest_weights", LARGEST, BAD_LARGEST),
]

"""What lecture 07's figures must refuse, as a table: as in support_bad_viz.py."""

import numpy as np

from course_utils.lectures.l07_dynamic_pruning import figures as figures_07
from tests.core.support_bad_core import NAN, REAL
from tests.core.support_bad_input import Bad, Case, Said
from tests.explorers.support_bad_viz import array

SPARSITIES = np.array([0.0, 0.5, 0.9])
TABLE = np.array([[1.0, 0.9, 0.2], [1.0, 0.8, 0.1]])
RULES = {"magnitude": TABLE, "random": TABLE / 2}
CURVES = {"sparsities": SPARSITIES, "panels": {"as trained": RULES}, "guess": 0.1}


def with_table(table):
    return {"as trained": {"magnitude": TABLE, "random": table}}


BAD_CURVES = {
    "sparsities": array((3,), Said(SPARSITIES[::-1].copy(), "0.9"), SPARSITIES + 0.1,
                        Said(SPARSITIES - 0.1, "-0.1"), Said(SPARSITIES[:2], "(2, 3)")),
    "panels": Bad(
        (None, [RULES], Said({1: RULES}, "1 (int)"), Said({"a": [TABLE]}, "["),
         Said(with_table([[1.0]]), "list")),
        ({}, Said(dict.fromkeys("abcd", RULES), "4"), Said({"a": {}}, "{}"),
         Said({"a": RULES, "b": {"random": TABLE}}, "['random']"),
         Said({"a": dict.fromkeys("abcde", TABLE)}, "'e'"),
         Said(with_table(TABLE[0]), "(3,)"), Said(with_table(TABLE[:, :2]), "(2, 2)"),
         Said(with_table(TABLE * NAN), "NaN"), Said(with_table(TABLE + 1), "2"),
         Said(with_table(-TABLE), "-1")),
    ),
    "guess": Bad(REAL.types, (*REAL.values, -0.1, 1.5)),
}  # fmt: skip

SHARES = np.array([[0.7, 0.3, 0.0], [0.4, 0.3, 0.3]])
LOADS = {"shares": {"none": SHARES, "loss": SHARES[:1]}}
BAD_LOADS = {
    "shares": Bad(
        (None, [SHARES], Said({1: SHARES}, "1 (int)"), Said({"a": SHARES.tolist()}, "list")),
        ({}, Said({"a": SHARES[0]}, "(3,)"), Said({"a": SHARES, "b": np.ones((2, 1))}, "(2, 1)"),
         Said({"a": SHARES * NAN}, "NaN"), Said({"a": SHARES / 2}, "0.5"),
         Said({"a": SHARES * [[2], [1]]}, "1.4"), Said({"a": np.repeat(SHARES, 9, axis=0)}, "18")),
    ),
}  # fmt: skip

LEARNED, LOSSES = np.array([10.0, 40.0, 160.0]), np.array([[4.0, 3.5, 3.1], [4.1, 3.4, 3.0]])
RANKS = {"learned": LEARNED, "losses": LOSSES, "ranks": np.array([1, 4, 16]),
         "full": {"all": LOSSES[:, 0]}, "before": 5.0}  # fmt: skip
BAD_RANKS = {
    "learned": array((3,), -LEARNED, Said(LEARNED[:2], "(2, 3)")),
    "losses": array((2, 3), LOSSES[0], LOSSES[:, :2], -LOSSES),
    "ranks": array((3,), LEARNED[:2], -LEARNED),
    "full": Bad(
        (None, [LOSSES[0]], Said({1: LOSSES[0]}, "1 (int)"), Said({"a": [1.0]}, "list")),
        ({}, Said({"a": LOSSES}, "(2, 3)"), Said({"a": LOSSES[0] * NAN}, "NaN"),
         Said(dict.fromkeys("abc", LOSSES[0]), "3")),
    ),
    "before": REAL,
}  # fmt: skip

HEADS = {"heads": np.array([4, 2, 1]), "pooled": LOSSES[0], "healed": LOSSES}
BAD_HEADS = {
    "heads": array((3,), Said(np.array([1, 2, 4]), "[1 2 4]"), np.array([4, 2, 0]),
                   Said(np.array([4, 2]), "(3,)")),
    "pooled": array((3,), -LOSSES[0], LOSSES[0, :2]),
    "healed": array((2, 3), LOSSES[0], LOSSES[:, :2], -LOSSES),
}  # fmt: skip

CASES = [
    Case(f"viz.figures_07.{verb}_{name}", getattr(figures_07, f"{verb}_{name}"), good, bad)
    for name, good, bad in (
        ("pruning_curves", CURVES, BAD_CURVES),
        ("expert_loads", LOADS, BAD_LOADS),
        ("rank_losses", RANKS, BAD_RANKS),
        ("group_quality", HEADS, BAD_HEADS),
    )
    for verb in ("draw", "describe")
]

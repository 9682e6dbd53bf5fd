"""What lecture 06's figures must refuse, as a table: as in support_bad_viz.py."""

import numpy as np

from course_utils.lectures.l06_gpt2_block import figures as figures_06
from course_utils.lectures.l06_gpt2_block.experiments.scaling_law import PowerLaw
from tests.core.support_bad_core import COUNT, INF, NAN, TEXT
from tests.core.support_bad_input import Bad, Case, Said
from tests.explorers.support_bad_viz import array

NORMS = {2: np.ones((3, 2)), 5: np.full((3, 5), 0.1)}
PANELS = {"panels": {"post-LN": NORMS, "pre-LN": NORMS}}


def with_table(table, depth=5):
    return {"post-LN": {2: NORMS[2], depth: table}}


BAD_PANELS = Bad(
    (
        None,
        [NORMS],
        Said({1: NORMS}, "1 (int)"),
        Said({"a": [NORMS]}, "list"),
        Said(with_table([[1.0]]), "list"),
        Said(with_table(np.ones((3, 5)), "5"), "str"),
    ),
    (
        {},
        Said(dict.fromkeys("abc", NORMS), "3"),
        Said({"a": {}}, "[]"),
        Said({"a": NORMS, "b": {2: NORMS[2]}}, "[2]"),
        Said({"a": {depth: np.ones((3, depth)) for depth in range(1, 8)}}, "7]"),
        Said(with_table(np.ones((3, 1)), 0), "0"),
        Said(with_table(np.ones(5)), "(5,)"),
        Said(with_table(np.ones((3, 4))), "(3, 4)"),
        Said(with_table(np.ones((0, 5))), "(0, 5)"),
        Said(with_table(np.full((3, 5), NAN)), "NaN"),
        Said(with_table(np.zeros((3, 5))), "0"),
    ),
)

WEIGHTS = np.tri(6) / np.arange(1, 7)[:, None]
SCORES = np.array([[0.1, 0.0, 0.2], [0.9, 0.3, 0.0]])
HEAD = {"weights": WEIGHTS, "scores": SCORES, "layer": 1, "head": 0}
BAD_HEAD = {
    "weights": array((6, 6), WEIGHTS[0], WEIGHTS[:4], Said(WEIGHTS[:5, :5], "5"), -WEIGHTS,
                     Said(2 * WEIGHTS, "2")),
    "scores": array((2, 3), SCORES[0], -SCORES, Said(SCORES + 1, "1.9")),
    "layer": Bad(COUNT.types, (-1, 2)),
    "head": Bad(COUNT.types, (-1, 3)),
}  # fmt: skip

GAIN = np.array([2.0, 2.1, 2.2])
GAINS = {"gains": {"whole": GAIN, "without one": GAIN - 2}, "unit": "nats"}
BAD_GAINS = {
    "gains": Bad(
        (None, [GAIN], Said({1: GAIN, 2: GAIN}, "1 (int)"), Said({"a": GAIN, "b": [2.0]}, "list")),
        (
            {},
            Said({"a": GAIN}, "1"),
            Said({str(n): GAIN for n in range(17)}, "17"),
            Said({"a": GAIN, "b": GAIN[:0]}, "(0,)"),
            Said({"a": GAIN, "b": GAIN[None]}, "(1, 3)"),
            Said({"a": GAIN, "b": GAIN * NAN}, "NaN"),
            Said({"a": GAIN - 3, "b": GAIN}, "-0.9"),
        ),
    ),
    "unit": TEXT,
}

SIZES, LOSSES = np.array([1e3, 1e4, 1e5]), np.array([[4.0, 3.5, 3.1], [4.1, 3.4, 3.0]])
LAW = PowerLaw(0.06, (0.05, 0.07), 6.0, 0.0, (0.0, 0.0, 0.0), ())
FIT = {"sizes": SIZES, "losses": LOSSES, "law": LAW}
BAD_FIT = {
    "sizes": array((3,), Said(SIZES[:2], "2"), SIZES - 1e3, -SIZES),
    "losses": array((2, 3), LOSSES[0], LOSSES[:, :2], -LOSSES, LOSSES * INF),
    "law": Bad((None, 0.06, "x", Said({"exponent": 0.06}, "dict"))),
}


def both(name, good, bad):
    """A figure and its words, which refuse the same."""
    return [
        Case(f"viz.figures_06.{verb}_{name}", getattr(figures_06, f"{verb}_{name}"), good, bad)
        for verb in ("draw", "describe")
    ]


CASES = [
    *both("gradient_norms", PANELS, {"panels": BAD_PANELS}),
    *both("induction", HEAD, BAD_HEAD),
    *both("ablation", GAINS, BAD_GAINS),
    *both("power_law", FIT, BAD_FIT),
]

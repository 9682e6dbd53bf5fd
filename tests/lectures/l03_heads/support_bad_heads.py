"""What lecture 03's measurements of heads and its figures must refuse, as a table."""

import numpy as np
import torch

from course_utils.lectures.l03_heads import figures as figures_03
from course_utils.lectures.l03_heads.experiments import head_pruning, head_roles
from tests.core.support_bad_core import COUNT, INF, NAN, TEXT, tensor
from tests.core.support_bad_input import Bad, Case, Said

PAIR = head_roles.Pair("A cat sat on a mat.", "sat", "cat", "mat")
BAD_PAIRS = Bad(
    (None, "sat", Said([None], "None"), Said([("A", "b", "c", "d")], "(tuple)"),
     Said([PAIR._replace(text=7)], "7 (int)"), Said([PAIR._replace(other=None)], "None")),
    ([], Said([PAIR._replace(read="dog")], "'dog'")),
)  # fmt: skip
ENCODER = head_pruning.reading_encoder()
ROOMS = torch.ones(2, 384)
HEADS = [
    Case("head_roles.relation_weights", head_roles.relation_weights, {"pairs": [PAIR]}, {
        "pairs": BAD_PAIRS,
    }),
    Case("head_roles.offset_weights", head_roles.offset_weights,
         {"texts": ["A cat sat."], "offset": -1}, {
        "texts": Bad((None, "A cat sat.", Said([None], "None")), ([],)),
        "offset": Bad((None, "1", 1.0, True), (6, -6)),
    }),
    Case("head_pruning.measure_pruning", head_pruning.measure_pruning, {"text": "A cat."}, {
        "text": Bad(TEXT.types, ("", Said("\ud800", "surrogate"))),
    }),
    Case("head_pruning.last_states_without_each_head", head_pruning.last_states_without_each_head,
         {"encoder": ENCODER, "embedded": ROOMS}, {
        "encoder": Bad((None, "x", torch.nn.Linear(2, 2))),
        "embedded": Bad(
            (*tensor().types, ROOMS.double()),
            (ROOMS[0], ROOMS[:0], ROOMS[:, :5], ROOMS * NAN, ROOMS * INF),
        ),
    }),
]  # fmt: skip

VALUES = {"values": {2: np.array([3.0, 2.0, 1.0])}, "width": 4}
BAD_VALUES = {
    "values": Bad(
        (None, [1.0], Said({2: [3.0, 2.0]}, "list"), Said({"2": np.ones(3)}, "'2' (str)")),
        ({}, Said({0: np.ones(3)}, "0"), Said({3: np.ones(3)}, "(3) must divide width (4)"),
         Said({2: np.ones((3, 1))}, "(3, 1)"), Said({2: np.ones(3) * NAN}, "NaN"),
         Said({2: np.arange(3.0)}, "[0. 1. 2.]"), Said({2: -np.ones(3)}, "[-1. -1. -1.]"),
         Said({1: np.ones(3)}, "3"), Said({h: np.ones(3) for h in (1, 2, 4, 5, 6, 7)}, "6")),
    ),
    "width": Bad(COUNT.types, (0, -1, Said(3, "(2) must divide width (3)"))),
}  # fmt: skip
SCORES = {"scores": {2: np.zeros((3, 2))}, "steps": np.array([0, 10])}
BAD_SCORES = {
    "scores": Bad(
        (None, [1.0], Said({2: [[1.0]]}, "list"), Said({"2": np.zeros((3, 2))}, "'2' (str)")),
        ({}, Said({0: np.zeros((3, 2))}, "0"), Said({2: np.zeros(2)}, "(2,)"),
         Said({2: np.zeros((3, 5))}, "(3, 5)"), Said({2: np.full((3, 2), INF)}, "infinity")),
    ),
    "steps": Bad((None, [0, 10]), (np.zeros((2, 1)), Said(np.array([0]), "[0]"),
                                   Said(np.array([5, 5]), "[5 5]"), np.array([0.0, NAN]))),
    "score": TEXT,
}  # fmt: skip
WEIGHTS = np.array([[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]])
ALIGNED = {"weights": WEIGHTS, "source": ["a", "b", "c"], "target": ["x", "y"]}
BAD_ALIGNED = {
    "weights": Bad((None, [[1.0]]), (WEIGHTS[0], WEIGHTS[:0], WEIGHTS * NAN, 2 * WEIGHTS, -WEIGHTS,
                                     WEIGHTS.T)),
    "source": Bad((None, 3, "abc", Said(["a", None, "c"], "None")), ([], )),
    "target": Bad((None, 3, "xy", Said(["x", None], "None")), ([], )),
}  # fmt: skip
CHANGES = WEIGHTS + 1
BAD_CHANGES = {
    "changes": Bad((None, [[1.0]]), (CHANGES[0], CHANGES[:0], CHANGES * NAN, -CHANGES,
                                     Said(CHANGES * 0, "0"))),
    "marked": Bad(
        (None, 3, "01", Said([3], "3 (int)"), Said([(0, "1")], "'1' (str)")),
        (Said([(0,)], "(0,)"), Said([(0, 1, 2)], "(0, 1, 2)"), Said([(2, 0)], "2"),
         Said([(0, 3)], "3"), Said([(-1, 0)], "-1")),
    ),
    "title": TEXT,
}  # fmt: skip
FIGURES = [
    Case(f"viz.figures_03.{verb}_{name}", getattr(figures_03, f"{verb}_{name}"), good, bad)
    for name, good, bad in (
        ("singular_values", VALUES, BAD_VALUES),
        ("head_scores", SCORES, BAD_SCORES),
        ("alignment", ALIGNED, BAD_ALIGNED),
        ("pruning", {"changes": CHANGES}, BAD_CHANGES),
    )
    for verb in ("draw", "describe")
]

CASES = [*HEADS, *FIGURES]

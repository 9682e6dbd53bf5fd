"""What lecture 05's pictures must refuse, as a table: callable, good arguments, bad ones."""

import numpy as np

from course_utils.lectures.l05_causal_mask import figures as figures_05
from tests.core.support_bad_core import REAL, TEXT
from tests.core.support_bad_input import Bad, Case, Said
from tests.explorers.support_bad_viz import array

REACH = np.tril(np.ones((5, 5)))
MAY = REACH > 0
NAN = float("nan")
REACHES = {"reaches": {"a": REACH}, "may_reach": MAY}
BAD_REACHES = Bad(
    (None, [REACH], Said({"a": REACH.tolist()}, "list"), Said({1: REACH}, "1 (int)")),
    ({}, Said({"a": REACH[0]}, "(5,)"), Said({"a": REACH[:2]}, "(2, 5)"), Said({"a": -REACH}, "-1"),
     Said({"a": REACH * 0}, "0"), Said({"a": REACH * NAN}, "NaN"),
     Said({name: REACH for name in "abcd"}, "4")),
)  # fmt: skip
BAD_MAY = Bad(
    (None, "x", MAY.tolist(), REACH, MAY.astype(int)), (MAY[0], MAY[:0], Said(MAY[:3], "(5, 5)"))
)
BAD_WORDS = Bad((3, "abcde", Said([*"abcd", None], "None")), ([], Said([*"abc"], "3")))

LENGTHS = np.array([16.0, 64.0, 256.0])
TIMES = {"lengths": LENGTHS, "with_cache": np.ones((2, 3)), "without": np.ones((4, 3))}
RUNS = array((2, 3), LENGTHS, np.zeros((2, 3)), -np.ones((2, 3)), np.ones((2, 4)))
BAD_LENGTHS = array(
    (3,), LENGTHS[:1], LENGTHS[::-1].copy(), np.ones((3, 1)), Said(LENGTHS - 16, "0")
)

LOSSES = {"losses": {"a": np.ones((3, 7))}, "floor": 2.4, "floor_name": "ln 11"}
BAD_LOSSES = Bad(
    (None, [REACH], Said({"a": REACH.tolist()}, "list"), Said({1: REACH}, "1 (int)")),
    ({}, Said({"a": REACH[0]}, "(5,)"), Said({"a": REACH, "b": REACH[:, :3]}, "(5, 3)"),
     Said({"a": REACH * NAN}, "NaN"), Said({name: REACH for name in "abcde"}, "5")),
)  # fmt: skip

CASES = [
    Case("viz.figures_05.draw_reach", figures_05.draw_reach, REACHES, {
        "reaches": BAD_REACHES, "may_reach": BAD_MAY, "tokens": BAD_WORDS,
    }),
    Case("viz.figures_05.describe_reach", figures_05.describe_reach, REACHES, {
        "reaches": BAD_REACHES, "may_reach": BAD_MAY,
    }),
    *(
        Case(f"viz.figures_05.{name}", getattr(figures_05, name), TIMES, {
            "lengths": BAD_LENGTHS, "with_cache": RUNS, "without": RUNS,
        })
        for name in ("draw_cache_times", "describe_cache_times")
    ),
    *(
        Case(f"viz.figures_05.{name}", getattr(figures_05, name), LOSSES, {
            "losses": BAD_LOSSES, "floor": REAL, "floor_name": TEXT,
        })
        for name in ("draw_losses", "describe_losses")
    ),
]  # fmt: skip

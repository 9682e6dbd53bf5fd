"""What lecture 04's figures must refuse, as a table: callable, arguments it takes, bad ones."""

import numpy as np

from course_utils.lectures.l04_positions import figures as figures_04
from tests.core.support_bad_core import COUNT, INF, NAN, POSITIVE
from tests.core.support_bad_input import Bad, Case, Said
from tests.explorers.support_bad_viz import array

LENGTHS = np.array([32.0, 64.0, 128.0])
RESULTS = {"RoPE": np.full((2, 3), 0.5), "ALiBi": np.full((2, 3), 0.25)}
TABLE = np.zeros((5, 4))
SCORES = {"one": np.eye(3), "other": np.ones((3, 3))}
NAMED = (None, "x", [1.0], Said({1: TABLE}, "1 (int)"))


def one_wrong(good, *tables):
    """The same mapping, its last table replaced by each of these."""
    last = list(good)[-1]
    return tuple(
        Said({**good, last: table.value if isinstance(table, Said) else table}, came)
        for table, came in tables
    )


EXTRAPOLATION = {
    "results": Bad(
        (*NAMED, *one_wrong(RESULTS, ([0.5], "list"), (RESULTS["RoPE"] * 1j, "complex128"))),
        (
            {},
            Said({str(index): RESULTS["RoPE"] for index in range(8)}, "8"),
            *one_wrong(
                RESULTS,
                (np.full((2, 3), NAN), "NaN or infinity"),
                (np.full((2, 4), 0.5), "(4,)"),
                (np.full(3, 0.5), "(3,)"),
                (np.full((2, 3), 1.5), "1.5 to 1.5"),
                (np.full((2, 3), -0.5), "-0.5 to -0.5"),
            ),
        ),
    ),
    "lengths": array((3,), np.zeros(3), Said(LENGTHS[::-1], "[128.0, 64.0, 32.0]")),
    "trained_length": COUNT,
}
SINUSOIDS = {"table": array((5, 4), TABLE[0], TABLE[:, :3], TABLE + 1.5)}
RELATIVE = {
    "tables": Bad(
        (*NAMED, *one_wrong(SCORES, ([0.5], "list"))),
        (
            {},
            Said({"one": np.eye(3)}, "1"),
            Said({str(index): np.eye(3) for index in range(4)}, "4"),
            *one_wrong(
                SCORES,
                (np.full((3, 3), INF), "NaN or infinity"),
                (np.ones((3, 2)), "(3, 2)"),
                (np.ones((2, 2)), "(2, 2)"),
            ),
        ),
    )
}
GOOD = {"results": RESULTS, "lengths": LENGTHS, "trained_length": 32}

CASES = [
    *(
        Case(f"viz.figures_04.{call.__name__}", call, good, bad)
        for call, good, bad in (
            (figures_04.draw_extrapolation, GOOD, EXTRAPOLATION),
            (figures_04.describe_extrapolation, GOOD, EXTRAPOLATION),
            (figures_04.draw_sinusoids, {"table": TABLE}, SINUSOIDS),
            (figures_04.describe_sinusoids, {"table": TABLE}, SINUSOIDS),
            (figures_04.draw_relative_scores, {"tables": SCORES}, RELATIVE),
            (figures_04.describe_relative_scores, {"tables": SCORES}, RELATIVE),
        )
    ),
    Case(
        "viz.figures_04.spread_out",
        figures_04.spread_out,
        {"places": np.array([0.1, 0.2]), "gap": 0.1},
        {"places": array((3,)), "gap": Bad(POSITIVE.types, (*POSITIVE.values, 1.5))},
    ),
]

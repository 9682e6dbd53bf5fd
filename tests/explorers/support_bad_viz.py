"""What the pictures must refuse, as a table: callable, arguments it takes, bad ones of each."""

from random import Random

import numpy as np

from course_utils.explorers import checks, draw, inputs, png
from course_utils.explorers.show import show
from course_utils.explorers.style import new_figure
from course_utils.lectures.l00_start_here import figures as figures_00
from course_utils.lectures.l01_scaling import figures as figures_01
from tests.core.support_bad_core import COUNT, FLAG, INF, NAN, POSITIVE, REAL, TEXT
from tests.core.support_bad_input import Bad, Case, Said

WORDS = (None, "x", [1.0], 1.0)
AXES = new_figure().add_subplot()
NO_AXES = Bad((None, "x", new_figure()))


def broken(shape):
    """NaN, infinity and nothing at all, in an array of this rank."""
    return (np.full(shape, NAN), np.full(shape, INF), np.zeros((0,) * len(shape)))


def array(shape, *values):
    """Finite numbers of this rank."""
    texts = np.full(shape, "x")
    return Bad(
        (*WORDS, texts, np.ones(shape) * 1j), (np.zeros((2, 3, 5, 7)), *broken(shape), *values)
    )


SQUARE = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5], [0.0, 0.1, 0.9]])
BAD_SQUARE = array((3, 3), SQUARE[:2], SQUARE[0])
THREE = ["I", "love", "it"]
LABELS = Bad((None, 3, "abc", Said(["I", None, "it"], "None")), ([], THREE[:2]))
ANY_LABELS = Bad(LABELS.types, ([],))

CHECKS = [
    Case("viz.checks.check_array", lambda x: checks.check_array("x", x, "N C"), {"x": SQUARE}, {
        "x": array((3, 3), SQUARE[0]),
    }),
    Case("viz.checks.check_square", lambda x: checks.check_square("x", x), {"x": SQUARE}, {
        "x": BAD_SQUARE,
    }),
    Case(
        "viz.checks.check_same_shape",
        lambda x: checks.check_same_shape("x", x, "y", SQUARE),
        {"x": SQUARE},
        {"x": Bad((), (SQUARE[0], SQUARE[:2]))},
    ),
    Case("viz.checks.check_positive", lambda x: checks.check_positive("x", x), {"x": SQUARE + 1}, {
        "x": Bad((), (SQUARE, -SQUARE)),
    }),
    Case("viz.checks.check_named", lambda x: checks.check_named("x", x), {"x": {"a": 1}}, {
        "x": Bad((None, "x", [1], Said({1: 2}, "1 (int)")), ({},)),
    }),
    Case("viz.checks.check_labels", lambda x: checks.check_labels("x", x, 3), {"x": THREE}, {
        "x": LABELS,
    }),
    Case("viz.checks.check_axes", checks.check_axes, {"axes": AXES}, {"axes": NO_AXES}),
    Case("viz.checks.check_colour", lambda x: checks.check_colour("x", x), {"x": "black"}, {
        "x": Bad((), (None, 7, "bleu", [1])),
    }),
]  # fmt: skip

ROWS = Bad(
    (None, "x", Said([1], "[1]"), Said(np.array([1.0]), "1.")),
    (np.zeros((1, 1), int), np.array([5]), np.array([-1])),
)
DRAW = [
    Case("viz.draw.HeatMap", draw.HeatMap, {"axes": AXES}, {
        "axes": NO_AXES, "low": Bad(REAL.types, (*REAL.values, 1.0, 2)), "high": REAL,
        "colormap": Bad((), (None, "x", ["cividis"])),
    }),
    Case("viz.draw.HeatMap.set_data", draw.HeatMap(AXES).set_data, {"matrix": SQUARE[:2]}, {
        "matrix": array((3, 3), SQUARE[0]),
    }),
    Case("viz.draw.Arcs", draw.Arcs, {"axes": AXES, "threshold": 0.1}, {
        "axes": NO_AXES, "threshold": REAL,
    }),
    Case("viz.draw.Arcs.set_data", draw.Arcs(AXES, threshold=0.1).set_data, {"weights": SQUARE}, {
        "weights": Bad(BAD_SQUARE.types, (*BAD_SQUARE.values, 2 * SQUARE, -SQUARE)),
        "row": Bad(COUNT.types[1:], (-1, 3)),
    }),
    Case("viz.draw.arc_segments", draw.arc_segments,
         {"reader": np.array([1]), "read": np.array([2]), "count": 3}, {
        "reader": ROWS, "count": COUNT,
        "read": Bad(ROWS.types, (*ROWS.values, Said(np.array([1, 2]), "2"))),
    }),
    Case("viz.draw.drawable", draw.drawable, {"text": "tea"}, {"text": TEXT}),
    Case("viz.draw.label_places", draw.label_places, {"pixels": 300.0, "count": 3}, {
        "pixels": POSITIVE, "count": COUNT,
    }),
    Case("viz.draw.label_tokens", draw.label_tokens, {"axes": AXES, "tokens": THREE}, {
        "axes": NO_AXES, "tokens": ANY_LABELS, "rows": FLAG, "columns": FLAG,
    }),
    Case("viz.draw.draw_weights", draw.draw_weights,
         {"axes": AXES, "weights": SQUARE, "rows": THREE, "columns": THREE}, {
        "axes": NO_AXES, "weights": array((3, 3), SQUARE[0], SQUARE[:2]), "rows": ANY_LABELS,
        "columns": ANY_LABELS,
    }),
    Case("viz.draw.mute_axes", draw.mute_axes, {"axes": AXES}, {"axes": NO_AXES}),
    Case("viz.draw.end_label", draw.end_label, {"axes": AXES, "x": 1, "y": 2.0, "text": "a"}, {
        "axes": NO_AXES, "x": REAL, "y": REAL, "text": TEXT,
        "colour": Bad((), (None, 7, "bleu", ["a"])),
    }),
]  # fmt: skip

TABLE, BAD_TABLE = SQUARE + 1, array((3, 3), SQUARE[0])
LAYERS = Bad(BAD_TABLE.types, (*BAD_TABLE.values, np.ones((3, 1))))
OTHER_LAYERS = Bad(LAYERS.types, (*LAYERS.values, Said(np.ones((3, 2)), "(2,)")))
MAPS = {"maps": {"conv": [SQUARE, SQUARE]}, "row": 1}
BAD_MAPS = Bad(
    (None, [SQUARE], Said({"conv": SQUARE.tolist()}, "list"), Said({"conv": "x"}, "'x'"),
     Said({1: [SQUARE]}, "1 (int)")),
    ({}, Said({"conv": []}, "[]"), Said({"conv": [SQUARE[:2]]}, "(2, 3)"),
     Said({"conv": [SQUARE, SQUARE * NAN]}, "NaN")),
)  # fmt: skip
UNEQUAL = Said({"conv": [SQUARE, SQUARE[:2, :2]]}, "(2, 2)")
NO_ROW = Bad(COUNT.types, (-1, 3))
CLOUD = np.arange(15.0).reshape(5, 3) + 1
CLOUDS = {"clouds": {name: CLOUD for name in "abc"}}
BAD_CLOUDS = Bad(
    (None, [CLOUD], Said({name: CLOUD.tolist() for name in "abc"}, "list")),
    ({}, Said({"a": CLOUD}, "1"), Said({name: CLOUD.T for name in "abc"}, "(3, 5)"),
     Said({"a": CLOUD, "b": CLOUD, "c": CLOUD[:2]}, "(2, 3)"),
     Said({"a": CLOUD, "b": CLOUD, "c": CLOUD * NAN}, "NaN")),
)  # fmt: skip
BAD_LENGTHS = Bad(
    (None, [CLOUD[0]], Said({"a": [1.0]}, "list"), Said({1: CLOUD[0]}, "1 (int)")),
    (
        {},
        Said({"a": CLOUD}, "(5, 3)"),
        Said({"a": CLOUD[0] * 0}, "0"),
        Said({"a": CLOUD[:0, 0]}, "(0,)"),
    ),
)
SPREAD = Bad(BAD_TABLE.types, (*BAD_TABLE.values, SQUARE - 1, TABLE[:2]))
FIRST_SPREAD = Bad(SPREAD.types, SPREAD.values[:-1])
FIGURES = [
    *(
        Case(f"viz.figures_00.{name}", getattr(figures_00, name),
             {"weights": SQUARE, "words": THREE}, {"weights": BAD_SQUARE, "words": LABELS})
        for name in ("draw_three_words", "describe_three_words")
    ),
    Case("viz.figures_00.draw_maps", figures_00.draw_maps, {**MAPS, "texts": [THREE, THREE]}, {
        "maps": BAD_MAPS, "row": NO_ROW,
        "texts": Bad((None, 3, "abc", Said([None, THREE], "None")),
                     ([], Said([THREE], "1"), Said([THREE[:2], THREE], "2"))),
    }),
    Case("viz.figures_00.describe_maps", figures_00.describe_maps, {**MAPS, "tokens": THREE}, {
        "maps": Bad(BAD_MAPS.types, (*BAD_MAPS.values, UNEQUAL)),
        "row": NO_ROW, "tokens": LABELS,
    }),
    *(
        Case(f"viz.figures_00.{name}", getattr(figures_00, name),
             {"same": SQUARE, "other": SQUARE}, {"same": LAYERS, "other": OTHER_LAYERS})
        for name in ("draw_drift", "describe_drift")
    ),
    *(
        Case(f"viz.figures_01.{name}", getattr(figures_01, name), CLOUDS, {"clouds": BAD_CLOUDS})
        for name in ("draw_norms", "describe_norms")
    ),
    *(
        Case(f"viz.figures_01.{name}", getattr(figures_01, name), {"lengths": {"a": CLOUD[0]}}, {
            "lengths": BAD_LENGTHS,
        })
        for name in ("draw_lengths", "describe_lengths")
    ),
    Case("viz.figures_01.draw_head_spreads", figures_01.draw_head_spreads,
         {"before": TABLE, "after": TABLE, "fresh": TABLE, "width": 32}, {
        "before": FIRST_SPREAD, "after": SPREAD, "fresh": SPREAD, "width": COUNT,
    }),
    Case("viz.figures_01.describe_head_spreads", figures_01.describe_head_spreads,
         {"after": TABLE, "fresh": TABLE}, {"after": FIRST_SPREAD, "fresh": SPREAD}),
]  # fmt: skip

PIXELS = np.zeros((2, 3, 4), np.uint8)
SLIDER = inputs.Slider("width", 1, 9, 2, 3)
STEPS = inputs.Steps("width", (2, 4, 8), 4)
CHOICE = inputs.Choice("kind", ("a", "b"), "a")
FREE = inputs.FreeText("text", "it")
LISTED = {"description": "width", "values": (2, 4), "default": 4}
BAD_LISTED = {
    "description": TEXT,
    "values": Bad((None, 3, "24"), ([],)),
    "default": Bad((), (None, 3, "4", [4], np.array([2, 4]))),
}
RANDOM = {"random": Random(0)}
NO_RANDOM = {"random": Bad((None, 0, "x", np.random.default_rng(0)))}
CONTROLS = [
    Case("viz.png.encode_png", png.encode_png, {"pixels": PIXELS}, {
        "pixels": Bad((None, "x", [[[0, 0, 0]]]),
                      (PIXELS[0], PIXELS[..., :2], PIXELS[:0], PIXELS.astype(float))),
    }),
    Case("viz.show.show", show, {"figure": new_figure(), "alt": "Nothing."}, {
        "figure": Bad((None, "x", np.zeros(3))),
        "alt": Bad(TEXT.types, (Said("", "empty"), Said(" \n", "empty"))),
    }),
    Case("viz.inputs.Slider", inputs.Slider,
         {"description": "w", "minimum": 1, "maximum": 9, "step": 2, "default": 3}, {
        "description": TEXT,
        "minimum": Bad(REAL.types, (*REAL.values, 11)), "maximum": REAL, "step": POSITIVE,
        "default": Bad((None, "3", True, [3]), (0, 10)),
    }),
    Case("viz.inputs.Slider.check", lambda value: SLIDER.check("value", value), {"value": 3}, {
        "value": Bad((None, "3", True, 3.0, [3]), (0, 10, -1)),
    }),
    Case("viz.inputs.Slider.sample", SLIDER.sample, RANDOM, NO_RANDOM),
    Case("viz.inputs.Steps", inputs.Steps, LISTED, BAD_LISTED),
    Case("viz.inputs.Steps.check", lambda value: STEPS.check("value", value), {"value": 4}, {
        "value": Bad((), (None, 3, "4", True, [4], np.array([2, 4]), NAN)),
    }),
    Case("viz.inputs.Steps.sample", STEPS.sample, RANDOM, NO_RANDOM),
    Case("viz.inputs.Choice", inputs.Choice, LISTED, {**BAD_LISTED, "wide": FLAG}),
    Case("viz.inputs.FreeText", inputs.FreeText, {"description": "text", "default": "it"}, {
        "description": TEXT, "default": TEXT, "placeholder": TEXT,
        "examples": Bad((None, 3, "abc", Said([None], "None"))),
    }),
    Case("viz.inputs.FreeText.check", lambda value: FREE.check("value", value), {"value": "a"}, {
        "value": TEXT,
    }),
    Case("viz.inputs.FreeText.sample", FREE.sample, RANDOM, NO_RANDOM),
]  # fmt: skip

CASES = [*CHECKS, *DRAW, *FIGURES, *CONTROLS]

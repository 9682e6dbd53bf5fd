"""The engine on small explorers: values, tables, what is served, failures, what a cell shows."""

import gc
import json
import re
import weakref
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from ipywidgets import Widget
from ipywidgets.widgets.widget import _instances

from course_utils.explorers import Explorer, cell_outputs
from course_utils.explorers.data import Weights, as_json, encode, table
from course_utils.explorers.inputs import Cells, Choice, Point, Slider, Steps, Text, Toggle
from course_utils.explorers.page import standalone_page
from course_utils.explorers.widget import SharedKit

WIDGET = "application/vnd.jupyter.widget-view+json"


@dataclass(frozen=True)
class LineState:
    heights: np.ndarray
    slope: int


class Toy(Explorer):
    title = "What does a slope < 5 do?"
    inputs = {
        "slope": Slider("slope", 0, 4, 3),
        "paper": Choice("paper", ("plain", "lined"), "plain"),
    }
    presets = {"flat": {"slope": 0}}
    view = "../../lectures/_template/softmax.js"

    def compute(self, slope, paper):
        return LineState(slope * np.arange(3.0), slope)

    def caption(self, state):
        return f"The line rises by [b:{state.slope}] & on."


class Served(Toy):
    inputs = {"text": Text("text", "ab"), "slope": Slider("slope", 0, 4, 3)}
    served = ("text",)

    def compute(self, text, slope):
        if text == "bad":
            raise ValueError("text must have a word, got none")
        return LineState(len(text) * np.arange(3.0), slope)

    def given(self, text):
        return {"letters": list(text)}


def test_values_start_at_defaults_and_can_be_set():
    toy = Toy(slope=1)
    assert toy.values == {"slope": 1, "paper": "plain"}
    toy.widget()
    toy.set(slope=4)
    assert toy.widget().values == {"slope": 4, "paper": "plain"}
    assert toy.in_words == "What does a slope < 5 do?\nslope: 4"


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        ({"slope": 7}, ValueError, "slope must be 0 to 4, got 7"),
        ({"slope": 1.5}, TypeError, "slope must be a whole number, got 1.5"),
        ({"slope": True}, TypeError, "slope must be a whole number, got True"),
        ({"paper": "blue"}, ValueError, "paper must be one of ['plain', 'lined'], got 'blue'"),
        ({"x": 1}, ValueError, "a control must be one of ['slope', 'paper'], got 'x'"),
    ],
)
def test_bad_values_are_refused(values, kind, words):
    with pytest.raises(kind, match=f"^{re.escape(words)}$"):
        Toy(**values)
    toy = Toy()
    with pytest.raises(kind):
        toy.set(**values)
    assert toy.values == {"slope": 3, "paper": "plain"}


@pytest.mark.parametrize(
    ("declared", "bad"),
    [
        (Slider("x", 0.0, 1.0, 0.5, step=0.1), float("nan")),
        (Steps("x", (1, 2, 4), 2), 3),
        (Steps("x", (1, 2, 4), 2), True),
        (Toggle("x"), 1),
        (Text("x", "a", longest=3), "abcd"),
        (Point("x", (0.0, 0.0)), [0, 2]),
        (Point("x", (0.0, 0.0)), 3),
        (Cells("x", ("#.", "##")), ["#.", "#"]),
        (Cells("x", ("#.", "##")), ["#.", "#x"]),
        (Cells("x", ("#.", "##")), [[1, 0], [1, 1]]),
    ],
)
def test_each_kind_of_control_checks(declared, bad):
    for value in [declared.default, *declared.sweep()]:
        declared.check("x", value)
    json.dumps(declared.spec())
    with pytest.raises((TypeError, ValueError), match=r"^x must .*, got "):
        declared.check("x", bad)


def test_a_table_has_every_state_in_order():
    given = Toy().page_data()["given"]["data"]["table"]
    assert given["positions"] == {"slope": [0, 1, 2, 3, 4], "paper": ["plain", "lined"]}
    assert given["columns"]["slope"] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert given["columns"]["heights"]["shape"] == [10, 3]
    assert len(given["captions"]) == 10


def test_fields_of_different_shapes_stay_apart():
    sent = table({"n": [1, 2]}, [{"x": np.zeros(1)}, {"x": np.zeros(2)}], ["a", "b"])
    assert [each["shape"] for each in sent["columns"]["x"]] == [[1], [2]]


def test_weights_take_two_bytes():
    assert encode(np.array([1, 300], dtype=np.uint16))["data"] == b"\1\0,\1"
    sent = encode(Weights(np.array([0.0, 1.0])))
    assert sent == {"array": "weights", "shape": [2], "data": b"\0\0\xff\xff"}


def test_the_browser_asks_for_what_is_served():
    explorer = Served()
    widget = explorer.widget()
    assert widget.given["for"] == {"text": "ab"}
    widget.values = {"text": "xyz", "slope": 2}
    assert explorer.values == {"text": "xyz", "slope": 2}
    assert widget.given["for"] == {"text": "xyz"} and widget.given["data"]["letters"] == [
        "x",
        "y",
        "z",
    ]
    before = widget.given
    widget.values = {"text": "xyz", "slope": 4}
    assert widget.given is before, "what is not served asks nothing"


def test_a_failure_is_a_sentence_and_keeps_what_worked():
    explorer = Served()
    widget = explorer.widget()
    widget.values = {"text": "bad", "slope": 2}
    assert widget.problem.startswith("Text must have a word, got none. The picture is the last")
    assert widget.given["for"] == {"text": "ab"} and explorer.values["text"] == "ab"
    with pytest.raises(ValueError, match=r"^text must have a word"):
        explorer.set(text="bad")
    widget.values = {"text": "fine", "slope": 2}
    assert widget.problem == ""


def test_the_bundle_has_title_and_setting_and_a_page_where_asked(monkeypatch):
    data, metadata = Toy(slope=0)._repr_mimebundle_()
    assert data["text/plain"] == "What does a slope < 5 do?\nflat"
    assert set(data) == {"text/plain", WIDGET} and isinstance(metadata, dict)
    monkeypatch.setenv("COURSE_PAGES", "1")
    data, _ = Toy()._repr_mimebundle_()
    assert (
        data["text/x-course-page"].startswith("<div") and "</script>" in data["text/x-course-page"]
    )


def test_a_page_holds_everything_and_no_script_ends_early():
    page = standalone_page(Toy())
    assert page.count("</script>") == 2 and "slope &lt; 5" in page
    assert "import(" not in page and "src=" not in page
    json.dumps(as_json(Toy().page_data()))


@pytest.mark.parametrize("kind", [Toy, Served])
def test_after_all_widgets_were_closed_an_explorer_is_shown_anew(kind):
    explorer = kind()
    explorer._repr_mimebundle_()
    closed = explorer.widget()
    Widget.close_all()
    explorer.set(slope=4)
    data, _ = explorer._repr_mimebundle_()
    widget = explorer.widget()
    assert widget is not closed and data[WIDGET]["model_id"] == widget.model_id
    assert widget.values["slope"] == 4 and widget.shared.comm is not None
    widget.values = {**explorer.values, "slope": 1}
    assert explorer.values["slope"] == 1, "it listens"


@pytest.mark.parametrize("kind", [Toy, Served])
def test_a_cell_that_is_run_again_leaves_no_widget_behind(monkeypatch, kind):
    """60 explorers with presets, each shown, moved and shown again by the next run of its cell."""
    monkeypatch.setattr(cell_outputs, "_outputs", {})
    runs = iter(range(60))

    def kernel():
        return SimpleNamespace(
            kernel=SimpleNamespace(
                get_parent=lambda _: {
                    "metadata": {"cellId": "a"},
                    "header": {"msg_id": next(runs)},
                }
            )
        )

    monkeypatch.setattr(cell_outputs, "get_ipython", kernel)
    SharedKit.now()
    before, made = set(_instances), []
    for _ in range(60):
        explorer = kind()
        explorer._repr_mimebundle_()
        explorer.set(**explorer.presets["flat"])
        made.append(weakref.ref(explorer))
    assert len(set(_instances) - before) == 2, "one widget, and the layout that each has"
    gc.collect()
    assert [each() is not None for each in made] == [False] * 59 + [True]
    explorer.close()
    assert set(_instances) == before


def test_all_explorers_share_one_kit_that_opens_again_after_all_widgets_were_closed():
    one, other = Toy().widget(), Served().widget()
    assert one.shared is other.shared
    assert "ResizeObserver" in one.shared.module
    assert "ResizeObserver" not in one._esm
    one.shared.close()
    assert Toy().widget().shared.comm is not None

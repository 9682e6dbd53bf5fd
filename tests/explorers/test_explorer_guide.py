"""The guide to writing an explorer: its example runs, and keeps every rule that it states."""

import re
from pathlib import Path

import numpy as np
import pytest

from course_utils.explorers import Explorer
from course_utils.lectures import EXPLORERS
from tests.explorers.support_explorers import arrays_in, move, press, random_events
from tests.lectures.test_every_explorer import faults

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "writing-an-explorer.md"
TEXT = GUIDE.read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.S | re.M)


@pytest.fixture(scope="module")
def example():
    names = {"__name__": "guide"}
    exec(compile(CODE, str(GUIDE), "exec"), names)
    (kind,) = (
        value
        for value in names.values()
        if isinstance(value, type) and issubclass(value, Explorer) and value is not Explorer
    )
    return kind()


def test_the_example_passes_what_every_explorer_has_to_pass(example):
    for name, each in example.inputs.items():
        for value in each.sweep():
            move(example, **{name: value})
            assert faults(example) == [], (name, value)
    for label in example.scenes:
        press(example, label)
        assert faults(example) == [], label
    for name in random_events(example, 100, seed=1):
        assert faults(example) == [], name


def test_the_example_says_what_is_true(example):
    example.set(temperature=1.0, count=5)
    scores = np.linspace(-2, 2, 5)
    expected = np.exp(scores) / np.exp(scores).sum()
    ((_, weights), *_) = arrays_in(example.state)
    assert np.allclose(weights, expected)
    assert f"{expected[-1]:.3f}" in example.words


def test_the_example_fits_in_forty_lines():
    lines = [line for line in CODE.splitlines() if line and not line.startswith(("from", "import"))]
    assert len(lines) <= 40
    assert max(map(len, CODE.splitlines())) <= 100


def test_the_guide_names_every_method_that_an_author_may_write():
    mine = {name for name in vars(Explorer) if not name.startswith("_")}
    given = {
        "title",
        "inputs",
        "scenes",
        "size",
        "values",
        "set",
        "png",
        "words",
        "widget",
        "close",
    }
    assert mine - given - {"close"} <= set(re.findall(r"\w+", TEXT))


def test_every_file_and_control_that_the_guide_names_exists():
    from course_utils.explorers import draw, inputs, style

    for path in re.findall(r"`(course_utils/[\w/.]+\.py)`", TEXT):
        assert (ROOT / path).is_file(), path
    for module, names in (
        (inputs, ["Slider", "Steps", "Choice", "FreeText"]),
        (draw, ["HeatMap"]),
        (style, ["MAGNITUDE_MAP", "SIGNED_MAP"]),
    ):
        assert all(hasattr(module, name) and name in TEXT for name in names)
    assert "explore_softmax_temperature" in TEXT
    assert "explore_softmax_temperature" not in EXPLORERS, "the commands are an example's"

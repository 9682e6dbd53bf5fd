"""The map of the reader's GPT: which part is whose, in marks, in colour and in words."""

import re
from itertools import combinations

import pytest
from bs4 import BeautifulSoup

from course_utils.teaching.part_map import (
    BROKEN,
    HEIGHT,
    MARKS,
    OURS,
    PLACES,
    WIDTH,
    YOURS,
    draw_map,
    map_of_file,
)


def boxes(states):
    """Part → its label and whether its box is filled; with the words of the picture."""
    page = BeautifulSoup(draw_map(states), "html.parser")
    found = {}
    for box in page.select("svg > rect"):
        label = box.find_next_sibling("text").text
        found[label.removeprefix("✓ ").removeprefix("✗ ")] = label, box["fill"] != "none"
    assert page.svg["role"] == "img" and page.svg["aria-label"] == page.figcaption.text
    return found, page.svg["aria-label"]


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ({}, "Your GPT. The course’s: MyGPT, block, MultiHead, apply_rope, step, "
         "rolling_step, attend, causal_mask, softmax."),
        ({"attend": YOURS, "softmax": YOURS}, "Your GPT. Yours: attend, softmax. The course’s: "
         "MyGPT, block, MultiHead, apply_rope, step, rolling_step, causal_mask."),
        (dict.fromkeys(PLACES, YOURS), "Your GPT. Yours: MyGPT, block, MultiHead, apply_rope, "
         "step, rolling_step, attend, causal_mask, softmax."),
        ({**dict.fromkeys(PLACES, YOURS), "softmax": BROKEN}, "Your GPT. Yours: MyGPT, block, "
         "MultiHead, apply_rope, step, rolling_step, attend, causal_mask. In your file, "
         "but it does not pass: softmax."),
    ],
    ids=["none", "some", "all", "one broken"],
)  # fmt: skip
def test_what_is_whose(states, words):
    found, said = boxes(states)
    assert said == words
    whose = {name: states.get(name, OURS) for name in PLACES}
    assert found == {
        name: (f"{MARKS[state]}{name}", state != OURS) for name, state in whose.items()
    }


def test_a_part_is_within_what_uses_it_and_beside_the_rest():
    def edges(name):
        x, y, width, height = PLACES[name]
        return x, y, x + width, y + height

    def is_within(one, other):
        (a, b, c, d), (e, f, g, h) = edges(one), edges(other)
        return a > e and b > f and c < g and d < h

    def is_apart(one, other):
        (a, b, c, d), (e, f, g, h) = edges(one), edges(other)
        return c < e or g < a or d < f or h < b

    assert all(is_within(name, "attend") for name in ("causal_mask", "softmax"))
    assert all(is_within(name, "MultiHead") for name in ("attend", "apply_rope", "step"))
    assert is_within("MultiHead", "block") and is_within("block", "MyGPT")
    for pair in combinations(PLACES, 2):
        assert is_apart(*pair) or is_within(*pair) or is_within(*pair[::-1])
    assert edges("MyGPT")[2] < WIDTH <= 360 and edges("MyGPT")[3] < HEIGHT


def test_it_has_no_colour_of_one_theme_alone():
    colours = re.findall(r'(?:fill|stroke)="([^"]+)"', draw_map({"step": YOURS, "block": BROKEN}))
    assert {re.sub(r"var\(--jp-.*", "var", each) for each in colours} == {
        "none", "currentColor", "var",
    }  # fmt: skip


@pytest.mark.parametrize("text", [None, b"def attend(:", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_has_no_map(tmp_path, text):
    if text is not None:
        (tmp_path / "my_gpt.py").write_bytes(text)
    assert map_of_file(tmp_path) == ""

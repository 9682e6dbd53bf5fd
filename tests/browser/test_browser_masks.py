"""Lecture 05's masks in a browser: painting by pointer, touch and keys; words and layers."""

import pytest

from tests.browser.support_explorer import drag, middle, preset, press, touch, words

pytestmark = pytest.mark.browser

NAME = "explore_masks"
FIRST = "[data-pair='0 0']"
RESTED = 300  # milliseconds after which a finger paints in any direction
ONE_STOP = ".mask-cells [tabindex='0']"


def allowed(tab):
    """The pairs that the grid shows as allowed."""
    words(tab)
    boxes = tab.locator(".mask-cells [aria-checked=true]").all()
    return {each.get_attribute("data-pair") for each in boxes}


def test_a_press_and_a_drag_paint(open_explorer):
    tab = open_explorer(NAME)
    before = allowed(tab)
    side = middle(tab, "[data-pair='0 1']")[0] - middle(tab, FIRST)[0]
    assert "6 of 8" in drag(tab, "[data-pair='1 3']", (3 * side, 0))
    added = {"1 3", "1 4", "1 5", "1 6"}
    assert allowed(tab) == before | added
    drag(tab, FIRST, (0, 7 * side))
    assert allowed(tab) == (before | added) - {f"{t} 0" for t in range(8)}
    assert tab.locator(".mask-empty").filter(has_text="0/0").count() == 1


def test_keys_paint(open_explorer):
    tab = open_explorer(NAME)
    before = allowed(tab)
    assert tab.locator(ONE_STOP).count() == 1
    press(tab, FIRST, "ArrowRight", "ArrowRight", "ArrowDown", " ")
    assert allowed(tab) == before | {"1 2"}
    tab.keyboard.press(" ")
    assert allowed(tab) == before
    assert tab.locator(ONE_STOP).count() == 1


def test_a_finger_paints(open_explorer):
    tab = open_explorer(NAME, width=360, has_touch=True, is_mobile=True)
    before, (x, y) = allowed(tab), middle(tab, "[data-pair='2 4']")
    touch(tab, x, y, (0, middle(tab, "[data-pair='0 4']")[1] - y), rest=RESTED)
    assert allowed(tab) == before | {"0 4", "1 4", "2 4"}


def test_words_and_layers_are_chosen(open_explorer):
    tab = open_explorer(NAME)
    preset(tab, "window of 3")
    tab.locator("text.mask-q", has_text="slept").first.click()
    assert "2 layers it depends on 5," in words(tab)
    assert "3 layers it depends on 7," in press(tab, ".mask-layers [tabindex='0']", "ArrowRight")
    tab.mouse.click(*middle(tab, ".mask-column >> nth=3"))
    assert words(tab).startswith("cat attends")
    tab.keyboard.press("ArrowLeft")
    assert words(tab).startswith("the attends")
    assert tab.locator("[aria-pressed=true]").inner_text() == "window of 3"

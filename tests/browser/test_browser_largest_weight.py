"""Lecture 01's first picture in a browser: which query is shown, and which key is pointed at."""

import pytest

from tests.browser.support_explorer import press, words

pytestmark = pytest.mark.browser

NAME, TOPS = "explore_largest_weight", ".largest svg >> nth=1"


def test_a_press_on_a_dot_shows_its_query(open_explorer):
    tab = open_explorer(NAME)
    assert "query 7 gives key 10 " in words(tab)
    tops = tab.locator(TOPS).bounding_box()
    tab.mouse.click(tops["x"] + 0.84 * tops["width"], tops["y"] + tops["height"] / 2)
    assert "query 11 gives key " in words(tab)
    assert "query 12 gives key " in press(tab, TOPS, "ArrowRight")
    assert "query 12 gives key " in press(tab, TOPS, "ArrowRight"), "there are no more"


def test_the_key_that_is_pointed_at_is_named(open_explorer):
    tab = open_explorer(NAME)
    named = tab.locator(".largest-key")
    assert named.text_content().startswith("key 10: ")
    tab.locator(".largest svg >> nth=0").hover(position={"x": 36, "y": 100})
    assert named.text_content().startswith("key 0: ")
    tab.mouse.move(2, 2)
    assert named.text_content().startswith("key 10: ")

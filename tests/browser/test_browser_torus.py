"""Lecture 04's torus in a browser: beads and curve by pointer and keys; looking around."""

import pytest

from tests.browser.support_explorer import drag, middle, press, value, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME = "explore_rope_torus"
QUERY, KEY = ".torus-space .torus-query", ".torus-space .torus-key"
GROUND, DOT, BEAD = ".torus-ground", ".torus-dot", ".torus-space .torus-bead"
PAINTED = "document.querySelector('.torus canvas').toDataURL()"


def place_of(tab, n):
    """Where the key's handle is when the key is at n, on the screen; the key is put back."""
    before = int(value(tab, KEY))
    press(tab, KEY, "Home", *["ArrowRight"] * n)
    assert value(tab, KEY) == n
    place = middle(tab, f"{KEY} rect")
    press(tab, KEY, "Home", *["ArrowRight"] * before)
    return place


def test_the_key_is_dragged_from_bead_to_bead(open_explorer):
    tab = open_explorer(NAME)
    there = place_of(tab, 54)
    tab.mouse.move(*middle(tab, f"{KEY} rect"))
    tab.mouse.down()
    tab.mouse.move(*there, steps=6)
    tab.mouse.up()
    assert words(tab).startswith("With the query at 10 and the key at 54,")
    assert tab.locator("[aria-pressed=true]").all_inner_texts() == ["44 apart"]


def test_the_curve_moves_the_key(open_explorer):
    tab = open_explorer(NAME)
    drag(tab, DOT, (120, 30))
    assert value(tab, DOT) == value(tab, KEY) > 30
    press(tab, DOT, "End")
    assert value(tab, KEY) == 63


def test_a_press_on_the_chart_brings_the_key_there(open_explorer):
    tab = open_explorer(NAME)
    x, y = middle(tab, DOT)
    tab.mouse.click(x + 100, y + 150)
    there = value(tab, DOT)
    assert there == value(tab, KEY) > 30
    tab.mouse.click(*middle(tab, DOT))
    assert value(tab, DOT) == there


def test_keys_move_the_query_and_the_colours(open_explorer):
    tab = open_explorer(NAME)
    fills = f"[...document.querySelectorAll('{BEAD}')].map(each => each.getAttribute('fill'))"
    before = tab.evaluate(fills)
    press(tab, QUERY, "ArrowRight")
    assert (value(tab, QUERY), value(tab, KEY)) == (11, 16)
    assert tab.evaluate(fills) != before


def test_looking_around_changes_no_number(open_explorer):
    tab = open_explorer(NAME)
    said, seen = words(tab), tab.evaluate(PAINTED)
    drag(tab, GROUND, (90, 40), start=(-100, 130))
    assert words(tab) == said
    turned = tab.evaluate(PAINTED)
    assert turned != seen and tab.locator("[aria-pressed=true]").count() == 1
    heard = tab.locator(GROUND).get_attribute("aria-valuetext")
    press(tab, GROUND, "ArrowLeft", "ArrowUp")
    assert tab.evaluate(PAINTED) != turned
    assert tab.locator(GROUND).get_attribute("aria-valuetext") != heard

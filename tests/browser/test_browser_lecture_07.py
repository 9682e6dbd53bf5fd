"""Lecture 07 in a browser: what is dragged and played, by pointer and key."""

import pytest

from tests.browser.support_explorer import drag, press, words
from tests.browser.support_page import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_training_is_scrubbed_and_plays(open_explorer):
    tab = open_explorer("explore_experts")
    assert drag(tab, ".moe-knob", (900, 20)).startswith("Step 3,000: ")
    assert press(tab, ".moe-scrub", "ArrowLeft").startswith("Step 2,800: ")
    assert press(tab, ".moe-scrub", "Home").startswith("Step 0: ")
    play = tab.locator(".moe-play")
    play.click()
    assert play.inner_text() == "Pause"
    wait_for(lambda: not words(tab).startswith(("Step 0", "Step 20:")), lambda: "it does not play")
    press(tab, ".moe-scrub", "End")
    assert play.inner_text() == "Play", "who takes it in hand stops it"


def test_names_are_pointed_at_and_walked_through(open_explorer):
    tab = open_explorer("explore_phone_book")
    told, square = tab.locator(".book-told"), tab.locator(".book-square")
    assert told.inner_text() == "Point at a person."
    box = square.bounding_box()
    tab.mouse.move(box["x"] + box["width"] * 2.5 / 64, box["y"] + box["height"] * 5.5 / 64)
    assert told.inner_text().startswith("First name 6, last name 3: number ")
    assert "All 8 hidden units" in told.inner_text()
    tab.get_by_role("button", name="8 experts, 2 for each name").click()
    square.focus()
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowRight")
    wait_for(lambda: "the others do nothing" in told.inner_text(), told.inner_text)
    tab.get_by_role("radio", name="32", exact=True).click()
    wait_for(lambda: words(tab).startswith("32 hidden units in 8 experts"), lambda: words(tab))

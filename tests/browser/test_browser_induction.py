"""Lecture 06b's heads that copy, in a browser: switches, tokens, and what a pointer lights."""

import pytest

from tests.browser.support_explorer import PAINTED, preset, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME = "explore_induction"


def switch(tab, title):
    return tab.locator(f".induct-switch[aria-label^='{title}']")


def test_a_switch_takes_a_head_away_and_brings_it_back(open_explorer):
    tab = open_explorer(NAME)
    first = words(tab)
    assert "expects 11, 1.00: right" in first
    switch(tab, "layer 1, head 1").click()
    assert "Without layer 1's head 1" in words(tab)
    assert "11 would be right" in words(tab)
    assert tab.locator(".induct-off").count() == 1
    assert switch(tab, "layer 1, head 1").get_attribute("aria-checked") == "false"
    assert "all of it on: 0.00" in tab.locator(".induct").inner_text()
    assert press(tab, ".induct-switch[aria-checked=false]", " ") == first


def test_keys_and_clicks_choose_the_token_that_asks(open_explorer):
    tab = open_explorer(NAME)
    assert "second 11 the model" in press(tab, ".induct-asks", "ArrowRight")
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowLeft")
    assert "second 12 the model" in words(tab)
    assert "first 9 the model" in press(tab, ".induct-asks", "Home")
    assert tab.locator(".induct-aim:visible").count() == 0
    tab.locator(".induct-chip >> nth=15").click()
    assert "the row ends here" in words(tab)
    tab.locator(".induct-bar >> nth=9").click()
    assert "second 0 the model" in words(tab)
    assert tab.locator("[role=radio][tabindex='0']").count() == 1


def test_a_pointer_lights_partners(open_explorer):
    tab = open_explorer(NAME)
    chip = ".induct-chip >> nth=5 >> rect"
    before = tab.locator(chip).evaluate("each => getComputedStyle(each).fill")
    tab.locator(".induct-strip >> nth=3 >> .induct-cell >> nth=0").hover()
    tab.evaluate(PAINTED)
    assert tab.locator(".induct-pointed").count() == 1
    assert tab.locator(chip).evaluate("each => getComputedStyle(each).fill") != before
    assert tab.locator(".induct-band").get_attribute("visibility") == "visible"


def test_one_layer_has_two_heads(open_explorer):
    tab = open_explorer(NAME)
    preset(tab, "one layer")
    assert tab.locator(".induct-switch:visible").count() == 2
    assert "no layer 1" in tab.locator(".induct").inner_text()

"""Lecture 05's cache in a browser: the context in the hand; what is written beside it."""

import pytest

from tests.browser.support_explorer import drag, middle, preset, press, value, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME, HANDLE, GRIP = "explore_cache", ".cache-handle", ".cache-dot"


def test_the_dot_is_dragged_along_the_context(open_explorer):
    tab = open_explorer(NAME)
    preset(tab, "128k tokens")
    drag(tab, GRIP, (-150, 60))
    length = value(tab, HANDLE)
    assert 32768 < length < 131072 and f"{length:,.0f}" in words(tab)
    assert f"{length:,.0f}" in tab.locator(".cache-product").inner_text()
    drag(tab, GRIP, (-900, 0))
    assert value(tab, HANDLE) == 1024


def test_keys_move_the_context(open_explorer):
    tab = open_explorer(NAME)
    preset(tab, "128k tokens")
    for key, length in (("Home", 1024), ("ArrowRight", 2048), ("PageUp", 12288), ("End", 131072)):
        assert f"{length:,} tokens" in press(tab, HANDLE, key)
        assert value(tab, HANDLE) == length


def test_the_height_stays_in_the_hand(open_explorer):
    """The dot follows the hand; memory that no longer fits the picture changes it afterwards."""
    tab = open_explorer(NAME, reduced_motion="reduce")
    preset(tab, "… 32 texts")
    ticks = "[...document.querySelectorAll('.ce-stage svg > g:first-of-type text')]"
    ticks += ".map(each => each.textContent)"
    before = tab.evaluate(ticks)
    x, y = middle(tab, GRIP)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 5000, y, steps=4)
    words(tab)
    assert "600" in before and tab.evaluate(ticks) == before
    tab.mouse.up()
    assert value(tab, HANDLE) == 1024
    assert "600" not in tab.evaluate(ticks)

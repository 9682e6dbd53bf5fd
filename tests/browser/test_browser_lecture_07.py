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

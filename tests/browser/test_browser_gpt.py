"""Lecture 06's scaling laws in a browser: a budget moved."""

import pytest

from tests.browser.support_explorer import drag, preset, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LAWS = "explore_scaling_laws"


def test_the_point_and_the_budget_are_dragged(open_explorer):
    tab = open_explorer(LAWS)
    first = words(tab)
    assert drag(tab, ".laws-point >> nth=0", (-60, -60)) != first
    preset(tab, "GPT-3")
    assert "3.2 × 10²³" not in drag(tab, ".laws-grip rect", (-60, 40))
    preset(tab, "GPT-3")
    assert "3.2 × 10²³" in drag(tab, ".laws-point >> nth=1", (-80, 0)) != first
    tab.keyboard.press("ArrowRight")
    assert "3.5 × 10²³" in press(tab, ".laws-grip", "ArrowUp")

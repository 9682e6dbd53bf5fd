"""The gradient's reach in a browser: the pointer dragged, a curve lifted, squares filled."""

import pytest

from tests.browser.support_explorer import drag, preset, press, value

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME, CHIP = "explore_gradient_reach", ".reach-chip"
RNN, LSTM = "circle.reach-0", "circle.reach-1"


def test_the_pointer_is_dragged_and_a_click_takes_it(open_explorer):
    tab = open_explorer(NAME)
    box = tab.locator(".reach").bounding_box()
    step = (box["width"] - 54) / 64
    assert "40 steps back" in drag(tab, CHIP, (-20 * step, 0))
    assert value(tab, CHIP) == 40
    tab.mouse.click(box["x"] + box["width"] - 12 - 10.5 * step, box["y"] + 200)
    assert value(tab, CHIP) == 10
    for key, place in (("ArrowLeft", 11), ("ArrowRight", 10), ("ArrowUp", 11), ("End", 63)):
        press(tab, CHIP, key)
        assert value(tab, CHIP) == place


def test_a_curve_is_lifted_by_its_initialisation(open_explorer):
    tab = open_explorer(NAME)
    preset(tab, "a paragraph ago")
    height = tab.locator(LSTM).bounding_box()["y"]
    drag(tab, LSTM, (0, -60))
    assert value(tab, LSTM) == 1 and tab.locator(LSTM).bounding_box()["y"] < height - 40
    press(tab, LSTM, "ArrowUp")
    assert value(tab, LSTM) == 2
    assert tab.get_by_label("LSTM: forget bias", exact=True).get_attribute("aria-valuetext") == "2"
    drag(tab, RNN, (0, -120))
    assert value(tab, RNN) == 1 and tab.get_by_label("RNN: orthogonal").is_checked()

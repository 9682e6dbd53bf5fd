"""Lectures 01 and 02 in a browser: the spread, the scores and the temperature in the hand."""

import pytest
import torch

from course_utils.attention import softmax_jacobian
from lectures.l02_softmax.explorers.softmax import ONE_AHEAD, typical_scores
from tests.browser.support_explorer import drag, middle, preset, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTH, SOFTMAX = "explore_score_width", "explore_softmax"
EDGE, RIGHT = ".width-edge[role=slider]", ".width-edge[role=slider] .width-grip"
GRIP, DOT = ".soft-grip >> nth={} >> circle", ".soft-dot circle >> nth=1"


def test_the_spread_is_dragged_to_another_width(open_explorer):
    tab = open_explorer(WIDTH)
    assert words(tab).startswith("At d_k = 4,")
    left, right = (middle(tab, f".width-line >> nth={n}")[0] for n in (0, 1))
    one = (right - left) / 2  # the spread of 4 is 2
    wider = drag(tab, RIGHT, (3 * one, 0))
    assert wider.startswith("At d_k = 64,"), "four times as wide is sixteen times d_k"
    assert press(tab, EDGE, "ArrowRight").startswith("At d_k = 96,")
    assert press(tab, EDGE, "Home").startswith("At d_k = 1,")


def test_a_divided_spread_has_no_handle_unless_it_moves(open_explorer):
    tab = open_explorer(WIDTH)
    handle = tab.locator(EDGE)
    tab.locator("input[type=checkbox]").check()
    assert words(tab).startswith("Divided by √4,")
    assert handle.get_attribute("aria-disabled") == "true"
    assert handle.get_attribute("tabindex") is None
    preset(tab, "all equal")
    assert handle.get_attribute("tabindex") == "0" and "spread 8." in words(tab)


def test_a_score_is_dragged(open_explorer):
    tab = open_explorer(SOFTMAX)
    assert "largest weight is 0.45" in words(tab)
    assert float(drag(tab, GRIP.format(6), (0, -25)).split("weight is ")[1][:4]) > 0.55
    assert "weight is 0.07" in drag(tab, GRIP.format(6), (0, 400)), "the others share all"
    assert tab.locator("[aria-pressed=true]").count() == 0


def test_scores_by_keys(open_explorer):
    tab = open_explorer(SOFTMAX)
    grip = ".soft-grip[tabindex='0']"
    assert tab.locator(grip).count() == 1
    press(tab, grip, "ArrowRight", "ArrowRight", "Shift+ArrowUp", "ArrowUp", "ArrowLeft", "End")
    values = [each.get_attribute("aria-valuetext") for each in tab.locator(".soft-grip").all()]
    assert values[:4] == ["0.0", "2.5", "1.1", "0.0"]
    assert tab.locator(grip).get_attribute("aria-label") == "score of key 1"


def test_the_dot_is_dragged_to_another_temperature(open_explorer):
    tab = open_explorer(SOFTMAX)
    preset(tab, "d_k = 64")
    rail = tab.locator("input[type=range]")
    drag(tab, DOT, (-120, -30))
    temperature = float(rail.get_attribute("aria-valuetext"))
    weights = (torch.tensor(typical_scores(64)) / temperature).softmax(dim=0)
    strength = (softmax_jacobian(weights) / temperature).norm()
    assert temperature > 3 and f"strength {strength:.3f}" in words(tab)
    tab.keyboard.press("Home")
    assert "below 0.001" in words(tab)
    press(tab, "input[type=range]", "ArrowRight")
    assert rail.get_attribute("aria-valuetext") == "0.2"


def test_what_is_pointed_at_lights_up(open_explorer):
    tab = open_explorer(SOFTMAX)
    told = tab.locator(".soft-told")
    map_box = tab.locator(".soft-map canvas").first.bounding_box()
    side = map_box["width"] / 16
    tab.mouse.move(map_box["x"] + 6.5 * side, map_box["y"] + 2.5 * side)
    jacobian = softmax_jacobian(torch.tensor(ONE_AHEAD).softmax(dim=0))
    assert told.inner_text() == f"Score 6 up: weight 2 falls by {-jacobian[2, 6]:.3f} a point."
    assert tab.locator(".soft-frame:not(.soft-gone)").count() == 2
    tab.mouse.move(*middle(tab, GRIP.format(6)))
    assert f"weight 6 rises by {jacobian[6, 6]:.3f} a point" in told.inner_text()
    tab.mouse.move(500, 690)
    assert tab.locator(".soft-frame:not(.soft-gone)").count() == 0

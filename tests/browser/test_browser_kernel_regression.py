"""A query among points in a browser: the query, the bandwidth and a value in the hand."""

import re

import pytest

from lectures import EXPLORERS
from tests.browser.support_explorer import drag, preset, press, value, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME = "explore_kernel_regression"
PICTURE, QUERY, BANDWIDTH, RING = ".kernel", ".kernel-q", ".kernel-h", ".kernel-ring"
DOT = ".kernel-dot >> nth=42"  # near the query, in the flat part


def lit(tab):
    """The x of the dot with the largest weight: the widest."""
    return tab.evaluate(
        "() => [...document.querySelectorAll('.kernel-dot')]"
        ".reduce((one, each) => +each.getAttribute('r') > +one.getAttribute('r') ? each : one)"
        ".getBoundingClientRect().x"
    )


def test_the_query_is_dragged_and_what_is_near_lights_up(open_explorer):
    tab = open_explorer(NAME)
    start = lit(tab)
    drag(tab, QUERY, (300, 0))
    width = tab.locator(PICTURE).bounding_box()["width"] - 44
    assert value(tab, QUERY) == pytest.approx(0.3 + 300 / width, abs=0.005)
    assert lit(tab) == pytest.approx(start + 300, abs=20)


def test_an_empty_place_takes_the_query(open_explorer):
    tab = open_explorer(NAME)
    box = tab.locator(PICTURE).bounding_box()
    tab.mouse.click(box["x"] + 28 + 0.6 * (box["width"] - 44), box["y"] + 30)
    assert value(tab, QUERY) == pytest.approx(0.6, abs=0.005)


def test_the_bandwidth_is_dragged_until_each_query_chooses(open_explorer):
    tab = open_explorer(NAME)
    drag(tab, BANDWIDTH, (45, 0))
    wide = value(tab, BANDWIDTH)
    assert wide == pytest.approx(0.03 + 45 / 896, abs=0.002)
    press(tab, BANDWIDTH, "ArrowLeft")
    assert value(tab, BANDWIDTH) == pytest.approx(wide - 0.001)
    tab.get_by_label("each query chooses").check()
    chosen = value(tab, BANDWIDTH)
    drag(tab, BANDWIDTH, (45, 0))
    assert value(tab, BANDWIDTH) == chosen, "it is the query's own now"
    drag(tab, QUERY, (400, 0))
    assert value(tab, BANDWIDTH) < chosen / 3


def test_a_value_is_dragged_and_the_output_follows(open_explorer):
    tab = open_explorer(NAME)
    before = words(tab)
    moved, weight, effect = map(float, re.findall(r"[\d.]*\d", drag(tab, DOT, (0, -61)))[:3])
    assert moved == pytest.approx(1.0, abs=0.06) and weight > 0.05
    assert effect == pytest.approx(moved * weight, abs=0.006)
    assert value(tab, QUERY) == 0.3
    assert preset(tab, "flat part") == before


def test_keys_choose_a_point_and_move_it(open_explorer):
    tab = open_explorer(NAME)
    before, told = value(tab, RING), words(tab)
    press(tab, RING, "ArrowUp")
    assert value(tab, RING) == pytest.approx(before + 0.1, abs=0.011)
    assert press(tab, RING, "ArrowRight") == told, "the other point is where it was"
    y = EXPLORERS[NAME]().given()["y"].tolist()
    assert value(tab, RING) == pytest.approx(y[43], abs=0.006) != pytest.approx(y[42], abs=0.006)
    for key, place in (("ArrowRight", 0.305), ("Home", 0), ("End", 1)):
        press(tab, QUERY, key)
        assert value(tab, QUERY) == place

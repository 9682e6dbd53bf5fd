"""A finger on a phone: what scrolls the page changes nothing, what taps chooses."""

import io

import numpy as np
import pytest
from PIL import Image

from course_utils.explorers.page import page_of
from tests.browser.support_explorer import HEARD, PAINTED, middle, touch, words
from tests.browser.support_page import wait_for
from tests.browser.support_site import ROOT

pytestmark = pytest.mark.browser

PHONE = {"has_touch": True, "is_mobile": True, "reduced_motion": "reduce"}
# A page scrolls on for some frames after the finger has left it.
AT_REST = """async () => {
  for (let [still, at] = [0, scrollY]; still < 6; still = scrollY === at ? still + 1 : 0) {
    at = scrollY;
    await new Promise(requestAnimationFrame);
  }
}"""


@pytest.fixture
def phone(open_explorer):
    """Open an explorer on a phone, with more page to scroll to above and below."""

    def opened(name):
        tab = open_explorer(name, 360, **PHONE)
        tab.evaluate("document.body.style.padding = '900px 0'")
        tab.locator(".ce-stage").evaluate("each => each.scrollIntoView({ block: 'center' })")
        tab.evaluate(PAINTED)
        return tab

    return opened


def bring(tab, css):
    """Scroll an element to the middle of the screen, once the page is at rest."""
    tab.evaluate(AT_REST)
    tab.locator(css).first.evaluate("each => each.scrollIntoView({ block: 'center' })")
    tab.evaluate(PAINTED)


def tap(tab, css):
    """Tap an element of a page at rest: a tap on one that scrolls only stops it."""
    bring(tab, css)
    tab.locator(css).tap()
    tab.evaluate(PAINTED)


def swiped(tab, css):
    """Swipe up, from an element's middle; whether the page scrolled, and nothing else changed."""
    bring(tab, css)
    at, heard = tab.evaluate("scrollY"), tab.evaluate(HEARD)
    touch(tab, *middle(tab, f"{css} >> nth=0"), (4, -120))
    return tab.evaluate("scrollY") > at, tab.evaluate(HEARD) == heard


def test_a_swipe_over_heads_chooses_none_and_a_tap_does(phone):
    tab = phone("explore_real_heads")
    for css in (".heads-cell >> nth=40", ".heads-map canvas", ".heads-word >> nth=1"):
        assert swiped(tab, css) == (True, True), css
    tap(tab, ".heads-cell >> nth=17")
    assert "layer 1, head 5" in tab.locator(".heads-wall").inner_text()


@pytest.mark.parametrize(
    ("name", "css"),
    [
        ("explore_block", ".ce input[type=range]"),
        ("explore_tile_by_tile", ".tiles-player > input"),
    ],
)
def test_a_swipe_that_begins_beside_a_sliders_knob_leaves_its_value(phone, name, css):
    tab = phone(name)
    rail = tab.locator(css).first
    rail.evaluate("rail => { rail.value = rail.min; rail.dispatchEvent(new Event('input')); }")
    tab.evaluate(PAINTED)
    assert swiped(tab, css) == (True, True)
    assert rail.input_value() == rail.get_attribute("min")
    bring(tab, css)
    before = words(tab)
    touch(tab, *middle(tab, f"{css} >> nth=0"), (60, 3))
    wait_for(lambda: words(tab) != before, lambda: f"still {before}")


# Each goes up and down, and most go sideways as well; what is clicked first, if anything.
UP_AND_DOWN = {
    "explore_two_places": (".places-meet", ".places-turn"),
    "explore_plane": (".plane-chip.plane-query", None),
    "explore_rope": (".rope-q", None),
    "explore_rope_torus": (".torus-query", None),
    "explore_scaling_laws": (".laws-grip", None),
    "explore_roofline": (".roof-corner", None),
}


@pytest.mark.parametrize("name", UP_AND_DOWN)
def test_a_handle_that_goes_up_and_down_is_dragged_straight_up(phone, name):
    tab, (css, first) = phone(name), UP_AND_DOWN[name]
    if first:
        tab.locator(first).click()
    assert swiped(tab, css) == (False, False), "the page stays, the picture follows"


def test_what_is_large_lets_the_page_scroll(phone):
    tab = phone("explore_rope_torus")
    tab.evaluate(AT_REST)
    box = tab.locator(".torus-ground").bounding_box()
    at, heard = tab.evaluate("scrollY"), tab.evaluate(HEARD)
    touch(tab, box["x"] + 20, box["y"] + box["height"] - 20, (4, -120))
    assert tab.evaluate("scrollY") > at and tab.evaluate(HEARD) == heard


def test_a_tap_shows_what_a_mouse_points_at_until_another(phone):
    tab = phone("explore_depths")
    told = tab.locator(".mod-told")
    assert swiped(tab, ".mod-token >> nth=4") == (True, True)
    asks = told.inner_text()
    tap(tab, ".mod-token >> nth=4")
    assert told.inner_text() != asks
    tap(tab, ".ce-caption")
    assert told.inner_text() == asks


def test_a_finger_meets_each_head_and_each_switch_of_the_story(phone):
    tab = phone("explore_story_gpt")
    tap(tab, ".ce-presets button >> nth=2")
    assert tab.locator(".story-switch").count() == 16
    for kind in (".story-switch", ".story-choose"):
        boxes = [each.bounding_box() for each in tab.locator(kind).all()]
        assert min(min(each["width"], each["height"]) for each in boxes) >= 36, kind
    tap(tab, ".story-switch >> nth=5")
    assert tab.locator(".story-off").count() == 1, "the switch is over its head's button"
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360


CSS = (ROOT / "tools" / "site" / "static" / "course.css").read_text(encoding="utf-8")
PAPER = "body { --color-background-primary: white } .table-wrapper { overflow-x: auto }"
ROW = "".join(f"<td>{words}</td>" for words in ("A sentence of a claim. " * 4, *["12 of 12"] * 9))
TABLE = f"<table style='white-space: nowrap'><tr>{ROW}</tr></table>"
WIDE = {
    "of a page": f"<div class='table-wrapper'>{TABLE}</div>",
    "of claims": f"<div class='table-wrapper'>{TABLE.replace('nowrap', 'normal')}</div>",
    "of an output": f"<div style='overflow-x: auto;'>{TABLE}</div>",
}


@pytest.mark.parametrize("kind", WIDE)
def test_a_wide_table_shows_that_it_goes_on(open_page, tmp_path, kind):
    article = f"<article><section id='how-often-this-holds'>{WIDE[kind]}</section></article>"
    path = tmp_path / "table.html"
    path.write_text(page_of(f"<style>{PAPER} {CSS}</style>{article}"), encoding="utf-8")
    box = open_page(path.as_uri(), 360, **PHONE).locator("section > div")
    assert edges(box) == (False, True)
    box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
    assert edges(box) == (True, False)


def edges(box):
    """Whether there is a shadow at the left and at the right edge of what scrolls."""
    box.page.evaluate(PAINTED)
    with Image.open(io.BytesIO(box.screenshot())) as shot:
        columns = np.asarray(shot.convert("L"))[-3]  # a row of pixels without words
    return bool(columns[:3].min() < 230), bool(columns[-3:].min() < 230)

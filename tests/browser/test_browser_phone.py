"""A finger on a phone: what scrolls the page changes nothing, what taps chooses."""

import pytest

from tests.browser.support_explorer import HEARD, PAINTED, middle, touch, words
from tests.browser.support_page import wait_for

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


@pytest.mark.parametrize(
    ("name", "css"),
    [("explore_two_places", ".places-meet"), ("explore_plane", ".plane-chip[data-grab]")],
)
def test_a_handle_that_moves_both_ways_lets_the_page_scroll(phone, name, css):
    tab = phone(name)
    if name == "explore_two_places":
        tab.locator(".places-turn").click()
    assert swiped(tab, css) == (True, True)


def test_a_tap_shows_what_a_mouse_points_at_until_another(phone):
    tab = phone("explore_depths")
    told = tab.locator(".mod-told")
    assert swiped(tab, ".mod-token >> nth=4") == (True, True)
    asks = told.inner_text()
    tap(tab, ".mod-token >> nth=4")
    assert told.inner_text() != asks
    tap(tab, ".ce-caption")
    assert told.inner_text() == asks

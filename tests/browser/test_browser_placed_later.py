"""An explorer in a lab's page: built before it is placed, and with others below it."""

import pytest

from course_utils.explorers.page import fragment, page_of, standalone_page
from lectures import EXPLORERS
from tests.browser.support_explorer import words

pytestmark = pytest.mark.browser

BUILDS = "view.render({ model, el: box });"
# A picture's parts are drawn in frames of their own.
BOX_AT_REST = """stage => new Promise(done => {
  let last, frames = 0;
  const look = () => {
    const box = stage.getBoundingClientRect();
    const now = JSON.stringify(box);
    frames = now === last ? frames + 1 : 0;
    last = now;
    if (frames === 15) done(now); else requestAnimationFrame(look);
  };
  look();
})"""
PLACES_LATER = (
    "const later = document.createElement('div');"
    " view.render({ model, el: later });"
    "setTimeout(() => box.replaceChildren(later), 100);"
)


def test_colours_and_width_are_those_of_its_place(browser):
    page = standalone_page(EXPLORERS["explore_real_heads"]())
    assert page.count(BUILDS) == 1
    tabs = []
    for built in (page, page.replace(BUILDS, PLACES_LATER)):
        tab = browser.new_page(viewport={"width": 940, "height": 700})
        tab.set_content(built)
        tab.wait_for_selector(".ce")
        words(tab)
        tabs.append(tab)
    first, later = (tab.locator(".ce") for tab in tabs)
    assert later.bounding_box() == first.bounding_box()
    assert later.get_attribute("data-theme") == "light"
    shades = [each.locator(".heads-text").nth(2).get_attribute("style") for each in (first, later)]
    assert shades[0] == shades[1] and "rgb(" in shades[1]
    for tab in tabs:
        tab.close()


def test_the_explorers_below_change_nothing(browser):
    tab = browser.new_page(viewport={"width": 860, "height": 700})
    boxes = []
    for below in ("", fragment(EXPLORERS["explore_masks"]())):
        tab.set_content(page_of(fragment(EXPLORERS["explore_real_heads"]()) + below))
        boxes.append(tab.locator(".ce .ce-stage").first.evaluate(BOX_AT_REST))
    assert tab.locator(".ce").count() == 2 and boxes[0] == boxes[1]
    tab.close()

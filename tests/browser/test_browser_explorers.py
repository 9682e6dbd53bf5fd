"""Every explorer on a page: keys, presets, widths, both themes, a finger, axe, no JavaScript."""

import itertools

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from lectures import EXPLORERS
from tests.browser.support_explorer import (
    CUT_OFF,
    HEARD,
    OVERLAPPING,
    PAINTED,
    opening,
    paint,
    touch,
)
from tests.browser.support_page import seen

pytestmark = pytest.mark.browser

WIDE = 940
TALLEST = 640  # pixels: a small laptop's screen, less the lab's bars
CONTROLS = ".ce :is(input, select, [role=slider], [role=radio][aria-checked=true])"
# Where nothing else lies over an element, nor another that can be dragged.
PLACE_OF = """grip => {
  const box = grip.getBoundingClientRect(), parts = [0.5, 0.3, 0.7, 0.1, 0.9];
  return parts.flatMap(x => parts.map(y => [box.x + x * box.width, box.y + y * box.height]))
    .find(place => document.elementFromPoint(...place)?.closest('[data-grab]') === grip);
}"""
MOVED = """(rail, end) => {
  rail.value = rail[end];
  rail.dispatchEvent(new Event('input', { bubbles: true }));
}"""
# Scroll to a part of the picture.
SCROLLED = """part => {
  const box = document.querySelector('.ce-stage').getBoundingClientRect();
  scrollBy(0, box.top + part * box.height - innerHeight / 2);
}"""
SHARP = """sharp => [...document.querySelectorAll('.ce canvas')].every(each =>
  Math.abs(each.width - sharp * each.clientWidth) <= sharp)"""
# Three or more would leave too little of a phone's screen.
FEW_CONTROLS = ".ce-controls:has(.ce-control):not(:has(> :nth-child(3 of .ce-control)))"
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
# Beside what is dragged, where a first press may fall: an element, and shares of its sides.
PRESSED = {
    "explore_cache": (".cache-picture", 0.8, 0.5),
    "explore_depths": (".mod-losses svg", 0.3, 0.5),
    "explore_position_codes": (".codes-table canvas", 0.6, 0.5),
    "explore_scaling_laws": (".laws-plane", 0.4, 0.6),
}


@pytest.fixture(scope="module", params=EXPLORERS)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def tab(browser, name, explorer_page):
    """Its page, opened from a disk, where it may load nothing."""
    with opening(browser) as open_page:
        yield open_page(explorer_page(name), WIDE, device_scale_factor=2, reduced_motion="reduce")


def settled(tab):
    """What a reader can see once the next frame has been drawn: marks, pixels, words."""
    now = seen(tab.locator(".ce"))
    assert now["error"] == ""
    return now["picture"] + now["caption"]


def test_every_control_answers_to_keys(tab):
    tab.locator(CONTROLS).first.wait_for()  # a page that opens draws one part after the other
    controls = [each for each in tab.locator(CONTROLS).all() if each.is_visible()]
    assert controls
    for control in controls:
        if control.get_attribute("aria-disabled") == "true" or control.is_disabled():
            continue
        name = control.get_attribute("aria-label") or control.get_attribute("id")
        before = settled(tab)
        if control.get_attribute("type") == "checkbox":
            control.press("Space")
        elif control.get_attribute("type") == "text":
            control.fill("another text")
        else:
            for key in KEYS:
                control.press(key)
                if settled(tab) != before:
                    break
        assert settled(tab) != before, f"{name} moves nothing"
        kept = tab.evaluate("document.activeElement !== document.body")
        assert kept, f"{name} hears one key, and then no other"


def test_each_preset_shows_something_else_and_is_lit(tab):
    buttons, found = tab.locator(".ce-presets button"), set()
    for button in buttons.all():
        button.click()
        found.add(settled(tab))
        assert tab.locator(".ce-presets [aria-pressed=true]").all_inner_texts() == [
            button.inner_text()
        ]
    assert len(found) == buttons.count() >= 3


@pytest.mark.parametrize("width", [360, 620, WIDE, pytest.param(1100, marks=pytest.mark.slow)])
def test_at_any_preset_nothing_is_cut_off_and_all_stays_in_its_place(tab, width):
    tab.set_viewport_size({"width": width, "height": 700})
    tab.evaluate(PAINTED)
    heights = {}
    for button in tab.locator(".ce-presets button").all():
        button.click()
        settled(tab)
        at = f"{width} px, {button.inner_text()}"
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, at
        assert tab.evaluate(CUT_OFF) == [], at
        assert tab.evaluate(OVERLAPPING) == [], at
        assert len(tab.locator(".ce-caption").inner_text().split()) <= 25, at
        heights[button.inner_text()] = round(tab.locator(".ce").bounding_box()["height"])
    assert len(set(heights.values())) == 1, heights
    assert width < 900 or max(heights.values()) <= TALLEST
    tab.set_viewport_size({"width": WIDE, "height": 700})


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 900])
def test_at_the_ends_of_every_control_all_stays_in_its_place(tab, width):
    tab.set_viewport_size({"width": width, "height": 844})
    first = tab.locator(".ce-presets button").first
    first.click()
    settled(tab)
    height = round(tab.locator(".ce").bounding_box()["height"])
    for end in tab.locator(".ce :is(input[type=range], [role=slider])").all():
        if not end.is_visible() or end.get_attribute("aria-disabled") == "true":
            continue
        for key, value in (("Home", "min"), ("End", "max")):
            if end.get_attribute("type") == "range":
                end.evaluate(MOVED, value)
            else:
                end.press(key)
            settled(tab)
            at = f"{end.get_attribute('aria-label') or end.get_attribute('id')}, {key}"
            assert tab.evaluate(OVERLAPPING) == [], at
            assert round(tab.locator(".ce").bounding_box()["height"]) == height, at
        first.click()
    tab.set_viewport_size({"width": WIDE, "height": 700})


def test_on_a_phone_presets_and_controls_stay_in_sight(tab):
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.evaluate("document.body.style.padding = '900px 0'")
    for place in (0.4, 0.9):
        tab.evaluate(SCROLLED, place)
        for css in (".ce-presets", FEW_CONTROLS):
            if tab.locator(css).is_visible():
                box = tab.locator(css).bounding_box()
                assert box["y"] >= 0 and box["y"] + box["height"] <= 844, (css, place)
    tab.evaluate("document.body.style.padding = 0")
    tab.set_viewport_size({"width": WIDE, "height": 700})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(tab, dark):
    paint(tab, dark)
    tab.locator(".ce-presets button").last.click()
    settled(tab)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []


def test_a_finger_moves_the_picture_and_a_swipe_the_page(open_explorer, name):
    tab = open_explorer(name, 360, has_touch=True, is_mobile=True, reduced_motion="reduce")
    tab.evaluate("document.body.style.padding = '900px 0'")  # there is always more to scroll to
    grips = [each for each in tab.locator(".ce-stage [data-grab]").all() if each.is_visible()]
    before, moved = settled(tab), not grips
    for grip, way in itertools.product(grips[:4], (-40, 40)):
        grip.scroll_into_view_if_needed()
        if place := grip.evaluate(PLACE_OF):
            at, is_shared = tab.evaluate("scrollY"), grip.get_attribute("data-grab") == "shared"
            touch(tab, *place, (way, way / 4 if is_shared else way))
            assert tab.evaluate("scrollY") == at > 0
            moved = moved or settled(tab) != before
    assert moved
    for grip in [each for each in grips if each.get_attribute("data-grab") == "shared"][:3]:
        grip.evaluate("grip => grip.scrollIntoView({ block: 'center' })")
        if place := grip.evaluate(PLACE_OF):
            # A machine that is slow may hold the finger still for as long as a rest.
            assert any(scrolls_alone(tab, place) for _ in range(3))


def scrolls_alone(tab, place):
    """Whether a swipe from a place scrolls the page and changes nothing of the picture."""
    at, heard = tab.evaluate("scrollY"), tab.evaluate(HEARD)
    touch(tab, *place, (5, -90))
    return tab.evaluate("scrollY") > at and tab.evaluate(HEARD) == heard


@pytest.mark.parametrize("pressed", PRESSED)
def test_a_press_in_the_picture_answers(open_explorer, pressed):
    tab = open_explorer(pressed)
    css, across, down = PRESSED[pressed]
    before, box = settled(tab), tab.locator(css).bounding_box()
    tab.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
    assert settled(tab) != before


def test_on_another_screen_canvases_are_as_sharp(tab):
    screen = tab.context.new_cdp_session(tab)
    for sharp in (3, 1, 2):
        # Chromium tells a page of another ratio only where its size changes too.
        size = {"width": WIDE, "height": 700 + sharp, "mobile": False}
        screen.send("Emulation.setDeviceMetricsOverride", {**size, "deviceScaleFactor": sharp})
        tab.wait_for_function(SHARP, arg=sharp)


def test_without_javascript_its_words_are_there(open_explorer, name):
    page = open_explorer(name, java_script_enabled=False)
    told = EXPLORERS[name]().in_words
    assert " ".join(told.split()) in " ".join(page.locator("body").inner_text().split())

"""Lecture 04's torus in a browser: beads and curve by pointer, touch and keys; looking around."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUERY, KEY = ".torus-space .torus-query", ".torus-space .torus-key"
GROUND, DOT, BEAD = ".torus-ground", ".torus-dot", ".torus-space .torus-bead"
PAINTED = "document.querySelector('.torus canvas').toDataURL()"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "torus.html"
    path.write_text(standalone_page(EXPLORERS["explore_rope_torus"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_torus(browser, page_file):
    """Return a function that opens the page in a new tab; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(width=940, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 700}, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(page_file.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def position(tab, css):
    words(tab)
    return int(tab.locator(css).get_attribute("aria-valuenow"))


def place_of(tab, n):
    """Where the key's handle is when the key is at n, on the screen; the key is put back."""
    before = position(tab, KEY)
    tab.locator(KEY).focus()
    tab.keyboard.press("Home")
    for _ in range(n):
        tab.keyboard.press("ArrowRight")
    assert position(tab, KEY) == n
    box = tab.locator(f"{KEY} rect").bounding_box()
    tab.keyboard.press("Home")
    for _ in range(before):
        tab.keyboard.press("ArrowRight")
    assert position(tab, KEY) == before
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_the_key_is_dragged_from_bead_to_bead(open_torus):
    tab = open_torus()
    there = place_of(tab, 54)
    tab.mouse.move(*middle(tab, f"{KEY} rect"))
    tab.mouse.down()
    tab.mouse.move(*there, steps=6)
    tab.mouse.up()
    assert words(tab).startswith("With the query at 10 and the key at 54,")
    assert tab.locator("[aria-pressed=true]").all_inner_texts() == ["44 apart"]


def test_the_curve_moves_the_key(open_torus):
    tab = open_torus()
    drag(tab, DOT, (120, 30))
    assert position(tab, DOT) == position(tab, KEY) > 30
    tab.locator(DOT).focus()
    tab.keyboard.press("End")
    assert "the key at 63," in words(tab)


def test_a_press_on_the_chart_brings_the_key_there(open_torus):
    tab = open_torus()
    x, y = middle(tab, DOT)
    tab.mouse.click(x + 100, y + 150)
    there = position(tab, DOT)
    assert there == position(tab, KEY) > 30
    tab.mouse.click(*middle(tab, DOT))
    assert position(tab, DOT) == there


def test_keys_move_the_query_and_the_colours(open_torus):
    tab = open_torus()
    fills = f"[...document.querySelectorAll('{BEAD}')].map(each => each.getAttribute('fill'))"
    before = tab.evaluate(fills)
    tab.locator(QUERY).focus()
    tab.keyboard.press("ArrowRight")
    assert "the query at 11 and the key at 16," in words(tab)
    assert tab.evaluate(fills) != before


def test_looking_around_changes_no_number(open_torus):
    tab = open_torus()
    said, seen = words(tab), tab.evaluate(PAINTED)
    drag(tab, GROUND, (90, 40), start=(-100, 130))
    assert words(tab) == said
    turned = tab.evaluate(PAINTED)
    assert turned != seen and tab.locator("[aria-pressed=true]").count() == 1
    heard = tab.locator(GROUND).get_attribute("aria-valuetext")
    tab.locator(GROUND).focus()
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("ArrowUp")
    assert tab.evaluate(PAINTED) != turned
    assert tab.locator(GROUND).get_attribute("aria-valuetext") != heard


def test_only_turning_paints_again(open_torus):
    tab = open_torus()
    context = "document.querySelector('.torus canvas').getContext('2d')"
    tab.evaluate(f"{context}.clearRect(0, 0, 9e3, 9e3)")
    empty = tab.evaluate(PAINTED)
    tab.locator(QUERY).focus()
    tab.keyboard.press("ArrowRight")
    words(tab)
    assert tab.evaluate(PAINTED) == empty
    tab.get_by_label("squared length").press("ArrowRight")
    words(tab)
    assert tab.evaluate(PAINTED) != empty


def test_touch_turns_and_does_not_scroll(open_torus):
    tab = open_torus(width=360, has_touch=True, is_mobile=True)
    box = tab.locator(GROUND).bounding_box()
    heard = tab.locator(GROUND).get_attribute("aria-valuetext")
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    x, y = box["x"] + 20, box["y"] + box["height"] - 30
    send("touchStart", {"x": x, "y": y})
    for step in range(1, 6):
        send("touchMove", {"x": x + 20 * step, "y": y - 20 * step})
    send("touchEnd")
    words(tab)
    assert tab.locator(GROUND).get_attribute("aria-valuetext") != heard
    assert tab.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [360, 620, 940, 1040])
def test_it_fits(open_torus, width):
    tab = open_torus(width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640
        assert tab.evaluate(
            "width => [...document.querySelectorAll('.torus text')].every(each => {"
            "const box = each.getBoundingClientRect();"
            "return box.left >= 0 && box.right <= width; })",
            width,
        )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_and_heard(open_torus, dark):
    tab = open_torus()
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    words(tab)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

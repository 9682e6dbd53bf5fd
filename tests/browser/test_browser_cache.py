"""Lecture 05's cache in a browser: the context by pointer, touch and keys; what is written."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HANDLE = ".cache-handle"
GRIP = ".cache-dot"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "cache.html"
    path.write_text(standalone_page(EXPLORERS["explore_cache"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_cache(browser, page_file):
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


def test_the_dot_is_dragged_along_the_context(open_cache):
    tab = open_cache()
    drag(tab, GRIP, (-150, 60))
    said = words(tab)
    length = int(tab.locator(HANDLE).get_attribute("aria-valuenow"))
    assert 32768 < length < 131072 and f"1 text of {length:,} tokens:" in said
    assert f"{length:,}" in tab.locator(".cache-product").inner_text()
    drag(tab, GRIP, (-900, 0))
    assert words(tab).startswith("1 text of 1,024 tokens:")


def test_keys_move_the_context(open_cache):
    tab = open_cache()
    tab.locator(HANDLE).focus()
    for key, length in (("Home", 1024), ("ArrowRight", 2048), ("PageUp", 12288), ("End", 131072)):
        tab.keyboard.press(key)
        assert words(tab).startswith(f"1 text of {length:,} tokens:")
        assert tab.locator(HANDLE).get_attribute("aria-valuenow") == str(length)


def test_touch_drags_and_does_not_scroll(open_cache):
    tab = open_cache(width=360, has_touch=True, is_mobile=True)
    before, (x, y) = words(tab), middle(tab, GRIP)
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 6):
        send("touchMove", {"x": x - 20 * step, "y": y + 15 * step})
    send("touchEnd")
    assert words(tab) != before and tab.evaluate("scrollY") == 0


def test_the_height_stays_in_the_hand(open_cache):
    """The dot follows the hand; memory that no longer fits the picture changes it afterwards."""
    tab = open_cache()
    tab.get_by_role("button", name="for 32 readers").click()
    ticks = "[...document.querySelectorAll('.ce-stage svg > g:first-of-type text')]"
    ticks += ".map(each => each.textContent)"
    words(tab)
    before = tab.evaluate(ticks)
    x, y = middle(tab, GRIP)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 5000, y, steps=4)
    words(tab)
    assert "600" in before and tab.evaluate(ticks) == before
    tab.mouse.up()
    assert words(tab).startswith("32 texts of 1,024 tokens each:")
    assert "600" not in tab.evaluate(ticks)


def test_rings_are_where_a_memory_is_full(open_cache):
    tab = open_cache()
    tab.get_by_role("button", name="no shared heads").click()
    words(tab)
    state = EXPLORERS["explore_cache"](sharing=1).state
    shown = tab.locator(".cache-at:visible").all_text_contents()
    assert shown == [f"full at {each:,.0f} tokens" for each in state.full_at if each > 0]


def test_what_is_beyond_the_picture_is_said(open_cache):
    tab = open_cache()
    tab.get_by_role("button", name="for 32 readers").click()
    tab.get_by_label("query heads").press("ArrowLeft")
    assert words(tab).endswith("It takes 14 H100s.")
    assert tab.locator(".cache-size").text_content() == "↑ 1.12 TB"


@pytest.mark.parametrize("width", [360, 600, 940, 1040])
def test_it_fits(open_cache, width):
    tab = open_cache(width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640
        assert tab.evaluate(
            "width => [...document.querySelectorAll('.ce-stage text')].every(each => {"
            "const box = each.getBoundingClientRect();"
            "return box.left >= 0 && box.right <= width; })",
            width,
        )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_and_heard(open_cache, dark):
    tab = open_cache()
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    words(tab)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

"""The roofline in a browser: points and a tile dragged by pointer and touch, stepped by keys."""

import pytest

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CORNER = ".roof-corner"


def point(way):
    return f".roof-point.roof-way-{way}"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "roofline.html"
    path.write_text(standalone_page(EXPLORERS["explore_roofline"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_roof(browser, page_file):
    """Return a function that opens the page in a new tab; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(width=940, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(page_file.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def says(tab, selector):
    return tab.locator(selector).get_attribute("aria-valuetext")


def pull(tab, selector, across, down):
    """Drag the middle of a mark by so many pixels."""
    x, y = middle(tab, selector)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + across, y + down, steps=8)
    tab.mouse.up()
    tab.wait_for_timeout(50)


@pytest.mark.parametrize(
    ("way", "before", "after"),
    [(0, "heads 64", "heads 16"), (1, "128 queries", "16 queries"), (2, "4,096", "1,024 tokens")],
)
def test_a_point_is_dragged_to_its_smallest_size(open_roof, way, before, after):
    tab = open_roof()
    assert says(tab, point(way)).startswith(before)
    at, said = middle(tab, point(way)), words(tab)
    pull(tab, point(way), -250, 0 if way == 2 else 150)
    assert says(tab, point(way)).startswith(after)
    assert middle(tab, point(way))[0] < at[0] - 20
    assert words(tab) != said or way == 2, "more tokens change nothing on the level roof"


def test_keys_move_a_point_and_both_sides_of_the_tile(open_roof):
    tab = open_roof()
    tab.locator(point(1)).focus()
    tab.keyboard.press("ArrowRight")
    assert says(tab, point(1)).startswith("256 queries a tile: 24")
    tab.keyboard.press("Home")
    assert says(tab, CORNER) == "16 queries by 64 keys"
    tab.locator(CORNER).focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowDown")
    assert says(tab, CORNER) == "32 queries by 128 keys"


def test_a_tile_is_dragged_until_it_does_not_fit(open_roof):
    tab = open_roof()
    bars = tab.locator(".roof-full")
    assert bars.count() == 0
    pull(tab, CORNER, 90, 60)
    assert says(tab, CORNER) == "256 queries by 256 keys"
    assert bars.count() == 1 and "does not fit" in words(tab)


def test_touch_drags_on_a_phone(open_roof):
    tab = open_roof(width=360, has_touch=True)
    x, y = middle(tab, point(0))
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        told = {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]}
        touch.send("Input.dispatchTouchEvent", told)

    send("touchStart", (x, y))
    send("touchMove", (x + 30, y - 40))
    send("touchEnd")
    tab.wait_for_timeout(50)
    assert says(tab, point(0)).startswith("heads 128 wide")
    assert tab.evaluate("scrollY") == 0


def test_another_card_has_another_roof_and_decoding_a_point(open_roof):
    tab = open_roof()
    tab.get_by_role("radio", name="A100 SXM 80GB").check()
    tab.wait_for_timeout(50)
    assert "tensor cores 312" in tab.locator(".roof").text_content()
    assert not tab.locator(point(3)).is_visible()
    tab.get_by_role("button", name="decoding").click()
    tab.wait_for_timeout(300)
    tab.locator(point(3)).focus()
    tab.keyboard.press("End")
    assert says(tab, point(3)).startswith("8 heads share keys: 8.0 FLOPs a byte")

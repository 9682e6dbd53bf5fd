"""Tile by tile in a browser: click, drag, keys, touch; it plays, and stops by itself."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = pytest.mark.browser

GRID, PLAY, RAIL = ".tiles-touch", ".tiles-play", ".tiles-player > input"
MOVING = "document.querySelector('.tiles').getAnimations({ subtree: true }).length"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "tiles.html"
    path.write_text(standalone_page(EXPLORERS["explore_tile_by_tile"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_tiles(browser, page_file):
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


def in_grid(tab, across, down):
    """A point of the grid, as shares of its width and height."""
    box = tab.locator(GRID).bounding_box()
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def test_a_click_shows_its_tile_and_a_drag_follows(open_tiles):
    tab = open_tiles()
    tab.mouse.click(*in_grid(tab, 0.9, 0.1))
    assert words(tab).startswith("Tile 4 of 12: queries 0–3, keys 9–11.")
    tab.mouse.move(*in_grid(tab, 0.1, 0.1))
    tab.mouse.down()
    tab.mouse.move(*in_grid(tab, 0.4, 0.9), steps=5)
    assert words(tab).startswith("Tile 10 of 12: queries 8–11, keys 3–5.")
    tab.mouse.up()


def test_a_click_on_a_skipped_tile_shows_the_last_one_before_it(open_tiles):
    tab = open_tiles()
    tab.get_by_label("causal").check()
    assert tab.locator(".tiles-skipped text").count() == 3
    tab.mouse.click(*in_grid(tab, 0.9, 0.5))
    assert words(tab).startswith("Tile 5 of 9: queries 4–7, keys 6–7.")


def test_arrow_keys_step(open_tiles):
    tab = open_tiles()
    tab.locator(GRID).focus()
    for key, tile in (("ArrowRight", 7), ("ArrowLeft", 6), ("End", 12), ("Home", 1)):
        tab.keyboard.press(key)
        assert words(tab).startswith(f"Tile {tile} of 12")
        assert tab.locator(GRID).get_attribute("aria-valuenow") == str(tile)
    tab.locator(RAIL).focus()
    tab.keyboard.press("ArrowRight")
    assert words(tab).startswith("Tile 2 of 12")


def test_scrubbing_and_a_larger_tile(open_tiles):
    tab = open_tiles()
    drag(tab, RAIL, (400, 0))
    assert words(tab).startswith("Tile 12 of 12")
    tab.get_by_label("queries in a tile").press("ArrowRight")
    assert words(tab).startswith("Tile 8 of 8") and "(naive: 2,688)" in words(tab)


def test_touch_scrubs_and_does_not_scroll(open_tiles):
    tab = open_tiles(width=360, has_touch=True, is_mobile=True)
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    for kind, place in (("touchStart", (0.1, 0.1)), ("touchMove", (0.5, 0.5)),
                        ("touchMove", (0.9, 0.9))):  # fmt: skip
        x, y = in_grid(tab, *place)
        send(kind, {"x": x, "y": y})
    send("touchEnd")
    assert words(tab).startswith("Tile 12 of 12")
    assert tab.evaluate("scrollY") == 0


def test_it_plays_to_the_end_and_stops(open_tiles):
    tab = open_tiles()
    tab.mouse.click(*in_grid(tab, 0.6, 0.9))
    tab.locator(PLAY).click()
    assert words(tab).startswith("Tile 12 of 12") and tab.evaluate(MOVING) > 0
    assert tab.locator(PLAY).inner_text() == "Play"
    tab.locator(PLAY).click()
    assert words(tab).startswith("Tile 1 of 12")
    assert tab.locator(PLAY).inner_text() == "Pause"
    tab.wait_for_function("document.querySelector('.ce-caption').innerText.includes('Tile 2 of')")
    tab.get_by_role("button", name="last tile").click()
    words(tab)
    assert tab.locator(PLAY).inner_text() == "Play", "who takes it in hand stops it"


def test_it_stops_when_it_leaves_the_page(open_tiles):
    tab = open_tiles()
    tab.evaluate(
        "() => { const set = window.setTimeout; window.begun = 0;"
        "window.setTimeout = (...all) => { window.begun += 1; return set(...all); }; }"
    )
    tab.locator(PLAY).click()
    words(tab)
    tab.evaluate("document.querySelector('.ce').remove()")
    tab.wait_for_timeout(2100)
    before = tab.evaluate("window.begun")
    tab.wait_for_timeout(2100)
    assert tab.evaluate("window.begun") == before


def test_with_less_motion_it_steps(open_tiles):
    tab = open_tiles(reduced_motion="reduce")
    tab.locator(PLAY).click()
    assert words(tab).startswith("Tile 7 of 12") and tab.evaluate(MOVING) == 0


def test_pointing_at_a_score_lights_what_it_is_made_of(open_tiles):
    tab = open_tiles()
    tab.mouse.move(*middle(tab, ".tiles-scores .tiles-cell:nth-child(5)"))
    lit = {kind: tab.locator(f".tiles-{kind} .tiles-lit").count() for kind in ("q", "k", "v")}
    assert lit == {"q": 2, "k": 2, "v": 2}


@pytest.mark.parametrize("width", [360, 600, 940, 1040])
def test_it_fits(open_tiles, width):
    tab = open_tiles(width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640
        assert tab.evaluate(
            "width => [...document.querySelectorAll('.tiles text')].every(each => {"
            "const box = each.getBoundingClientRect();"
            "return box.left >= 0 && box.right <= width; })",
            width,
        )


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_and_heard(open_tiles, dark):
    tab = open_tiles()
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    tab.get_by_label("causal").check()
    words(tab)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

"""Lectures 01 and 02 in a browser: the spread, the scores and the temperature in the hand."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WIDTH, SOFTMAX = "explore_score_width", "explore_softmax"
RIGHT, LEFT = ".width-edge[role=slider] .width-grip", ".width-edge >> nth=0"
GRIP, DOT = ".soft-grip >> nth={} >> circle", ".soft-dot circle >> nth=1"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name in (WIDTH, SOFTMAX):
        path = folder / f"{name}.html"
        path.write_text(standalone_page(EXPLORERS[name]()), encoding="utf-8")
    return folder


@pytest.fixture
def open_page(browser, files):
    """Return a function that opens an explorer's page; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(name, width=1000, dark=False, **options):
        size = {"width": width, "height": 700}
        contexts.append(browser.new_context(viewport=size, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto((files / f"{name}.html").as_uri())
        if dark:
            tab.evaluate(DARK)
            tab.wait_for_selector(".ce[data-theme=dark]")
        words(tab)
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def press(tab, label):
    tab.locator(".ce-presets button", has_text=label).click()
    return words(tab)


def touch(tab, css, by):
    """Drag by a finger."""
    (x, y), sent = middle(tab, css), tab.context.new_cdp_session(tab)

    def send(kind, *points):
        sent.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x + by[0] * step / 6, "y": y + by[1] * step / 6})
    send("touchEnd")


def test_the_spread_is_dragged_to_another_width(open_page):
    tab = open_page(WIDTH)
    assert words(tab).startswith("At d_k = 4,")
    left, right = (middle(tab, f".width-line >> nth={n}")[0] for n in (0, 1))
    one = (right - left) / 2  # the spread of 4 is 2
    drag(tab, RIGHT, (3 * one, 0))
    assert words(tab).startswith("At d_k = 64,"), "four times as wide is sixteen times d_k"
    tab.keyboard.press("ArrowRight")
    assert words(tab).startswith("At d_k = 96,")
    tab.keyboard.press("Home")
    assert words(tab).startswith("At d_k = 1,")


def test_the_left_edge_mirrors_the_right(open_page):
    tab = open_page(WIDTH)
    press(tab, "as the proof assumes")
    x, y = tab.evaluate("""() => {
        const line = document.querySelector('.width-edge .width-line').getBoundingClientRect();
        return [line.x, line.y + 60];
    }""")
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x - 200, y, steps=5)
    tab.mouse.up()
    assert words(tab).startswith("At d_k = 512,")


def test_a_divided_spread_has_no_handle_unless_it_moves(open_page):
    tab = open_page(WIDTH)
    handle = tab.locator(".width-edge[role=slider]")
    tab.locator("input[type=checkbox]").check()
    assert words(tab).startswith("Divided by √4,")
    assert handle.get_attribute("aria-disabled") == "true"
    assert handle.get_attribute("tabindex") is None
    press(tab, "coordinates all equal")
    assert handle.get_attribute("tabindex") == "0" and "spread 8." in words(tab)


def test_a_pointed_key_is_named(open_page):
    tab = open_page(WIDTH)
    press(tab, "d_k = 512")
    best = EXPLORERS[WIDTH](width=512).state
    share = tab.locator(".width-share")
    assert share.text_content().startswith(f"key {best.best}:")
    weights = tab.locator("svg[role=slider]")
    weights.focus()
    tab.keyboard.press("Home")
    assert share.text_content().startswith("key 0:")
    told = weights.get_attribute("aria-valuetext")
    tab.keyboard.press("ArrowRight")
    assert weights.get_attribute("aria-valuetext") != told
    box = weights.bounding_box()
    tab.mouse.move(box["x"] + 40, box["y"] + 90)
    assert share.text_content().startswith("key 0:")


def test_a_score_is_dragged(open_page):
    tab = open_page(SOFTMAX)
    assert "largest weight is 0.45" in words(tab)
    drag(tab, GRIP.format(6), (0, -25))
    assert float(words(tab).split("weight is ")[1][:4]) > 0.55
    drag(tab, GRIP.format(6), (0, 400))
    assert "largest weight is 0.07" in words(tab), "the others share all"
    assert tab.locator("[aria-pressed=true]").count() == 0


def test_scores_by_keys(open_page):
    tab = open_page(SOFTMAX)
    assert tab.locator(".soft-grip[tabindex='0']").count() == 1
    tab.locator(".soft-grip[tabindex='0']").focus()
    for key in ("ArrowRight", "ArrowRight", "Shift+ArrowUp", "ArrowUp", "ArrowLeft", "End"):
        tab.keyboard.press(key)
    words(tab)
    values = [each.get_attribute("aria-valuetext") for each in tab.locator(".soft-grip").all()]
    assert values[:4] == ["0.0", "2.5", "1.1", "0.0"]
    assert tab.locator(".soft-grip[tabindex='0']").get_attribute("aria-label") == "score of key 1"


def test_the_dot_is_dragged_to_another_temperature(open_page):
    tab = open_page(SOFTMAX)
    press(tab, "not divided, d_k = 64")
    rail = tab.locator("input[type=range]")
    drag(tab, DOT, (-120, -30))
    temperature = float(rail.get_attribute("aria-valuetext"))
    assert temperature > 3 and "at most 0.5" in words(tab)
    tab.keyboard.press("Home")
    assert "below 0.001" in words(tab)
    rail.focus()
    tab.keyboard.press("ArrowRight")
    words(tab)
    assert rail.get_attribute("aria-valuetext") == "0.2"


def test_what_is_pointed_at_lights_up(open_page):
    tab = open_page(SOFTMAX)
    told = tab.locator(".soft-told")
    map_box = tab.locator(".soft-map canvas").first.bounding_box()
    side = map_box["width"] / 16
    tab.mouse.move(map_box["x"] + 6.5 * side, map_box["y"] + 2.5 * side)
    state = EXPLORERS[SOFTMAX]().state
    assert (
        told.inner_text() == f"Score 6 up: weight 2 falls by {-state.jacobian[2, 6]:.3f} a point."
    )
    assert tab.locator(".soft-frame:not(.soft-gone)").count() == 2
    tab.mouse.move(*middle(tab, GRIP.format(6)))
    assert f"weight 6 rises by {state.jacobian[6, 6]:.3f} a point" in told.inner_text()
    tab.mouse.move(500, 690)
    assert tab.locator(".soft-frame:not(.soft-gone)").count() == 0


@pytest.mark.parametrize(("name", "css", "by"), [
    (WIDTH, RIGHT, (60, 0)), (SOFTMAX, GRIP.format(6), (0, -30)),
])  # fmt: skip
def test_by_touch_and_without_scrolling(open_page, name, css, by):
    tab = open_page(name, width=360, has_touch=True, is_mobile=True)
    before = words(tab)
    touch(tab, css, by)
    assert words(tab) != before
    assert tab.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [360, 560, 760, 940, 1040])
@pytest.mark.parametrize("name", [WIDTH, SOFTMAX])
def test_nothing_is_cut_off(open_page, name, width):
    tab = open_page(name, width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        cut = tab.evaluate("""() => {
            const edge = document.querySelector('.ce').getBoundingClientRect();
            return [...document.querySelectorAll('.ce-stage text, .ce-stage p, .ce button')]
                .filter(each => each.textContent)
                .filter(each => { const box = each.getBoundingClientRect();
                    return box.left < edge.left - 1 || box.right > edge.right + 1; })
                .map(each => each.textContent);
        }""")
        assert cut == [], button.inner_text()
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", [WIDTH, SOFTMAX])
def test_axe_finds_nothing(open_page, name, dark):
    found = Axe().run(open_page(name, dark=dark), context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

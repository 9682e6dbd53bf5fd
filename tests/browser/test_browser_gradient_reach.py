"""The gradient's reach in a browser: drag the pointer, lift a curve; keys; touch; sizes."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURE, CHIP = ".reach", ".reach-chip"
RNN, LSTM = "circle.reach-0", "circle.reach-1"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "reach.html"
    path.write_text(standalone_page(EXPLORERS["explore_gradient_reach"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_reach(browser, page_file):
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


def now(tab, css):
    words(tab)
    return int(tab.locator(css).get_attribute("aria-valuenow"))


def test_the_pointer_is_dragged_and_a_click_takes_it(open_reach):
    tab = open_reach()
    box = tab.locator(PICTURE).bounding_box()
    step = (box["width"] - 54) / 64
    drag(tab, CHIP, (-20 * step, 0))
    assert now(tab, CHIP) == 40 and words(tab).startswith("The input 40 steps back")
    tab.mouse.click(box["x"] + box["width"] - 12 - 10.5 * step, box["y"] + 200)
    assert now(tab, CHIP) == 10
    for key, place in (("ArrowLeft", 11), ("ArrowRight", 10), ("ArrowUp", 11), ("End", 63)):
        tab.locator(CHIP).press(key)
        assert now(tab, CHIP) == place


def test_a_curve_is_lifted_by_its_initialisation(open_reach):
    tab = open_reach()
    tab.get_by_role("button", name="a paragraph ago").click()
    height = tab.locator(LSTM).bounding_box()["y"]
    drag(tab, LSTM, (0, -60))
    assert now(tab, LSTM) == 1 and tab.locator(LSTM).bounding_box()["y"] < height - 40
    tab.locator(LSTM).press("ArrowUp")
    assert now(tab, LSTM) == 2
    assert tab.get_by_label("LSTM: forget bias", exact=True).get_attribute("aria-valuetext") == "2"
    drag(tab, RNN, (0, -120))
    assert now(tab, RNN) == 1 and tab.get_by_label("RNN: orthogonal").is_checked()


def test_squares_say_who_gets_most(open_reach):
    tab = open_reach()
    state = EXPLORERS["explore_gradient_reach"]().state
    for row, reach in enumerate(state.reach):
        assert f"the last {reach} of 64" in tab.locator(f".reach-said.reach-{row}").inner_html()
        filled = tab.locator(f".reach-full.reach-{row}").get_attribute("d")
        assert filled.count("M") == reach


def test_touch_moves_the_pointer_and_does_not_scroll(open_reach):
    tab = open_reach(width=360, has_touch=True, is_mobile=True)
    x, y = middle(tab, CHIP)
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x - 15 * step, "y": y - 12 * step})
    send("touchEnd")
    assert now(tab, CHIP) > 35 and tab.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [360, 600, 940, 1040])
def test_it_fits(open_reach, width):
    tab = open_reach(width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640
        cut = tab.evaluate(
            "width => [...document.querySelectorAll('.reach text')].filter(each => {"
            "const box = each.getBoundingClientRect();"
            "return box.left < 0 || box.right > width; }).map(each => each.textContent)",
            width,
        )
        assert cut == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_and_heard(open_reach, dark):
    tab = open_reach()
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

"""A query among points in a browser: drag the query, the bandwidth, a value; keys; touch."""

import re

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURE, QUERY, BANDWIDTH, RING = ".kernel", ".kernel-q", ".kernel-h", ".kernel-ring"
DOT = ".kernel-dot >> nth=42"  # near the query, in the flat part


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "kernel.html"
    path.write_text(standalone_page(EXPLORERS["explore_kernel_regression"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_kernel(browser, page_file):
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
    return float(tab.locator(css).get_attribute("aria-valuenow"))


def lit(tab):
    """The x of the dot with the largest weight: the widest."""
    return tab.evaluate(
        "() => [...document.querySelectorAll('.kernel-dot')]"
        ".reduce((one, each) => +each.getAttribute('r') > +one.getAttribute('r') ? each : one)"
        ".getBoundingClientRect().x"
    )


def test_the_query_is_dragged_and_what_is_near_lights_up(open_kernel):
    tab = open_kernel()
    start = lit(tab)
    drag(tab, QUERY, (300, 0))
    width = tab.locator(PICTURE).bounding_box()["width"] - 44
    assert now(tab, QUERY) == pytest.approx(0.3 + 300 / width, abs=0.005)
    assert lit(tab) == pytest.approx(start + 300, abs=20)


def test_an_empty_place_takes_the_query(open_kernel):
    tab = open_kernel()
    box = tab.locator(PICTURE).bounding_box()
    tab.mouse.click(box["x"] + 28 + 0.6 * (box["width"] - 44), box["y"] + 30)
    assert now(tab, QUERY) == pytest.approx(0.6, abs=0.005)


def test_the_bandwidth_is_dragged_until_each_query_chooses(open_kernel):
    tab = open_kernel()
    drag(tab, BANDWIDTH, (45, 0))
    wide = now(tab, BANDWIDTH)
    assert wide == pytest.approx(0.03 + 45 / 896, abs=0.002)
    tab.locator(BANDWIDTH).press("ArrowLeft")
    assert now(tab, BANDWIDTH) == pytest.approx(wide - 0.001)
    tab.get_by_label("each query chooses").check()
    chosen = now(tab, BANDWIDTH)
    drag(tab, BANDWIDTH, (45, 0))
    assert now(tab, BANDWIDTH) == chosen, "it is the query's own now"
    drag(tab, QUERY, (400, 0))
    assert now(tab, BANDWIDTH) < chosen / 3


def test_a_value_is_dragged_and_the_output_follows(open_kernel):
    tab = open_kernel()
    drag(tab, DOT, (0, -61))
    moved, weight, effect = map(float, re.findall(r"[\d.]*\d", words(tab))[:3])
    assert moved == pytest.approx(1.0, abs=0.06) and weight > 0.05
    assert effect == pytest.approx(moved * weight, abs=0.006)
    assert now(tab, QUERY) == 0.3
    tab.get_by_role("button", name="flat part").click()
    assert words(tab).startswith("This query averages")


def test_keys_choose_a_point_and_move_it(open_kernel):
    tab = open_kernel()
    tab.locator(RING).focus()
    before = now(tab, RING)
    tab.keyboard.press("ArrowUp")
    assert now(tab, RING) == pytest.approx(before + 0.1, abs=0.011)
    tab.keyboard.press("ArrowRight")
    y = EXPLORERS["explore_kernel_regression"]().state.values
    assert now(tab, RING) == pytest.approx(y[43], abs=0.006) != pytest.approx(y[42], abs=0.006)
    assert words(tab).startswith("This query averages"), "the other point is where it was"
    for key, place in (("ArrowRight", 0.305), ("Home", 0), ("End", 1)):
        tab.locator(QUERY).press(key)
        assert now(tab, QUERY) == place


def test_touch_moves_the_query_and_does_not_scroll(open_kernel):
    tab = open_kernel(width=360, has_touch=True, is_mobile=True)
    x, y = middle(tab, QUERY)
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x + 15 * step, "y": y - 12 * step})
    send("touchEnd")
    assert now(tab, QUERY) > 0.5 and tab.evaluate("scrollY") == 0


@pytest.mark.parametrize("width", [360, 600, 940, 1040])
def test_it_fits(open_kernel, width):
    tab = open_kernel(width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640
        cut = tab.evaluate(
            "width => [...document.querySelectorAll('.kernel text')].filter(each => {"
            "const box = each.getBoundingClientRect();"
            "return box.left < 0 || box.right > width; }).map(each => each.textContent)",
            width,
        )
        assert cut == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_can_be_read_and_heard(open_kernel, dark):
    tab = open_kernel()
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    tab.get_by_role("button", name="each query chooses").click()
    words(tab)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

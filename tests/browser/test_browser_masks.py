"""Lecture 05's masks in a browser: painting by pointer, touch and keys; words and layers."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = pytest.mark.browser

FIRST = "[data-pair='0 0']"
BOX = ".mask-cells [aria-checked=true]"
# A cell changes and the frame is drawn in which it does: to the end of layout and paint work.


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "masks.html"
    path.write_text(standalone_page(EXPLORERS["explore_masks"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_masks(browser, page_file):
    """Return a function that opens the page; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(width=940, dark=False, **options):
        size = {"width": width, "height": 700}
        contexts.append(browser.new_context(viewport=size, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(page_file.as_uri())
        if dark:
            tab.evaluate(DARK)
            tab.wait_for_selector(".ce[data-theme=dark]")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def allowed(tab):
    """The pairs that the grid shows as allowed."""
    words(tab)
    return {each.get_attribute("data-pair") for each in tab.locator(BOX).all()}


def test_a_press_and_a_drag_paint(open_masks):
    tab = open_masks()
    before = allowed(tab)
    side = middle(tab, "[data-pair='0 1']")[0] - middle(tab, FIRST)[0]
    drag(tab, "[data-pair='1 3']", (3 * side, 0))
    added = {"1 3", "1 4", "1 5", "1 6"}
    assert allowed(tab) == before | added
    assert words(tab).startswith("fed looks at 6 of 8")
    drag(tab, FIRST, (0, 7 * side))
    assert allowed(tab) == (before | added) - {f"{t} 0" for t in range(8)}
    assert words(tab).startswith("Leo may look at nothing.")
    assert tab.locator(".mask-empty").filter(has_text="0/0").count() == 1


def test_keys_paint(open_masks):
    tab = open_masks()
    before = allowed(tab)
    assert tab.locator(".mask-cells [tabindex='0']").count() == 1
    tab.locator(FIRST).focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", " "):
        tab.keyboard.press(key)
    assert allowed(tab) == before | {"1 2"}
    tab.keyboard.press(" ")
    assert allowed(tab) == before
    assert tab.locator(".mask-cells [tabindex='0']").count() == 1


def test_touch_paints_and_does_not_scroll(open_masks):
    tab = open_masks(width=360, has_touch=True, is_mobile=True)
    before, (x, y) = allowed(tab), middle(tab, "[data-pair='2 4']")
    far = middle(tab, "[data-pair='0 4']")[1]
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x, "y": y + (far - y) * step / 6})
    send("touchEnd")
    assert allowed(tab) == before | {"0 4", "1 4", "2 4"}
    assert tab.evaluate("scrollY") == 0


def test_words_and_layers_are_chosen(open_masks):
    tab = open_masks()
    tab.locator(".ce-presets button", has_text="window of 3").click()
    tab.locator("text.mask-q", has_text="slept").first.click()
    assert words(tab).startswith("slept looks at 3 of 8 words; through 2 layers it depends on 5,")
    tab.locator(".mask-layers [tabindex='0']").focus()
    tab.keyboard.press("ArrowRight")
    assert "through 3 layers it depends on 7," in words(tab)
    x, y = middle(tab, ".mask-column >> nth=3")
    tab.mouse.click(x, y)
    assert words(tab).startswith("cat looks")
    tab.keyboard.press("ArrowLeft")
    assert words(tab).startswith("the looks")
    assert tab.locator("[aria-pressed=true]").inner_text() == "window of 3"


def test_answers_that_are_read_have_a_cross(open_masks):
    tab = open_masks()
    tab.locator(".ce-presets button", has_text="one leak").click()
    words(tab)
    crossed = [each == "×" for each in tab.locator(".mask-sign").all_text_contents()]
    state = EXPLORERS["explore_masks"](**EXPLORERS["explore_masks"].presets["one leak"]).state
    assert crossed == state.answered.tolist()


@pytest.mark.parametrize("width", [360, 600, 740, 940, 1040])
def test_nothing_is_cut_off(open_masks, width):
    tab = open_masks(width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        cut = tab.evaluate("""() => {
            const edge = document.querySelector('.ce').getBoundingClientRect();
            return [...document.querySelectorAll('.ce-stage text, .ce-stage span, .ce button')]
                .filter(each => each.textContent)
                .filter(each => { const box = each.getBoundingClientRect();
                    return box.left < edge.left - 1 || box.right > edge.right + 1; })
                .map(each => each.textContent);
        }""")
        assert cut == []
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_masks, dark):
    tab = open_masks(dark=dark)
    tab.locator(".ce-presets button", has_text="one leak").click()
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

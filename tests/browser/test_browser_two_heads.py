"""Lecture 03's two pictures in a browser: weights, letters, cuts; numbers, heads, merges."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ("explore_two_places", "explore_split")
FIRST, SECOND = ".places-side >> nth=0", ".places-side >> nth=1"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for name in NAMES:
        (folder / f"{name}.html").write_text(standalone_page(EXPLORERS[name]()), encoding="utf-8")
    return folder


@pytest.fixture
def open_page(browser, files):
    """Return a function that opens a page; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(name, width=940, dark=False, **options):
        size = {"width": width, "height": 700}
        contexts.append(browser.new_context(viewport=size, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto((files / f"{name}.html").as_uri())
        if dark:
            tab.evaluate(DARK)
            tab.wait_for_selector(".ce[data-theme=dark]")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def weights(tab, head=FIRST):
    words(tab)
    bars = tab.locator(f"{head} >> [role=slider]").all()
    return [int(each.get_attribute("aria-valuenow")) for each in bars]


def preset(tab, label):
    tab.locator(".ce-presets button", has_text=label).click()
    return words(tab)


def test_a_bar_is_dragged_and_the_others_share_the_rest(open_page):
    tab = open_page("explore_two_places")
    assert weights(tab) == [25, 25, 25, 25]
    bar = f"{FIRST} >> .places-knob >> nth=3"
    drag(tab, bar, (0, -200))
    assert weights(tab) == [0, 0, 0, 100]
    drag(tab, bar, (0, 54))
    assert weights(tab) == [0, 50, 0, 50], "what one of the two places loses the other gets"
    assert words(tab).endswith("a tie, a tie.")


def test_a_bar_by_keys(open_page):
    tab = open_page("explore_two_places")
    tab.locator(f"{FIRST} >> [role=slider] >> nth=1").focus()
    tab.keyboard.press("ArrowUp")
    assert weights(tab)[1] == 26 and sum(weights(tab)) == 100
    tab.keyboard.press("End")
    assert weights(tab) == [0, 100, 0, 0]
    assert "three back in 100 %" in words(tab)


def test_a_bar_by_touch_does_not_scroll(open_page):
    tab = open_page("explore_two_places", width=360, has_touch=True, is_mobile=True)
    x, y = middle(tab, f"{FIRST} >> .places-knob >> nth=3")
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x, "y": y - 20 * step})
    send("touchEnd")
    assert weights(tab) == [0, 0, 0, 100]
    assert tab.evaluate("scrollY") == 0


def test_a_second_head(open_page):
    tab = open_page("explore_two_places")
    assert not tab.locator(SECOND).is_visible()
    preset(tab, "all on one back")
    tab.locator(".places-more").click()
    assert "both in 100 %" in words(tab) and tab.locator(SECOND).is_visible()
    assert weights(tab, SECOND) == [0, 100, 0, 0]
    drag(tab, f"{SECOND} >> .places-knob >> nth=3", (0, 200))
    assert weights(tab, SECOND) == [0, 0, 0, 100] and "both in 33 %" in words(tab)
    tab.locator(".places-more").click()
    assert not tab.locator(SECOND).is_visible()


def test_letters_and_circles_write_the_text(open_page):
    tab = open_page("explore_two_places")
    preset(tab, "70 %")
    letters = tab.locator(".places-letter")
    assert letters.all_text_contents() == list("CABC")
    tab.locator(".places-tile >> nth=1").click()
    tab.locator(".places-tile >> nth=3").focus()
    tab.keyboard.press("ArrowLeft")
    words(tab)
    assert letters.all_text_contents() == list("CBBB")
    tab.locator(".places-answer >> nth=0 >> .places-pair >> nth=6").click()  # C, then A
    words(tab)
    assert letters.all_text_contents() == list("CCBA")
    assert words(tab).endswith("A (right), A (wrong).")


def test_the_cuts_are_moved(open_page):
    tab = open_page("explore_two_places")
    before = preset(tab, "70 %")
    drag(tab, ".places-meet >> nth=0", (0, 90))
    assert words(tab) != before
    shown = words(tab)
    tab.locator(".places-meet >> nth=1").focus()
    for _ in range(6):
        tab.keyboard.press("Shift+ArrowUp")
    assert words(tab) != shown
    assert "both in 67 %" in preset(tab, "cuts moved")


def test_a_number_is_pointed_at(open_page):
    tab = open_page("explore_split")
    tab.locator(".split-panel >> nth=0 >> [data-n='50'] >> nth=0").hover()
    assert words(tab).startswith("Number 2 of token 4: head 0, row 4. Wrong view: head 1, row 2;")
    tab.locator(".split-memory [role=slider]").focus()
    tab.keyboard.press("ArrowRight")
    assert words(tab).startswith("Number 3 of token 4")
    tab.keyboard.press("ArrowUp")
    assert words(tab).startswith("Number 3 of token 3")
    x, y = middle(tab, ".split-memory [role=slider]")
    tab.mouse.click(x, y)
    assert words(tab).startswith(("Number 0 of token 3", "Number 11 of token 2"))


def test_the_cut_sets_the_heads(open_page):
    tab = open_page("explore_split")
    drag(tab, ".split-knob", (-66, 0))
    assert "x.view(6, 4, 3).transpose(0, 1)" in tab.locator(".split-code >> nth=0").inner_text()
    words(tab)
    tab.keyboard.press("ArrowUp")
    words(tab)
    assert "x.view(6, 6, 2)" in tab.locator(".split-code >> nth=1").inner_text()
    tab.keyboard.press("Home")
    assert words(tab).startswith("With one head")
    assert tab.locator(".split-back [role=radio]").first.is_disabled()


def test_the_merge_is_chosen(open_page):
    tab = open_page("explore_split")
    assert "output 2 depends on tokens 0, 1, 3, 4." in words(tab)
    assert tab.locator(".split-future >> nth=1").is_visible()
    tab.locator(".split-back [aria-checked=true]").focus()
    tab.keyboard.press("ArrowRight")
    assert "output 2 depends on tokens 0 to 2." in words(tab)
    assert not tab.locator(".split-future >> nth=1").is_visible()
    tab.locator(".split-back [role=radio]").first.click()
    assert "tokens 0, 1, 3, 4." in words(tab)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [360, 700, 760, 940, 1040])
def test_nothing_is_cut_off(open_page, name, width):
    tab = open_page(name, width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        cut = tab.evaluate("""() => {
            const edge = document.querySelector('.ce').getBoundingClientRect();
            return [...document.querySelectorAll('.ce-stage text, .ce-stage span, .ce button')]
                .filter(each => each.textContent)
                .filter(each => { const box = each.getBoundingClientRect();
                    return box.width && (box.left < edge.left - 1 || box.right > edge.right + 1); })
                .map(each => each.textContent);
        }""")
        assert cut == []
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_page, name, dark):
    tab = open_page(name, dark=dark)
    tab.locator(".ce-presets button").last.click()
    words(tab)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

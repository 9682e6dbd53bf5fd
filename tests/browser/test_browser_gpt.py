"""Lecture 06's explorers in a browser: layers uncovered, bars and lines dragged, a budget moved."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ("explore_logit_lens", "explore_next_token", "explore_scaling_laws")
CUT = """() => {
  const edge = document.querySelector('.ce').getBoundingClientRect();
  return [...document.querySelectorAll('.ce-stage text, .ce-stage span, .ce button')]
    .filter(each => each.textContent)
    .filter(each => { const box = each.getBoundingClientRect();
      return box.left < edge.left - 1 || box.right > edge.right + 1; })
    .map(each => each.textContent);
}"""
# A slider of the picture takes a key; the time is that of the frame that draws it.


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for name in NAMES:
        (folder / name).with_suffix(".html").write_text(
            standalone_page(EXPLORERS[name]()), encoding="utf-8"
        )
    return folder


@pytest.fixture
def open_page(browser, files):
    """Return a function that opens an explorer's page; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(name, width=940, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 700}, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto((files / name).with_suffix(".html").as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def preset(tab, name):
    tab.locator(".ce-presets button", has_text=name).first.click()
    return words(tab)


def finger(tab, css, by):
    """Drag an element by touch."""
    (x, y), touch = middle(tab, css), tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x + by[0] * step / 6, "y": y + by[1] * step / 6})
    send("touchEnd")
    assert tab.evaluate("scrollY") == 0


def test_layers_are_covered_until_one_asks(open_page):
    tab = open_page("explore_logit_lens")
    first = words(tab)
    assert tab.locator(".lens-cell:visible").count() == 9
    tab.locator(".lens-cover").click()
    assert tab.locator(".lens-cell:visible").count() == 36
    assert "the embedding would say “␣and”" in words(tab) != first


def test_cells_answer_to_pointer_and_keys(open_page):
    tab = open_page("explore_logit_lens")
    preset(tab, "queries, keys and")
    tab.mouse.move(*middle(tab, "[data-cell='5 0']"))
    assert "up to “␣queries”, the embedding would say “␣queries”" in words(tab)
    tab.locator("[data-cell='5 0']").focus()
    tab.keyboard.press("ArrowRight")
    assert "up to “␣queries”, block 1 would say “,”" in words(tab)
    tab.keyboard.press("ArrowUp")
    assert "up to “␣own”, block 1 would say" in words(tab)
    assert tab.locator(".lens-grid [tabindex='0']").count() == 1


def test_the_sentence_is_dragged(open_page):
    tab = open_page("explore_logit_lens")
    x, y = middle(tab, ".lens-word >> nth=8")
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(*middle(tab, ".lens-word >> nth=3"), steps=5)
    tab.mouse.up()
    assert "read 4 of 9 tokens, up to “␣its”" in words(tab)
    tab.keyboard.press("ArrowLeft")
    assert "read 3 of 9 tokens, up to “␣has”" in words(tab)
    assert tab.locator(".lens-next:visible").inner_text() == "␣its"


def test_bars_and_lines_are_dragged(open_page):
    tab = open_page("explore_next_token")
    drag(tab, ".next-grip-temperature .next-line", (150, 0))
    said = words(tab)
    assert float(said.split()[2].rstrip(",")) < 0.7, said
    preset(tab, "as the model says")
    drag(tab, ".next-grip-k rect", (0, -400))
    assert "1 of 1,024 tokens is kept" in words(tab)
    preset(tab, "as the model says")
    drag(tab, ".next-grip-p rect", (-350, 0))
    half = words(tab)
    assert "1,024 of" not in half
    assert tab.locator(".next-piece.next-kept").count() < 20
    drag(tab, ".next-grip-chance rect", (-700, 0))
    assert "Draw 0.000 gives “␣the”" in words(tab)


def test_bars_and_lines_answer_to_keys(open_page):
    tab = open_page("explore_next_token")
    for name, key in (
        ("temperature", "ArrowLeft"), ("k", "ArrowLeft"), ("p", "ArrowLeft"),
        ("chance", "ArrowRight"),
    ):  # fmt: skip
        before, grip = words(tab), tab.locator(f".next-grip-{name}")
        said = grip.get_attribute("aria-valuetext")
        grip.focus()
        for _ in range(4):
            tab.keyboard.press(key)
        assert words(tab) != before and grip.get_attribute("aria-valuetext") != said, name


def test_a_finger_moves_the_cut(open_page):
    tab = open_page("explore_next_token", width=360, has_touch=True, is_mobile=True)
    before = words(tab)
    finger(tab, ".next-grip-p rect", (-150, 0))
    assert words(tab) != before


def test_the_point_and_the_budget_are_dragged(open_page):
    tab = open_page("explore_scaling_laws")
    first = words(tab)
    drag(tab, ".laws-point >> nth=0", (-60, -60))
    assert words(tab) != first
    preset(tab, "GPT-3")
    drag(tab, ".laws-grip rect", (-60, 40))
    moved = words(tab)
    assert "3.2 × 10²³" not in moved
    preset(tab, "GPT-3")
    drag(tab, ".laws-point >> nth=1", (-80, 0))
    assert "3.2 × 10²³" in words(tab) != first
    tab.keyboard.press("ArrowRight")
    tab.locator(".laws-grip").focus()
    tab.keyboard.press("ArrowUp")
    assert "3.5 × 10²³" in words(tab)


def test_a_finger_moves_the_point(open_page):
    tab = open_page("explore_scaling_laws", width=360, has_touch=True, is_mobile=True)
    before = words(tab)
    finger(tab, ".laws-point >> nth=0", (-40, -30))
    assert words(tab) != before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [360, 760, 940])
def test_nothing_is_cut_off(open_page, name, width):
    tab = open_page(name, width=width)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(CUT) == []
        assert width < 900 or tab.locator(".ce").bounding_box()["height"] <= 640


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_page, name, dark):
    tab = open_page(name)
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    tab.locator(".ce-presets button >> nth=3").click()
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

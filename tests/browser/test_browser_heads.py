"""Real heads in a browser: each gesture, what lights up together, a page without a kernel."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, words
from tests.browser.support_page import wait_for
from tests.browser.support_scratch import write_notebook

pytestmark = pytest.mark.browser

ASKS = ".heads-word[aria-checked=true] .heads-text"
HEAD = ".heads-cell[aria-checked=true]"
LONG = "antidisestablishmentarianism " * 6
# From a key to the end of the work for the frame that it is drawn in.


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The page as it is built, and one with a text of many long words."""
    folder = tmp_path_factory.mktemp("heads")
    made = {}
    for name, values in {"start": {}, "long": {"own_text": LONG}}.items():
        made[name] = folder / f"{name}.html"
        explorer = EXPLORERS["explore_real_heads"](**values)
        made[name].write_text(standalone_page(explorer), encoding="utf-8")
    return made


@pytest.fixture
def open_heads(browser, pages):
    """Return a function that opens a page in a new tab; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(name="start", width=940, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 700}, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(pages[name].as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def word(tab, token):
    return tab.locator(".heads-word:visible", has_text=token).first


def row_middle(tab, row, column):
    """The middle of a cell of the large map of 16 tokens."""
    box = tab.locator(".heads-map canvas").bounding_box()
    cell = box["width"] / 16
    return box["x"] + (column + 0.5) * cell, box["y"] + (row + 0.5) * cell


def test_a_click_on_a_word_lets_it_ask(open_heads):
    tab = open_heads()
    assert "“it” attends most to “animal”, 0.68" in words(tab)
    word(tab, "cross").click()
    assert "“cross” attends most to “street”" in words(tab)
    assert tab.locator(ASKS).inner_text() == "cross"
    assert tab.locator("text.heads-asks", has_text="cross").count() == 1


def test_pointing_shows_and_leaving_brings_back(open_heads):
    tab = open_heads()
    before = words(tab)
    for place in (word(tab, "street"), tab.get_by_role("radio", name="layer 0, head 2")):
        place.hover()
        assert words(tab) != before
        tab.mouse.move(500, 10)
        assert words(tab) == before


def test_a_row_of_the_map_lights_up_with_the_sentence(open_heads):
    tab = open_heads()
    x, y = row_middle(tab, 8, 2)  # "street" asks "animal"
    tab.mouse.move(x, y)
    words(tab)
    assert tab.locator(ASKS).inner_text() == "street"
    assert tab.locator(".heads-pointed .heads-text").inner_text() == "animal"
    assert tab.locator(".heads-pointed .heads-share").inner_text()
    tab.mouse.click(x, y)
    tab.mouse.move(500, 10)
    assert "“street” attends" in words(tab)
    assert tab.locator(".heads-pointed").count() == 0


def test_arrow_keys_move_word_and_head_with_one_tab_stop_each(open_heads):
    tab = open_heads()
    for group in (".heads-words", ".heads-grid"):
        assert tab.locator(f"{group} [tabindex='0']").count() == 1
    tab.locator(".heads-word[aria-checked=true]").focus()
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("ArrowRight")
    assert "“too” attends" in words(tab)
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowRight")
    assert "“[SEP]” attends" in words(tab)
    tab.keyboard.press("Tab")
    for key, place in {
        "ArrowLeft": "3, head 0", "ArrowUp": "2, head 0", "ArrowRight": "2, head 1",
    }.items():  # fmt: skip
        tab.keyboard.press(key)
        assert f"Layer {place}:" in words(tab)
    assert tab.evaluate("document.activeElement.ariaLabel") == "layer 2, head 1"


def test_heads_are_leafed_through_by_touch(open_heads):
    tab = open_heads(width=360, has_touch=True, is_mobile=True)
    box = tab.locator(".heads-grid").bounding_box()
    pitch = box["width"] / 12
    y = box["y"] + 1.5 * pitch
    tab.touchscreen.tap(box["x"] + 8.5 * pitch, y)
    assert "Layer 1, head 8:" in words(tab)
    touch = tab.context.new_cdp_session(tab)
    for kind, column in [("touchStart", 8.5), *(("touchMove", 8.5 - i / 4) for i in range(1, 13))]:
        points = [{"x": box["x"] + column * pitch, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert "Layer 1, head 5:" in words(tab)


def test_presets_and_sentences(open_heads):
    tab = open_heads()
    seen = set()
    for button in tab.locator(".ce-presets button").all():
        button.click()
        seen.add(words(tab))
        assert tab.locator("[aria-pressed=true]").all_inner_texts() == [button.inner_text()]
    assert len(seen) == tab.locator(".ce-presets button").count()
    tab.locator(".ce select").select_option("I love Transformers")
    assert "“[SEP]” attends" in words(tab)  # there is no eighth word: the last one asks
    assert tab.locator(".heads-word:visible").count() == 5


def test_without_a_kernel_nothing_waits_for_python(open_heads):
    tab = open_heads()
    assert tab.locator(".ce input[type=text]").count() == 0
    assert "Run the notebook to try a sentence of your own." in tab.locator(".ce").inner_text()
    tab.locator(".ce-presets button").nth(1).click()
    tab.wait_for_timeout(2200)  # longer than a kernel may be silent
    words(tab)


@pytest.mark.parametrize("name", ["start", "long"])
@pytest.mark.parametrize("width", [360, 600, 940, 1100])
def test_nothing_is_cut_off(open_heads, name, width):
    tab = open_heads(name, width=width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cut = tab.evaluate("""() => {
        const edge = document.querySelector('.ce').getBoundingClientRect();
        return [...document.querySelectorAll('.ce-stage text, .heads-text, .heads-share')]
            .filter(each => each.textContent && each.checkVisibility())
            .filter(each => { const box = each.getBoundingClientRect();
                return box.left < edge.left - 1 || box.right > edge.right + 1; })
            .map(each => each.textContent);
    }""")
    assert cut == []
    if width >= 900:
        assert tab.locator(".ce").bounding_box()["height"] <= 640
        wall, controls = (
            tab.locator(css).bounding_box() for css in (".heads-grid", ".ce-controls")
        )
        assert wall["y"] + wall["height"] <= controls["y"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_heads, dark):
    tab = open_heads(reduced_motion="reduce")  # what fades is between two colours
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        found = Axe().run(tab, context=".ce").response["violations"]
        assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []


def test_own_text_in_the_lab(lab, open_notebook):
    cell = "from course_utils.lectures import EXPLORERS\nEXPLORERS['explore_real_heads']()"
    write_notebook(lab.folder / "heads.ipynb", cell)
    opened = open_notebook("heads.ipynb")
    opened.run_all()
    box = opened.cell(0).locator(".ce")
    typed, said = box.locator("input[type=text]"), box.locator(".ce-caption")
    problem = box.locator(".ce-problem")

    def shows(*tokens):
        found = box.locator(".heads-word:visible .heads-text")
        wait_for(lambda: found.all_inner_texts() == list(tokens), lambda: found.all_inner_texts())

    typed.fill("<b>x</b>")
    shows("[CLS]", "<", "b", ">", "x", "<", "/", "b", ">", "[SEP]")
    before = said.inner_text()
    typed.fill("\u200b")
    wait_for(lambda: "Text must" in problem.inner_text(), lambda: problem.inner_text())
    assert said.inner_text() == before
    box.locator("select").select_option("I love Transformers")
    shows("[CLS]", "i", "love", "transformers", "[SEP]")
    wait_for(lambda: typed.input_value() == "", lambda: typed.input_value())
    wait_for(lambda: not problem.is_visible(), lambda: problem.inner_text())

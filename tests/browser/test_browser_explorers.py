"""Explorers that move in the browser: each control and gesture, both themes, a phone, a lab."""

import json

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_page import wait_for
from tests.browser.support_scratch import write_notebook

pytestmark = pytest.mark.browser

CAPTION = ".ce-caption"
DARK = "document.body.style.background = '#12161d'"
MEDIAN_MS, LATE_MS = 12, 30
# An event, and the frame that it is drawn in: from dispatch to the end of layout and paint work.
TIMED = """async () => {
  const rail = document.querySelector('.ce input[type=range]');
  const times = [];
  for (let i = 0; i < 120; i += 1) {
    await new Promise(done => requestAnimationFrame(() => {
      rail.value = (i * 37) % 1000;
      const start = performance.now();
      rail.dispatchEvent(new Event('input', { bubbles: true }));
      requestAnimationFrame(frame => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => { times.push(performance.now() - frame); done(); };
        channel.port2.postMessage(0);
      });
    }));
  }
  times.sort((one, other) => one - other);
  return [times[60], times[114]];
}"""


@pytest.fixture(scope="module")
def page_file(tmp_path_factory):
    """The page of RoPE, as a file: opened from a disk it may load nothing."""
    path = tmp_path_factory.mktemp("page") / "rope.html"
    path.write_text(standalone_page(EXPLORERS["explore_rope"]()), encoding="utf-8")
    return path


@pytest.fixture
def open_rope(browser, page_file):
    """Return a function that opens the page in a new tab; it fails on any error of the page."""
    contexts, failures = [], []

    def opened(width=940, **options):
        size = {"width": width, "height": 700}
        contexts.append(browser.new_context(viewport=size, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(page_file.as_uri())
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert failures == []


def words(tab):
    """The caption, once the next frame has been drawn."""
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert tab.locator(".ce-problem").inner_text() == ""
    return tab.locator(CAPTION).inner_text()


def middle(tab, css):
    box = tab.locator(css).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(tab, css, by, start=(0, 0)):
    x, y = middle(tab, css)
    tab.mouse.move(x + start[0], y + start[1])
    tab.mouse.down()
    tab.mouse.move(x + start[0] + by[0], y + start[1] + by[1], steps=6)
    tab.mouse.up()


def test_every_control_answers_to_keys(open_rope):
    tab = open_rope()
    for control in tab.locator(".ce :is(input, select, [role=slider], [aria-checked=true])").all():
        before = words(tab)
        name = control.get_attribute("aria-label") or control.get_attribute("id")
        control.focus()
        tab.keyboard.press("ArrowRight")
        assert words(tab) != before, f"{name} moves nothing"


@pytest.mark.parametrize(
    ("css", "by", "start", "stays"),
    [
        (".rope-q .rope-knob", (20, -80), (0, 0), "the key at 12,"),
        (".rope-k .rope-knob", (20, 60), (0, 0), "the query at 17 "),
        (".rope-face", (-10, 90), (-75, -45), "the score is 0.734 of"),
        (".rope-dot", (60, 0), (0, 0), "In pair 4,"),
    ],
    ids=["query", "key", "face", "dot"],
)
def test_each_gesture_by_pointer(open_rope, css, by, start, stays):
    tab = open_rope()
    before = words(tab)
    drag(tab, css, by, start)
    assert words(tab) != before and stays in words(tab)
    assert tab.locator("[aria-pressed=true]").count() == 0


def test_a_gesture_by_touch_does_not_scroll(open_rope):
    tab = open_rope(width=360, has_touch=True, is_mobile=True)
    before, (x, y) = words(tab), middle(tab, ".rope-q .rope-knob")
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in range(1, 7):
        send("touchMove", {"x": x + 3 * step, "y": y - 12 * step})
    send("touchEnd")
    assert words(tab) != before
    assert tab.evaluate("scrollY") == 0


def test_presets_and_the_lit_one(open_rope):
    tab = open_rope()
    seen = set()
    for button in tab.locator(".ce-presets button").all():
        button.click()
        seen.add(words(tab))
        assert tab.locator("[aria-pressed=true]").all_inner_texts() == [button.inner_text()]
    assert len(seen) == 6


@pytest.mark.parametrize("width", [360, 900, 1100])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_cut_off(open_rope, width, dark):
    tab = open_rope(width=width, device_scale_factor=2)
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    cut = tab.evaluate("""() => {
        const edge = document.querySelector('.ce').getBoundingClientRect();
        return [...document.querySelectorAll('.ce-stage text, .ce label, .ce output, .ce button')]
            .filter(each => each.textContent)
            .filter(each => { const box = each.getBoundingClientRect();
                return box.left < edge.left - 1 || box.right > edge.right + 1; })
            .map(each => each.textContent);
    }""")
    assert cut == []
    if width >= 900:
        assert tab.locator(".ce").bounding_box()["height"] <= 640


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(open_rope, dark):
    tab = open_rope()
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []


def test_the_page_is_fast(open_rope):
    middle_ms, late_ms = open_rope().evaluate(TIMED)
    print(f"event to painted pixels: median {middle_ms:.1f} ms, p95 {late_ms:.1f} ms")
    assert middle_ms <= MEDIAN_MS and late_ms <= LATE_MS


def test_a_reader_is_told_once_at_rest(open_rope):
    tab = open_rope()
    tab.locator(".ce input").first.focus()
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    heard = tab.locator(".ce [aria-live]")
    assert heard.count() == 1
    wait_for(lambda: "the query at 22 " in heard.inner_text(), lambda: heard.inner_text())


def test_without_javascript_the_caption_is_there(open_rope):
    tab = open_rope(java_script_enabled=False)
    assert "the score is 0.734 of its maximum" in tab.locator("body").inner_text()


SHOWS_ROPE = """
from course_utils.lectures import EXPLORERS
EXPLORERS["explore_rope"]()
"""
COUNTS = """
import gc
from course_utils.explorers.widget import ExplorerWidget
widgets = [each for each in gc.get_objects() if issubclass(type(each), ExplorerWidget)]
sum(each.comm is not None for each in widgets)
"""
# What is served: each letter typed asks Python.
SERVES = """
from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Text
from course_utils.lectures import EXPLORERS

class Letters(Explorer):
    title = "How many letters?"
    inputs = {"text": Text("text", "abc")}
    served = ("text",)
    view = EXPLORERS["explore_rope"].view_path().parents[2] / "_template" / "softmax.js"

    def compute(self, text):
        import numpy as np
        return {"weights": np.ones(len(text)) / max(1, len(text))}

    def caption(self, state):
        return f"The text has {len(state['weights'])} letters in all."

Letters()
"""


def test_in_the_lab(lab, open_notebook):
    write_notebook(lab.folder / "live.ipynb", SHOWS_ROPE, COUNTS, SERVES)
    opened = open_notebook("live.ipynb")
    opened.run_all()
    explorer = opened.cell(0).locator(".ce")
    caption = explorer.locator(CAPTION)
    before = caption.inner_text()
    assert "the query at 17 " in before
    explorer.locator("input").first.focus()
    opened.page.keyboard.press("ArrowRight")
    wait_for(lambda: "the query at 18 " in caption.inner_text(), lambda: "a key moves nothing")
    for _ in range(5):
        opened.page.evaluate(
            "() => { const p = window.jupyterapp.shell.currentWidget;"
            " p.content.activeCellIndex = 0; }"
        )
        opened.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
        opened.wait_until_idle()
    opened.page.evaluate(
        "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;"
        " return window.jupyterapp.commands.execute('notebook:run-cell'); }"
    )
    opened.wait_until_idle()
    outputs = json.dumps(opened.cells()[1]["outputs"])
    assert '"text/plain": "2"' in outputs, outputs  # this one, and that of the cell below
    served = opened.cell(2).locator(".ce")
    served.locator("input").fill("abcdef")
    said = served.locator(CAPTION)
    wait_for(lambda: "6 letters" in said.inner_text(), lambda: said.inner_text())
    opened.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    opened.close()
    served.locator("input").fill("ab")
    problem = served.locator(".ce-problem")
    wait_for(lambda: "does not answer" in problem.inner_text(), lambda: "silence")
    assert "6 letters" in said.inner_text()

    # The next day: another kernel, and the saved explorer moves.
    opened.open()
    again = opened.cell(0).locator(".ce")
    again.locator("input").first.focus()
    opened.page.keyboard.press("ArrowRight")
    told = again.locator(CAPTION)
    wait_for(lambda: "the query at 18 " in told.inner_text(), lambda: told.inner_text())
    assert opened.broken_words() == []

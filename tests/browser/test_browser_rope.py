"""RoPE in the browser: each gesture by pointer and touch; an explorer in the lab, to its end."""

import json

import pytest

from tests.browser.support_explorer import drag, middle, words
from tests.browser.support_page import wait_for
from tests.browser.support_scratch import write_notebook

pytestmark = pytest.mark.browser

NAME = "explore_rope"


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
def test_each_gesture_by_pointer(open_explorer, css, by, start, stays):
    tab = open_explorer(NAME)
    before = words(tab)
    drag(tab, css, by, start)
    assert words(tab) != before and stays in words(tab)
    assert tab.locator("[aria-pressed=true]").count() == 0


def test_a_press_on_the_curve_moves_the_key(open_explorer):
    tab = open_explorer(NAME)
    x, y = middle(tab, ".rope-dot")
    tab.mouse.click(x + 120, y + 60)
    assert "the query at 17 " in words(tab) and "the key at 12," not in words(tab)
    said = words(tab)
    tab.mouse.click(*middle(tab, ".rope-dot"))
    assert words(tab) == said


def test_a_reader_is_told_once_at_rest(open_explorer):
    tab = open_explorer(NAME)
    tab.locator(".ce input").first.focus()
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    heard = tab.locator(".ce [aria-live]")
    assert heard.count() == 1
    wait_for(lambda: "the query at 22 " in heard.inner_text(), lambda: heard.inner_text())


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
IS_BUSY = "import time; time.sleep(5)"


def test_in_the_lab(lab, open_notebook):
    write_notebook(lab.folder / "live.ipynb", SHOWS_ROPE, COUNTS, SERVES, IS_BUSY)
    opened = open_notebook("live.ipynb")
    opened.run_all()
    explorer = opened.cell(0).locator(".ce")
    caption = explorer.locator(".ce-caption")
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
    said = served.locator(".ce-caption")
    wait_for(lambda: "6 letters" in said.inner_text(), lambda: said.inner_text())
    problem = served.locator(".ce-problem")
    opened.page.evaluate(
        "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 3;"
        " window.jupyterapp.commands.execute('notebook:run-cell'); }"
    )
    wait_for(opened.is_busy, lambda: "the cell does not run")
    served.locator("input").fill("abcdefg")
    wait_for(lambda: "does not answer yet" in problem.inner_text(), lambda: "silence")
    wait_for(lambda: "7 letters" in said.inner_text(), lambda: said.inner_text())
    assert problem.inner_text() == ""
    opened.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    opened.close()
    served.locator("input").fill("ab")
    wait_for(lambda: "does not answer" in problem.inner_text(), lambda: "silence")
    assert "7 letters" in said.inner_text()

    # The next day: another kernel, and the saved explorer moves.
    opened.open()
    again = opened.cell(0).locator(".ce")
    again.locator("input").first.focus()
    opened.page.keyboard.press("ArrowRight")
    told = again.locator(".ce-caption")
    wait_for(lambda: "the query at 18 " in told.inner_text(), lambda: told.inner_text())
    assert opened.broken_words() == []

"""Explorers in the lab, to their end: own text, a busy kernel, none at all, and the next day."""

import json

import pytest

from tests.browser.support_page import wait_for
from tests.browser.support_scratch import write_notebook

pytestmark = pytest.mark.browser

SHOWS = "from lectures import EXPLORERS\nEXPLORERS['explore_{}']()"
COUNTS = """
import gc
from course_utils.explorers.widget import ExplorerWidget
widgets = [each for each in gc.get_objects() if issubclass(type(each), ExplorerWidget)]
sum(each.comm is not None for each in widgets)
"""
ROPE, COUNT, HEADS, BUSY = range(4)
CELLS = [SHOWS.format("rope"), COUNTS, SHOWS.format("real_heads"), "import time; time.sleep(5)"]


def moves_by_key(opened):
    """The query of RoPE's picture goes from 17 to 18."""
    explorer = opened.cell(ROPE).locator(".ce")
    said = explorer.locator(".ce-caption")
    explorer.locator("input").first.focus()
    opened.page.keyboard.press("ArrowRight")
    wait_for(lambda: "the query at 18 " in said.inner_text(), said.inner_text)


def tokens(box):
    return box.locator(".heads-word:visible .heads-text").all_inner_texts()


def test_from_the_first_key_to_the_next_day(lab, open_notebook):
    opened = open_notebook(write_notebook(lab.folder / "live.ipynb", *CELLS))
    opened.run_all()
    moves_by_key(opened)

    # What is run again leaves nothing behind in the kernel.
    for _ in range(5):
        opened.run_cell(ROPE)
    opened.run_cell(COUNT)
    outputs = json.dumps(opened.cells()[COUNT]["outputs"])
    assert '"text/plain": "2"' in outputs, outputs

    # Own text is read by the kernel; what cannot be read changes nothing.
    box = opened.cell(HEADS).locator(".ce")
    typed, problem = box.locator("input[type=text]"), box.locator(".ce-problem")

    def shows(*expected):
        found = ["[CLS]", *expected, "[SEP]"]
        wait_for(lambda: tokens(box) == found, lambda: str(tokens(box)))

    typed.fill("<b>x</b>")
    shows("<", "b", ">", "x", "<", "/", "b", ">")
    typed.fill("\u200b")
    wait_for(lambda: "Text must" in problem.inner_text(), problem.inner_text)
    shows("<", "b", ">", "x", "<", "/", "b", ">")
    box.locator("select").select_option("I love Transformers")
    shows("i", "love", "transformers")
    wait_for(lambda: typed.input_value() == "", typed.input_value)
    wait_for(lambda: not problem.is_visible(), problem.inner_text)

    # A busy kernel is said, and answers later; one that has ended is said too.
    opened.run_cell(BUSY, wait=False)
    wait_for(opened.is_busy, lambda: "the cell does not run")
    typed.fill("one")
    wait_for(lambda: "does not answer" in problem.inner_text(), lambda: "silence")
    shows("one")
    assert problem.inner_text() == ""
    opened.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    opened.close()
    typed.fill("two")
    wait_for(lambda: "does not answer" in problem.inner_text(), lambda: "silence")
    shows("one")

    # The next day: another kernel, and the saved explorer moves.
    opened.open()
    moves_by_key(opened)
    assert opened.broken_words() == []

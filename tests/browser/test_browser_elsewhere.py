"""Other front ends than JupyterLab: the first minutes, and a key in every explorer."""

import importlib.util

import pytest

from lectures import EXPLORERS
from tests.browser.support_lab import running_lab
from tests.browser.support_page import changed, seen, wait_for
from tests.browser.support_scratch import write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = [
    "from lectures.l02_softmax import exercises, explorers\n\nexplorers.explore_softmax()",
    "exercises.check_softmax(lambda scores: scores.exp() / scores.exp().sum())",
    "exercises.QUIZ",
]
ALL = "from lectures import EXPLORERS\n\nfor each in EXPLORERS.values():\n    display(each())"
CONTROLS = (
    ":is(input[type=range], input[type=checkbox], [role=slider], [role=radio], [role=gridcell])"
    ":not([tabindex='-1'], [aria-disabled=true])"
)
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown", "Space")
# Program → the page of a notebook, a cell's editor, a cell's output.
FRONT_ENDS = {
    "notebook": ("notebooks", ".jp-Cell .cm-content", ".jp-Cell-outputArea"),
    "nbclassic": ("nbclassic/notebooks", ".code_cell .CodeMirror", ".output_wrapper"),
}

# The button beside the cells: Notebook's first key may come before the page knows its shortcuts.
RUN = (
    "[data-command$='run-cell-and-select-next'], [data-jupyter-action$='run-cell-and-select-next']"
)


@pytest.fixture(params=FRONT_ENDS)
def run(request, tab, tmp_path):
    """Return a function that runs cells in a front end, and returns the outputs' selector."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    page, editor, output = FRONT_ENDS[request.param]
    (tmp_path / "work").mkdir()

    def run_cells(*cells):
        write_notebook(tmp_path / "work" / "cells.ipynb", *cells)
        tab.goto(f"{lab.url}{page}/cells.ipynb?token={lab.token}", timeout=60_000)
        tab.locator(editor).nth(len(cells) - 1).wait_for(timeout=60_000)
        wait_for(lambda: is_connected(tab), lambda: "no kernel", 60_000)
        for number in range(len(cells)):
            tab.locator(editor).nth(number).click()
            tab.locator(RUN).click()
        return output

    with running_lab(tmp_path / "work", tmp_path, program=request.param) as lab:
        yield run_cells


def is_connected(tab):
    """Whether the page shows a kernel that waits for work."""
    idle = ".jp-Notebook-ExecutionIndicator[data-status=idle], .kernel_idle_icon"
    return tab.locator(idle).count() > 0


def test_every_explorer_answers_to_a_key(run, tab):
    run(ALL)
    explorers = tab.locator(".ce")
    explorers.nth(len(EXPLORERS) - 1).wait_for(timeout=120_000)
    for name, explorer in zip(EXPLORERS, explorers.all(), strict=True):
        explorer.scroll_into_view_if_needed()
        assert any(moves(tab, explorer, each) for each in explorer.locator(CONTROLS).all()), name
        assert seen(explorer)["error"] == ""


def moves(tab, explorer, control):
    """Whether a key on a control changes both the picture and the words."""
    if not control.is_visible():
        return False
    before = seen(explorer)
    control.focus()
    for key in KEYS:
        tab.keyboard.press(key)
        now = seen(explorer)
        if all(now[part] != before[part] for part in ("picture", "caption")):
            return True
    return False


def test_the_first_minutes(run, tab):
    output = run(*CELLS)
    tab.locator(".ce.quiz").wait_for(timeout=90_000)
    explorer = tab.locator(".course-explorer")
    handle = explorer.locator(":is([role=slider][tabindex='0'], input[type=range])").first
    handle.scroll_into_view_if_needed()
    before = seen(explorer)
    for key in ("Shift+ArrowUp", "Shift+ArrowDown"):  # a score, by one
        handle.focus()
        tab.keyboard.press(key)
        before = changed(explorer, before, key)
    box = handle.bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] / 2 + 12, box["y"] + box["height"] / 2 - 24, steps=8)
    tab.mouse.up()
    assert changed(explorer, before, "the mouse")["error"] == ""

    exercise = tab.locator(output).nth(1)
    wait_for(lambda: "Not yet" in exercise.inner_text(), exercise.inner_text)

    tab.locator(".quiz-question button").first.click()
    said = tab.locator(".quiz-question [role=status]").first
    wait_for(lambda: said.inner_text().startswith(("Right.", "Not that one.")), said.inner_text)

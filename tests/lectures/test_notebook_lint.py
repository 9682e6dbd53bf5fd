"""Every lecture keeps the rules of a notebook and has the anatomy of a lecture.

Each rule is also fed a notebook that breaks it and nothing else, so that none can be vacuous.
"""

import copy
import inspect

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.lectures import support_lectures as lectures
from tests.lectures import support_notebooks as notebooks
from tests.lectures.support_notebooks import LIVE_WIDGET, NOTEBOOKS


def rules_of(module):
    """Return the functions of a module named rule_…, by name."""
    members = inspect.getmembers(module, inspect.isfunction)
    return {name: rule for name, rule in members if name.startswith("rule_")}


RULES = rules_of(notebooks) | rules_of(lectures)


def test_there_are_lectures_to_check():
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_lecture_keeps_the_rule(path, name):
    assert RULES[name](notebooks.read(path)) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_lecture_shows_each_of_its_explorers(path):
    from course_utils.lectures import EXPLORERS

    number = path.stem[:2]
    own = {name for name, make in EXPLORERS.items() if make.__module__.endswith(f"_{number}")}
    assert own, f"EXPLORERS has none from a module named …_{number}"
    assert own - lectures.shown_explorers(notebooks.read(path)) == set()


# A lecture that keeps every rule. The tests below break one thing at a time.

TITLE = """# Why divide?
After this **you will be able to** say why. 20 minutes. Prerequisites: none. Hardware: any CPU."""
SETUP = """import torch
from course_utils.attention import attend
from course_utils.teaching import check_close, source_note
from course_utils.lectures.l00_start_here.quiz import QUIZ

torch.manual_seed(0)"""
PREDICT = "**Predict**: more, or less?"
PROSE = "The axis letters today: `T`, `S`.\n\n" + "\n\n".join([PREDICT] * 3)
IGNORED = "# Output not compared: versions differ between machines.\nprint(torch.__version__)"
STUB = "def scale(width):\n    ..."
WORDS = "The weights of three words, one row to a query."

SETUP_CELL, CHECK_CELL, FIGURE, VERSIONS, FAILURE, NOTE, EXERCISE = 1, 3, 4, 5, 6, 8, 9


def picture(words=WORDS):
    return new_output("display_data", data={"image/png": "", "text/plain": words})


def printed(text):
    return new_output("stream", name="stdout", text=text)


def good_lecture():
    """Return a short lecture without a fault."""
    error = new_output("error", ename="TypeError", evalue="no", traceback=["TypeError: no"])
    cells = [
        new_markdown_cell(TITLE),
        new_code_cell(SETUP),
        new_markdown_cell(PROSE),
        new_code_cell("check_close(mine, attend(q, k, v))", outputs=[printed("agrees: (3, 3)\n")]),
        new_code_cell("show(figure, alt=words)", outputs=[picture()]),
        new_code_cell(IGNORED, outputs=[printed("2.13.0 in 3 ms\n")]),
        new_code_cell("attend(1)", outputs=[error]),
        new_markdown_cell("## Source notes"),
        new_code_cell("source_note(1, claim=a, measured=b, holds=c)"),
        new_code_cell(STUB),
        new_code_cell("check_scale(scale)"),
        new_markdown_cell("<details><summary>Hint</summary>A root.</details>"),
        new_markdown_cell("<details><summary>Solution (gentle, 3 min)</summary>…</details>"),
        new_code_cell("QUIZ"),
        new_markdown_cell("## Summary\n\n## Sources\n\nNext lecture: [01](01_scaling.ipynb)."),
    ]
    cells[VERSIONS].metadata["tags"] = ["nbval-ignore-output"]
    cells[FAILURE].metadata["tags"] = ["raises-exception"]
    cells[EXERCISE].metadata["tags"] = ["exercise"]
    code = [cell for cell in cells if cell.cell_type == "code"]
    for count, cell in enumerate(code, start=1):
        cell.execution_count = count
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"
        cell.metadata["slideshow"] = {"slide_type": "slide"}
    return new_notebook(cells=cells)


@pytest.mark.parametrize("name", RULES)
def test_a_good_lecture_keeps_every_rule(name):
    assert RULES[name](good_lecture()) == []


def sets(number, **fields):
    """Return a change that replaces fields of one cell."""

    def change(notebook):
        notebook.cells[number].update(fields)

    return change


def outputs(number, *new):
    return sets(number, outputs=list(new))


def replaces(number, old, new):
    """Return a change of some words in one cell."""

    def change(notebook):
        cell = notebook.cells[number]
        assert old in cell.source
        cell.source = cell.source.replace(old, new)

    return change


def adds(source):
    """Return a change that appends a line to the code of an ordinary cell."""

    def change(notebook):
        notebook.cells[CHECK_CELL].source += "\n" + source

    return change


def drops(number):
    """Return a change that deletes a cell."""

    def change(notebook):
        del notebook.cells[number]

    return change


def untags(number):
    def change(notebook):
        notebook.cells[number].metadata.pop("tags")

    return change


STDERR = new_output("stream", name="stderr", text="slow\n")
ERROR = new_output("error", ename="ValueError", evalue="no", traceback=[])
LIVE = new_output("display_data", data={LIVE_WIDGET: {"model_id": "7"}, "text/plain": "A slider"})

BREAKS = [
    ("rule_format", lambda nb: nb.update(nbformat_minor=4)),
    ("rule_format", sets(CHECK_CELL, outputs="none")),
    ("rule_cell_ids", sets(2, id="cell-1")),
    ("rule_cell_ids", lambda nb: [cell.pop("id") for cell in nb.cells]),
    ("rule_executed_in_order", sets(CHECK_CELL, execution_count=None)),
    ("rule_executed_in_order", sets(CHECK_CELL, execution_count=17)),
    ("rule_outputs_can_be_published", outputs(CHECK_CELL, STDERR)),
    ("rule_outputs_can_be_published", outputs(CHECK_CELL, ERROR)),
    ("rule_outputs_can_be_published", outputs(FAILURE)),
    ("rule_outputs_can_be_published", outputs(CHECK_CELL, printed("UserWarning: old\n"))),
    ("rule_outputs_can_be_published", outputs(CHECK_CELL, printed("/home/ada/x.npz"))),
    ("rule_outputs_can_be_published", outputs(CHECK_CELL, printed("C:\\Users\\ada"))),
    ("rule_no_widget_state", lambda nb: nb.metadata.update(widgets={})),
    ("rule_no_widget_state", outputs(CHECK_CELL, LIVE)),
    ("rule_no_paths_in_sources", adds("weights = '/home/ada/weights'")),
    ("rule_compared_outputs_hold_everywhere", outputs(CHECK_CELL, printed("took 3.1 ms\n"))),
    ("rule_compared_outputs_hold_everywhere", outputs(CHECK_CELL, printed("torch 2.13.0\n"))),
    ("rule_compared_outputs_hold_everywhere", outputs(CHECK_CELL, printed("<f at 0x7f1234ab>"))),
    ("rule_compared_outputs_hold_everywhere", untags(VERSIONS)),
    ("rule_size", outputs(CHECK_CELL, printed("x" * 1_500_000))),
    ("rule_cells_fit_the_screen", adds("pass\n" * 15)),
    ("rule_cells_fit_the_screen", replaces(SETUP_CELL, "import torch", "import a\n" * 8)),
    ("rule_cells_fit_the_screen", lambda nb: [c.update(source="x\n" * 9) for c in nb.cells]),
    ("rule_no_magics", adds("%matplotlib inline")),
    ("rule_no_magics", adds("!pip install torch")),
    ("rule_no_trailing_semicolon", adds("axes.plot(x, y);")),
    ("rule_no_forbidden_calls", adds("interact(f, x=3)")),
    ("rule_no_forbidden_calls", adds("IPython.display.clear_output()")),
    ("rule_imports_by_name", adds("from torch import *")),
    ("rule_imports_by_name", adds("import urllib.request")),
    ("rule_imports_by_name", adds("from matplotlib import pyplot as plt")),
    ("rule_ignored_outputs_say_why", replaces(VERSIONS, "# Output not compared: ", "# ")),
    ("rule_ignored_outputs_say_why", replaces(VERSIONS, "versions differ between machines.", "")),
    ("rule_slide_types", lambda nb: nb.cells[3].metadata.pop("slideshow")),
    ("rule_slide_types", lambda nb: nb.cells[3].metadata.slideshow.update(slide_type="page")),
    ("rule_images_have_words", sets(2, source="![](images/heads.png)")),
    ("rule_images_have_words", sets(2, source="<img src='images/heads.png'>")),
    ("rule_images_have_words", sets(2, source="<img src='images/heads.png' alt=''>")),
    ("rule_figures_have_words", outputs(FIGURE, picture(""))),
    ("rule_figures_have_words", outputs(FIGURE, picture("<Figure size 800x400 with 1 Axes>"))),
    ("rule_figures_have_words", lambda nb: nb.cells[FIGURE].outputs[0].data.pop("text/plain")),
    ("rule_title_cell", replaces(0, "Why divide?", "Scaling")),
    ("rule_title_cell", replaces(0, "20 minutes.", "")),
    ("rule_title_cell", replaces(0, "Hardware: any CPU.", "")),
    ("rule_setup_cell", replaces(SETUP_CELL, "torch.manual_seed(0)", "")),
    ("rule_setup_cell", sets(SETUP_CELL, source="import torch\ntorch.manual_seed(0)")),
    ("rule_axis_letters", replaces(2, "The axis letters today", "Today")),
    ("rule_predictions", sets(2, source="The axis letters. **Predict**: one. **Predict**: two.")),
    ("rule_checked_against_the_library", replaces(CHECK_CELL, "check_close", "print")),
    ("rule_instructive_failure", untags(FAILURE)),
    ("rule_source_notes", replaces(7, "Source notes", "Notes")),
    ("rule_source_notes", replaces(NOTE, "source_note", "print")),
    ("rule_exercises", untags(EXERCISE)),
    ("rule_exercises", lambda nb: nb.cells[EXERCISE].metadata.update(tags=["mend"])),
    ("rule_exercises", replaces(EXERCISE, "    ...", "    return width**0.5")),
    ("rule_exercises", drops(EXERCISE)),
    ("rule_exercises", drops(EXERCISE + 1)),
    ("rule_exercises", drops(EXERCISE + 2)),
    ("rule_exercises", drops(EXERCISE + 3)),
    ("rule_quiz", replaces(13, "QUIZ", "quiz = 3")),
    ("rule_ending", replaces(14, "## Summary", "")),
    ("rule_ending", replaces(14, "Next lecture", "Goodbye")),
    ("rule_ending", sets(14, source="Next lecture: 01.\n\n## Sources\n\n## Summary")),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:Cell is missing an id field")
@pytest.mark.parametrize(("name", "change"), BREAKS)
def test_a_rule_flags_a_lecture_that_breaks_it(name, change):
    bad = copy.deepcopy(good_lecture())
    change(bad)
    assert RULES[name](bad) != []


def test_every_rule_is_fed_something_it_must_flag():
    assert {name for name, _ in BREAKS} == set(RULES)


@pytest.mark.parametrize(
    "stub",
    ["def f(x):\n    ...", "def f(x):\n    '''Doc.'''\n    ...", "def f(x):\n    '''Doc.'''",
     "def f(x):\n    raise NotImplementedError", "def f(x):\n    return ...", "answer = ..."],
)  # fmt: skip
def test_every_form_of_a_stub_is_seen(stub):
    notebook = good_lecture()
    notebook.cells[EXERCISE].source = stub
    assert lectures.rule_exercises(notebook) == []


def test_an_explorer_counts_as_shown_only_as_the_value_of_a_cell():
    notebook = new_notebook(cells=[new_code_cell("explore_a()"), new_code_cell("explore_b\nx = 1")])
    shown = lectures.shown_explorers(notebook)
    assert "explore_a" in shown
    assert "explore_b" not in shown


def test_the_rules_read_what_is_saved(tmp_path):
    path = tmp_path / "00_lecture.ipynb"
    nbformat.write(good_lecture(), path)
    assert notebooks.read(path).cells[0].source == TITLE

"""The anatomy of a lecture: what it has to have, and in which order.

Rules as in `support_notebooks`: a notebook in, the places that break the rule out.
"""

import ast
import itertools
import re

from nbformat import NotebookNode

from lectures import EXPLORERS
from tests.lectures.support_notebooks import called, imported, markdown_cells, numbered, tree
from tools.editions.notebook_outputs import code_cells, executed_sources, tags

MAX_TITLE_WORDS = 80
EXERCISE = "exercise"
# Beside EXERCISE: the cell holds a whole function with a fault, which its reader fixes.
FIX = "fix"
SETS = re.compile(r'<span class="course-sets" title="([^"]*)">')


def _prose(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in markdown_cells(notebook))


def _calls(notebook: NotebookNode, name: str) -> int:
    return sum(name in called(cell) for cell in code_cells(notebook))


def rule_title_cell(notebook: NotebookNode) -> list[str]:
    """The first cell asks the question; somewhere the page says what it takes."""
    first = notebook.cells[0]
    title = first.source.partition("\n")[0]
    found = []
    if not (title.startswith("# ") and "?" in title):
        found.append(f"the title is no question: {title}")
    for needed in ("prerequisites", "hardware"):
        if needed not in _prose(notebook).lower():
            found.append(f"the page does not say: {needed}")
    return found


def rule_first_screen(notebook: NotebookNode) -> list[str]:
    """A question, a few sentences, an explorer: no list, no folded text, no house rules."""
    title, found = notebook.cells[0].source, []
    if (words := len(title.split())) > MAX_TITLE_WORDS:
        found.append(f"the first cell has {words} words, at most {MAX_TITLE_WORDS}")
    if re.search(r"^(?:[-*] |\d+\. |<details>|## )", title, re.M):
        found.append("the first cell has a list, a fold or a section: link to them")
    before = itertools.takewhile(lambda cell: not cell.source.startswith("## "), notebook.cells)
    code = [cell for cell in before if cell.cell_type == "code"]
    if not any("explorers.explore_" in cell.source for cell in code[1:3]):
        found.append("no explorer among the three first code cells, before the first section")
    return found


def rule_answers_are_folded(notebook: NotebookNode) -> list[str]:
    """Text right after a question's buttons is the answer, by its id, or leads to a picture."""
    cells = [
        c for c in notebook.cells if c.metadata.get("slideshow", {}).get("slide_type") != "notes"
    ]
    return [
        f"{text.id}: the answer stands open under the buttons; an id with -answer folds it"
        for asked, text, after in zip(cells, cells[1:], cells[2:], strict=False)
        if asked.cell_type == "code"
        and "exercises.predict(" in asked.source
        and text.cell_type == "markdown"
        and not text.id.endswith("-answer")
        and "explorers.explore_" not in after.source
    ]


def rule_setup_cell(notebook: NotebookNode) -> list[str]:
    """The first code cell imports its lecture's own code, and sets the one SEED."""
    cell = code_cells(notebook)[0]
    found = []
    if not any(name.startswith("lectures.") for name in imported(cell)):
        found.append("the first code cell imports nothing of its lecture")
    if "manual_seed(SEED)" not in cell.source or not re.search("^SEED = ", cell.source, re.M):
        found.append("the first code cell sets no SEED")
    # A reader, and a claim, choose another one: nothing may be drawn beside it.
    fixed = [c.id for c in code_cells(notebook) if re.search(r"manual_seed\(\d", c.source)]
    return found + [f"a seed that SEED does not decide: {name}" for name in fixed]


def rule_axis_letters(notebook: NotebookNode) -> list[str]:
    """The axis letters used today are named."""
    named = "axis letters" in _prose(notebook).lower()
    return [] if named else ["the axis letters are not named"]


def rule_predictions(notebook: NotebookNode) -> list[str]:
    """At least three times the reader is asked to predict first."""
    count = len(re.findall(r"\*\*Predict", _prose(notebook)))
    return [] if count >= 3 else [f"{count} prompts marked **Predict, at least 3"]


def rule_checked_against_the_library(notebook: NotebookNode) -> list[str]:
    """What a cell does by hand is held against the library or another reference."""
    return [] if _calls(notebook, "check_close") else ["no check_close()"]


def rule_instructive_failure(notebook: NotebookNode) -> list[str]:
    """One cell fails on purpose and shows our message, without a page of traceback."""
    failing = [cell for cell in code_cells(notebook) if "Error as error:" in cell.source]
    return [] if failing else ["no cell that fails on purpose"]


def rule_one_thread(notebook: NotebookNode) -> list[str]:
    """What a cell trains runs on one thread: beside a busy core, two took 28 times as long."""
    before, found = "", []
    for where, cell in numbered(code_cells(notebook)):
        before += cell.source
        if "optimizer.step()" in cell.source and "set_num_threads(1)" not in before:
            found.append(f"{where}: trains before torch.set_num_threads(1)")
    return found


def rule_outputs(notebook: NotebookNode) -> list[str]:
    """Outputs are those of the cells as they are now, the ones that nothing compares too."""
    same = notebook.metadata.get("executed_sources") == executed_sources(notebook)
    return [] if same else ["a cell has changed since the lecture ran: `make outputs`"]


def _is_stub(node: ast.stmt) -> bool:
    """Return whether a statement is left for the reader: `name = ...`, or an empty function.

    A class is, if all that it defines is.
    """
    if isinstance(node, ast.Assign):
        return _is_left_open(node)
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return all(_is_left_open(line) or _is_stub(line) for line in body)


def _is_left_open(line: ast.stmt) -> bool:
    if isinstance(line, ast.Raise):
        return "NotImplementedError" in ast.unparse(line)
    value = getattr(line, "value", None)
    return isinstance(value, ast.Constant) and value.value is ...


def rule_exercises(notebook: NotebookNode) -> list[str]:
    """Each stub is tagged, and is followed by its check, a hint and a folded solution."""
    found = []
    for where, cell in numbered(code_cells(notebook)):
        has_stub = FIX in tags(cell) or any(_is_stub(node) for node in tree(cell).body)
        if has_stub != (EXERCISE in tags(cell)):
            found.append(f"{where}: a stub and the tag {EXERCISE} belong together")
    stubs = [i for i, cell in enumerate(notebook.cells) if EXERCISE in tags(cell)]
    for i in stubs:
        first = _check_of(notebook, i)
        check, hint, solution = [*notebook.cells[first : first + 3], None, None, None][:3]
        if not (check and any(name.startswith("check_") for name in called(check))):
            found.append(f"exercise in cell {i + 1}: no check in the next cell")
        if not (hint and "<details>" in hint.source and "hint" in hint.source.lower()):
            found.append(f"exercise in cell {i + 1}: no folded hint after the check")
        if not (solution and re.search(r"<summary>.*Solution.*\d+ min", solution.source)):
            found.append(f"exercise in cell {i + 1}: no folded solution with its minutes")
    return found + ([] if stubs else [f"no cell tagged {EXERCISE}"])


def _check_of(notebook: NotebookNode, stub: int) -> int:
    """The place of a stub's check: right after it; later, where it is code that runs as it is."""
    if FIX not in tags(notebook.cells[stub]):
        return stub + 1
    return next(
        i
        for i, cell in enumerate(notebook.cells)
        if i > stub and any(name.startswith("check_") for name in called(cell))
    )


def rule_quiz(notebook: NotebookNode) -> list[str]:
    """A quiz, imported by name and shown as the value of a cell."""
    shown = [ast.unparse(node) for cell in code_cells(notebook) for node in tree(cell).body[-1:]]
    return [] if "exercises.QUIZ" in shown else ["no cell shows exercises.QUIZ"]


ENDING = {
    "summary": r"^#+ .*[Ss]ummary",
    "sources": r"^#+ .*[Ss]ources",
    "next lecture": r"[Nn]ext lecture|map of the course",
}


def rule_ending(notebook: NotebookNode) -> list[str]:
    """Summary, sources, next lecture, in this order."""
    prose = _prose(notebook)
    places = {
        name: max((hit.start() for hit in re.finditer(pattern, prose, re.M)), default=-1)
        for name, pattern in ENDING.items()
    }
    missing = [f"no {name}" for name, place in places.items() if place < 0]
    if not missing and list(places.values()) != sorted(places.values()):
        return ["summary, sources and next lecture are not in this order"]
    return missing


def rule_words_that_act_set_a_picture_above(notebook: NotebookNode) -> list[str]:
    """`<span class="course-sets" title="…">` names a preset of a picture that was shown before."""
    presets: set[str] = set()
    found = []
    for where, cell in numbered(notebook.cells):
        presets |= {
            label
            for name, made in EXPLORERS.items()
            if f"explorers.{name}(" in cell.source
            for label in made.presets
        }
        if cell.cell_type == "markdown":
            named = SETS.findall(cell.source)
            found += [f"{where}: no picture above has {name!r}" for name in {*named} - presets]
    return found


def shown_explorers(notebook: NotebookNode) -> set[str]:
    """Return the attributes in what cells show, such as `explore_x` of `explorers.explore_x()`."""
    found = set()
    for cell in code_cells(notebook):
        for node in tree(cell).body[-1:]:
            if isinstance(node, ast.Expr):
                found |= {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    return found

"""The lectures as data, and what every notebook of the course keeps to.

A rule takes a notebook and returns the places that break it; `support_lectures` has the rules for
the anatomy of a lecture.
"""

import ast
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from lectures import Lecture
from tools.editions.notebook_outputs import (
    LIVE_WIDGET,
    NOT_COMPARED,
    code_cells,
    faults,
    tags,
    texts,
)
from tools.editions.notebook_outputs import absolute_paths as paths_in

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

MAX_BYTES = 1_500_000
MAX_CELL_LINES, MAX_SETUP_LINES, MAX_MEDIAN_LINES = 15, 10, 8
SLIDE_TYPES = {"slide", "subslide", "fragment", "skip", "notes", "-"}
WHY_NOT_COMPARED = "# Output not compared: "
FORBIDDEN_CALLS = {"interact", "interactive", "interact_manual", "clear_output", "system"}
NETWORK_MODULES = {"requests", "httpx", "urllib", "http", "socket", "aiohttp", "huggingface_hub"}

_TIMING = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:ns|µs|μs|us|ms|s|sec|seconds|min|minutes|it/s|s/it)\b(?! per)"
)
_VERSION = re.compile(r"(?<![\d.])\d+\.\d+\.\d+(?![\d.])")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


def notebook_of(lecture: Lecture) -> Path:
    """Return where a lecture's notebook is."""
    return ROOT / "notebooks" / f"{lecture.stem}.ipynb"


def read(path: Path) -> NotebookNode:
    """Read a notebook."""
    return nbformat.read(path, as_version=4)


def markdown_cells(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells that are read, not run."""
    return [cell for cell in notebook.cells if cell.cell_type == "markdown"]


def numbered(cells: list[NotebookNode]) -> Iterator[tuple[str, NotebookNode]]:
    """Yield each cell with words that say where it is."""
    for number, cell in enumerate(cells, start=1):
        first = cell.source.strip().partition("\n")[0][:60]
        yield f"{cell.cell_type} cell {number} ({first!r})", cell


def tree(cell: NotebookNode) -> ast.Module:
    """Return the syntax tree of a code cell, an empty one where it is no Python."""
    try:
        return ast.parse(cell.source)
    except SyntaxError:
        return ast.Module(body=[], type_ignores=[])


def imported(cell: NotebookNode) -> Iterator[str]:
    """Yield the modules and names that a code cell imports, dotted."""
    for node in ast.walk(tree(cell)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def called(cell: NotebookNode) -> Iterator[str]:
    """Yield the names a code cell calls: f for f() and for a.f()."""
    for node in ast.walk(tree(cell)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func).rpartition(".")[2]


# The rules: form of the file.


def rule_format(notebook: NotebookNode) -> list[str]:
    """A notebook is valid, and new enough for cell ids."""
    found = []
    if (notebook.nbformat, notebook.nbformat_minor) < (4, 5):
        found.append(f"format {notebook.nbformat}.{notebook.nbformat_minor} is older than 4.5")
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        found.append(f"invalid: {error.message}")
    return found


def rule_cell_ids(notebook: NotebookNode) -> list[str]:
    """Every cell has its own id: reviews and slides refer to it."""
    ids = [cell.get("id") for cell in notebook.cells]
    return [f"cell id {each} is missing or used twice" for each in set(ids) if ids.count(each) > 1]


def rule_executed_in_order(notebook: NotebookNode) -> list[str]:
    """Counts run 1, 2, 3 …: nbval compares nothing in a cell without a count."""
    counts = [cell.execution_count for cell in code_cells(notebook)]
    expected = list(range(1, len(counts) + 1))
    return [] if counts == expected else [f"execution counts are {counts}, expected {expected}"]


def rule_outputs_can_be_published(notebook: NotebookNode) -> list[str]:
    """No stderr, no exception outside its tag, no warning, no path of somebody's machine."""
    return faults(notebook)


def rule_no_widget_state(notebook: NotebookNode) -> list[str]:
    """No model id of a live widget: it means nothing to anybody else."""
    found = ["metadata.widgets is saved"] if "widgets" in notebook.metadata else []
    for where, cell in numbered(code_cells(notebook)):
        if any(LIVE_WIDGET in output.get("data", {}) for output in cell.outputs):
            found.append(f"{where} saves a live widget; `make outputs` strips it")
    return found


def rule_no_paths_in_sources(notebook: NotebookNode) -> list[str]:
    """A lecture opens nothing by a path that only its author has."""
    return [
        f"{where} names the path {path}"
        for where, cell in numbered(notebook.cells)
        for path in paths_in(cell.source)
    ]


def rule_compared_outputs_hold_everywhere(notebook: NotebookNode) -> list[str]:
    """No timing, version or memory address in an output that another machine has to repeat."""
    found = []
    for where, cell in numbered(code_cells(notebook)):
        if NOT_COMPARED in tags(cell):
            continue
        for output in cell.outputs:
            # HTML is a card or a quiz: its sentences may speak of minutes and seconds.
            plain = [output.text] if output.output_type == "stream" else []
            for text in plain or [t for t in texts(output) if not t.startswith("<")]:
                for pattern in (_TIMING, _VERSION, _ADDRESS):
                    # A traceback is coloured, and a colour may end in digits before a word.
                    hits = pattern.findall(_COLOUR.sub("", text))
                    found += [f"{where} prints {hit}" for hit in hits]
    return found


def rule_size(notebook: NotebookNode) -> list[str]:
    """A notebook opens quickly, and a repository page still shows it."""
    size = len(nbformat.writes(notebook).encode())
    return [f"{size} bytes, the cap is {MAX_BYTES}"] if size > MAX_BYTES else []


# The rules: sources.


def _lines(cell: NotebookNode) -> int:
    return sum(1 for line in cell.source.splitlines() if line.strip())


def rule_cells_fit_the_screen(notebook: NotebookNode) -> list[str]:
    """One idea to a cell: setup at most 10 lines, others at most 15, half of them at most 8."""
    cells = code_cells(notebook)
    found = [
        f"{where} has {_lines(cell)} lines, at most {most}"
        for number, (where, cell) in enumerate(numbered(cells))
        if _lines(cell) > (most := MAX_CELL_LINES if number else MAX_SETUP_LINES)
    ]
    median = statistics.median([_lines(cell) for cell in cells] or [0])
    if median > MAX_MEDIAN_LINES:
        found.append(f"the median code cell has {median} lines, at most {MAX_MEDIAN_LINES}")
    return found


def rule_no_magics(notebook: NotebookNode) -> list[str]:
    """No %magic and no !shell: a lecture installs nothing and is plain Python."""
    return [
        f"{where} has the line {line.strip()}"
        for where, cell in numbered(code_cells(notebook))
        for line in cell.source.splitlines()
        if re.match(r"\s*[%!]", line)
    ]


def rule_no_trailing_semicolon(notebook: NotebookNode) -> list[str]:
    """A figure goes through show(); nothing has to be silenced."""
    return [
        f"{where} ends with a semicolon"
        for where, cell in numbered(code_cells(notebook))
        if cell.source.rstrip().endswith(";")
    ]


def rule_no_forbidden_calls(notebook: NotebookNode) -> list[str]:
    """interact() leaks figures; clear_output() makes what is seen depend on timing."""
    return [
        f"{where} calls {name}"
        for where, cell in numbered(code_cells(notebook))
        for name in called(cell)
        if name in FORBIDDEN_CALLS
    ]


def rule_imports_by_name(notebook: NotebookNode) -> list[str]:
    """A reader sees where every name comes from; no pyplot, no network."""
    found = []
    for where, cell in numbered(code_cells(notebook)):
        for name in imported(cell):
            if name.endswith(".*"):
                found.append(f"{where} imports everything from {name[:-2]}")
            if name.split(".")[0] in NETWORK_MODULES or "pyplot" in name:
                found.append(f"{where} imports {name}")
    return found


def rule_ignored_outputs_say_why(notebook: NotebookNode) -> list[str]:
    """An output that nobody compares has its reason in the cell."""
    return [
        f"{where} is tagged {NOT_COMPARED} and has no line '{WHY_NOT_COMPARED}…'"
        for where, cell in numbered(code_cells(notebook))
        if NOT_COMPARED in tags(cell)
        and not any(
            line.startswith(WHY_NOT_COMPARED) and len(line) > len(WHY_NOT_COMPARED) + 10
            for line in cell.source.splitlines()
        )
    ]


def rule_slide_types(notebook: NotebookNode) -> list[str]:
    """The same file presents, so every cell has its place among the slides."""
    return [
        f"{where} has no slide type of {sorted(SLIDE_TYPES)}"
        for where, cell in numbered(notebook.cells)
        if cell.metadata.get("slideshow", {}).get("slide_type") not in SLIDE_TYPES
    ]


def rule_images_have_words(notebook: NotebookNode) -> list[str]:
    """Every image in prose has alternative text."""
    found = []
    for where, cell in numbered(markdown_cells(notebook)):
        found += [f"{where}: image without words" for _ in re.findall(r"!\[\s*\]", cell.source)]
        for image in re.findall(r"<img\b[^>]*>", cell.source):
            if not re.search(r"\balt\s*=\s*[\"'][^\"']*\w", image):
                found.append(f"{where}: {image}")
    return found


def rule_pictures_have_alternative_text(notebook: NotebookNode) -> list[str]:
    """Every stored picture carries its words where nbconvert and others look for them."""
    return [
        f"{where} stores a picture without alternative text; `make outputs` writes it"
        for where, cell in numbered(code_cells(notebook))
        for output in cell.outputs
        for kind in output.get("data", {})
        if kind.startswith("image/") and len(output.metadata.get(kind, {}).get("alt", "")) < 20
    ]


def rule_figures_have_words(notebook: NotebookNode) -> list[str]:
    """Every picture in an output has a sentence beside it, more than "<Figure size 800x400>"."""
    return [
        f"{where} shows a picture without words"
        for where, cell in numbered(code_cells(notebook))
        for output in cell.outputs
        if any(kind.startswith("image/") for kind in output.get("data", {}))
        and not re.match(r"[^<].{20}", output.data.get("text/plain", ""), re.S)
    ]

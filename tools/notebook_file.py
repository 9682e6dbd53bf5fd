"""A notebook file as plain data, and sentences for what can be wrong with one.

Nothing is executed: a notebook is JSON.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.setup.lab import find_lecture

# The lectures stand beside the package: in a checkout, and in an editable installation of one.
LECTURES = Path(__file__).resolve().parents[1] / "notebooks"

# The heading of a folded solution: difficulty, minutes.
SOLUTION = re.compile(r"<summary>Solution \((\w+), (\d+) min\)</summary>")
# What a cell that is no Python ends the parser with; before Python 3.12 a deep one with the last.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
# Lines that IPython understands and Python does not: %magic, %%magic, !command.
_MAGIC = re.compile(r"^(\s*)[%!].*$", re.MULTILINE)


class NotebookFileError(ValueError):
    """A file that is no notebook, or a notebook that cannot be used; the message says why."""


@dataclass(frozen=True)
class Cell:
    """One cell of a notebook.

    Attributes:
        place: its place in the notebook, from 0.
        kind: ``"markdown"``, ``"code"`` or ``"raw"``.
        id: its identifier, empty where the notebook has none.
        source: its text.
        slide_type: what the slides make of it, ``"-"`` where nothing is said.
        tags: its tags.
    """

    place: int
    kind: str
    id: str
    source: str
    slide_type: str
    tags: tuple[str, ...]

    @property
    def name(self) -> str:
        r"""How a message calls the cell: its number, counted from 1, and its first line.

        >>> Cell(4, "code", "", "x = 1\ny = 2", "-", ()).name
        "cell 5 ('x = 1')"
        """
        first = self.source.strip().partition("\n")[0]
        return f"cell {self.place + 1} ({first[:60]!r})"


def read_cells(path: str | Path) -> tuple[Cell, ...]:
    """Read the cells of a notebook.

    Raises:
        NotebookFileError: for what is no file, cannot be read or is no notebook of format 4.

    >>> cells = read_cells(LECTURES / "01_scaling.ipynb")
    >>> cells[0].id, cells[0].kind, cells[0].slide_type
    ('title', 'markdown', 'slide')
    """
    path = Path(path)
    if not path.is_file():  # a pipe, or a link to a device, would never end
        raise NotebookFileError(f"there is no file {path}")
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return tuple(_cell(place, raw) for place, raw in enumerate(cells))
    except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        why = f"{type(error).__name__}: {error}"
        raise NotebookFileError(f"{path} is no notebook of format 4 ({why})") from None


def _cell(place: int, raw: dict[str, Any]) -> Cell:
    """Turn what the JSON holds into a cell; what a program left out gets its default."""
    metadata = raw.get("metadata", {})
    return Cell(
        place=place,
        kind=raw["cell_type"],
        id=raw.get("id", ""),
        source="".join(raw["source"]),
        slide_type=metadata.get("slideshow", {}).get("slide_type") or "-",
        tags=tuple(metadata.get("tags", ())),
    )


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    r"""Yield the calls in a code cell with the called name's last part, in order.

    Lines for IPython alone are passed over; a cell that is no Python holds no calls.

    >>> [name for name, _ in calls("%time\nviz.explore_softmax().set(x=f(1))")]
    ['explore_softmax', 'set', 'f']
    """
    try:
        tree = ast.parse(_MAGIC.sub(r"\1pass", source))
    except UNREADABLE:
        return
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(found, key=lambda node: (node.func.end_lineno, node.func.end_col_offset)):
        if isinstance(call.func, ast.Name):
            yield call.func.id, call
        elif isinstance(call.func, ast.Attribute):
            yield call.func.attr, call


def lecture_file(name: str) -> Path:
    """The notebook of a lecture: by its number, by its name, or as a path.

    >>> lecture_file("4").name, lecture_file("04_positions").name
    ('04_positions.ipynb', '04_positions.ipynb')
    """
    if name.endswith(".ipynb") and Path(name).is_file():
        return Path(name)
    return LECTURES / f"{find_lecture(Path(name).name).stem}.ipynb"

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

from tools.setup import lab
from tools.setup.place import CommandError

# The lectures stand beside the package: in a checkout, and in an editable installation of one.
LECTURES = Path(__file__).resolve().parents[1] / "notebooks"

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
        NotebookFileError: for a file that is not there, is not text, is broken JSON or no notebook.

    >>> cells = read_cells(LECTURES / "01_scaling.ipynb")
    >>> cells[0].id, cells[0].kind, cells[0].slide_type
    ('title', 'markdown', 'slide')
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotebookFileError(f"there must be a notebook at {path}, found no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotebookFileError(f"{path} cannot be read: {error}") from None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NotebookFileError(
            f"{path} must be JSON, as Jupyter writes it; it breaks at {where}: {error.msg}"
        ) from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        raise NotebookFileError(f"{path} must be JSON, as Jupyter writes it: {error}") from None
    return tuple(_cell(path, place, each) for place, each in enumerate(_raw_cells(path, content)))


def _raw_cells(path: Path, content: Any) -> list[Any]:
    found = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(found, list):
        raise NotebookFileError(
            f"{path} must be a notebook of format 4, with a list of cells; it has none"
        )
    return found


def _cell(path: Path, place: int, raw: Any) -> Cell:
    """Turn what the JSON holds into a cell; what a program left out gets its default."""
    source = raw.get("source") if isinstance(raw, dict) else None
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise NotebookFileError(
            f"every cell must have a source; cell {place + 1} of {path} has none"
        )
    metadata = _as_dict(raw.get("metadata"))
    slideshow = _as_dict(metadata.get("slideshow"))
    tags = metadata.get("tags")
    return Cell(
        place=place,
        kind=str(raw.get("cell_type", "raw")),
        id=str(raw.get("id", "")),
        source=source,
        slide_type=str(slideshow.get("slide_type") or "-"),
        tags=tuple(map(str, tags)) if isinstance(tags, list) else (),
    )


def _as_dict(value: Any) -> dict[str, Any]:
    """The value, or nothing where a program wrote something else."""
    return value if isinstance(value, dict) else {}


def calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    r"""Yield the calls in a code cell with the called name's last part, in order.

    Lines for IPython alone are passed over; a cell that is no Python holds no calls.

    >>> [name for name, _ in calls("%time\nviz.explore_softmax().set(x=f(1))")]
    ['explore_softmax', 'set', 'f']
    """
    try:
        tree = ast.parse(_MAGIC.sub(r"\1pass", source))
    except (SyntaxError, ValueError):
        return
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for call in sorted(found, key=lambda node: (node.func.end_lineno, node.func.end_col_offset)):
        if isinstance(call.func, ast.Name):
            yield call.func.id, call
        elif isinstance(call.func, ast.Attribute):
            yield call.func.attr, call


def find_lecture(name: str) -> Path:
    """The file of a lecture: by its number, by its name, or as a path.

    Raises:
        NotebookFileError: for a lecture that is not there; the message lists those that are.

    >>> find_lecture("4").name, find_lecture("04_positions").name
    ('04_positions.ipynb', '04_positions.ipynb')
    """
    if name.endswith(".ipynb") and Path(name).is_file():
        return Path(name)
    try:
        return LECTURES / f"{lab.find_lecture(Path(name).name).stem}.ipynb"
    except CommandError as error:
        raise NotebookFileError(error) from None

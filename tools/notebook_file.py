"""A notebook file as plain data, and sentences for what can be wrong with one.

Only the standard library is needed, and nothing is executed: a notebook is JSON.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cell", "NotebookFileError", "calls", "find_lecture", "known_lectures", "read_cells"]

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


def read_cells(path: str | Path, *, ids: bool = True) -> tuple[Cell, ...]:
    """Read the cells of a notebook.

    Args:
        path: the file.
        ids: whether every cell must have an identifier, and one of its own.

    Raises:
        NotebookFileError: for a file that is not there, is not text, is broken JSON or no
            notebook, and for a cell without an identifier or with another's.

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
    except RecursionError:
        raise NotebookFileError(
            f"{path} must be JSON, as Jupyter writes it; it is nested too deeply to be read"
        ) from None
    cells = tuple(_cell(path, place, each) for place, each in enumerate(_raw_cells(path, content)))
    if ids:
        _check_ids(path, cells)
    return cells


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


def _check_ids(path: Path, cells: tuple[Cell, ...]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        if not cell.id:
            raise NotebookFileError(f"every cell must have an id; {cell.name} of {path} has none")
        if cell.id in seen:
            raise NotebookFileError(
                f"cell ids must differ; {seen[cell.id].name} and {cell.name} of {path} "
                f"are both {cell.id!r}"
            )
        seen[cell.id] = cell


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


def known_lectures(folder: Path = LECTURES) -> dict[str, Path]:
    """The lectures of the course by their number.

    Raises:
        NotebookFileError: where there are none beside the package.

    >>> known_lectures()["04"].name
    '04_positions.ipynb'
    """
    found = {path.name[:2]: path for path in sorted(folder.glob("[0-9][0-9]_*.ipynb"))}
    if not found:
        raise NotebookFileError(f"the lectures must stand in {folder}, found none there")
    return found


def find_lecture(name: str, folder: Path = LECTURES) -> Path:
    """The file of a lecture: by its number, by the start of its name, or as a path.

    Raises:
        NotebookFileError: for a lecture that is not there; the message lists those that are.

    >>> find_lecture("4").name, find_lecture("04_pos").name
    ('04_positions.ipynb', '04_positions.ipynb')
    """
    if name.endswith(".ipynb") and Path(name).is_file():
        return Path(name)
    known = known_lectures(folder)
    start = name.zfill(2) if name.isdecimal() else Path(name).name
    found = [path for path in known.values() if start and path.name.startswith(start)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.stem for path in known.values())
    raise NotebookFileError(f"the lecture must be one of {names}; got {name!r}")

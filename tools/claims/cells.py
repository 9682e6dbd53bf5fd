"""Run some cells of a lecture, with another seed and with other values of what they name."""

from __future__ import annotations

import ast
import contextlib
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tools.notebook_file import read_cells

Changes = Mapping[str, Callable[[Any], Any]]
CHANGED = "__changed__"  # what the cells call to have a value replaced


class CellError(ValueError):
    """The cells cannot be run as asked; the message says why."""


def run_cells(
    notebook: Path,
    ids: Sequence[str],
    changes: Changes | None = None,
    edits: Mapping[str, str] | None = None,
) -> SimpleNamespace:
    """Execute these cells in order, in a namespace of their own; return what they leave.

    Args:
        notebook: the lecture.
        ids: of the cells.
        changes: for a name that the cells assign, what its value becomes, at each assignment.
        edits: passages of the cells, each in them exactly once, and what stands there instead.

    Raises:
        CellError: for an id that is gone, a name that is not assigned, a passage that is not there
            once, and a cell that fails.
    """
    changes = changes or {}
    sources = edited(sources_of(notebook, ids), edits or {}, notebook.stem)
    trees = {name: ast.parse(source) for name, source in sources.items()}
    left = {*changes}.difference(*(with_changes(tree, changes) for tree in trees.values()))
    if left:
        raise CellError(f"{notebook.stem}: no cell of {list(ids)} assigns {sorted(left)}")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    namespace[CHANGED] = lambda name, value: changes[name](value)
    with contextlib.redirect_stdout(io.StringIO()):
        for name, tree in trees.items():
            try:
                exec(compile(tree, f"{notebook.stem}, cell {name}", "exec"), namespace)
            except Exception as error:
                raise CellError(f"{notebook.stem}, cell {name}: {error!r}") from error
    return SimpleNamespace(**namespace)


def sources_of(notebook: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return the sources of these cells."""
    known = {cell.id: cell.source for cell in read_cells(notebook) if cell.kind == "code"}
    if gone := [name for name in ids if name not in known]:
        raise CellError(f"{notebook.stem} has no code cell {gone}")
    return {name: known[name] for name in ids}


def edited(sources: dict[str, str], edits: Mapping[str, str], stem: str) -> dict[str, str]:
    """Replace passages of the sources."""
    for old, new in edits.items():
        found = sum(source.count(old) for source in sources.values())
        if found != 1:
            raise CellError(f"{stem}: {old!r} is {found} times in {list(sources)}, not once")
        sources = {name: source.replace(old, new) for name, source in sources.items()}
    return sources


def with_changes(tree: ast.Module, changes: Changes) -> set[str]:
    """Add a statement after each assignment to a name that is changed; return those names.

    What a cell only shows is left out: drawing takes time, and changes no number.
    """
    body, found = [], set()
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("show("):
            continue
        body.append(statement)
        if isinstance(statement, ast.Assign):
            names = {
                node.id
                for target in statement.targets
                for node in ast.walk(target)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            for name in sorted(names & {*changes}):
                body += ast.parse(f"{name} = {CHANGED}({name!r}, {name})").body
                found.add(name)
    tree.body = body
    return found

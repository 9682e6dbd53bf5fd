"""``show_source``: the library's own code in a lecture, read when the cell runs."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["Source", "show_source"]


class Source:
    """Python source that a notebook shows highlighted, by its theme, and a terminal as text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/markdown": f"```python\n{self.text}\n```", "text/plain": self.text}


def show_source(*functions: Callable[..., Any], docstring: bool = False) -> Source:
    """The current source of functions or classes, to be the last line of a cell.

    Args:
        functions: what to show, in this order.
        docstring: whether docstrings are shown; without them the code fits a slide.

    Raises:
        ValueError: when called with nothing.
        TypeError: for something whose Python source cannot be read, such as a builtin.

    >>> from course_utils.teaching.suspects import named
    >>> print(show_source(named))
    # course_utils/teaching/suspects.py, named
    def named(models: dict[str, Suspect], kind: str) -> str:
        return next(name for name, model in models.items() if model.kind == kind)
    """
    if not functions:
        raise ValueError("show_source needs at least one function, got none")
    return Source("\n\n\n".join(_one_source(function, docstring) for function in functions))


def _one_source(function: Callable[..., Any], docstring: bool) -> str:
    function = inspect.unwrap(function)
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (TypeError, OSError) as error:
        raise TypeError(f"no Python source to show for {function!r}: {error}") from error
    if not docstring:
        text = _without_docstrings(text)
    return f"# {_home(function)}, {function.__qualname__}\n{text.rstrip()}"


def _home(function: Callable[..., Any]) -> str:
    """Where the code lives, from the package down; the same on every machine."""
    if function.__module__ == "__main__":
        return "this notebook"
    path = Path(function.__module__.replace(".", "/"))
    if Path(inspect.getfile(function)).stem == "__init__":
        return f"{path.as_posix()}/__init__.py"
    return f"{path.as_posix()}.py"


def _without_docstrings(text: str) -> str:
    """Drop every docstring's lines; a body that was only a docstring becomes ``...``."""
    lines: list[str | None] = list(text.splitlines())
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if ast.get_docstring(node, clean=False) is None:
            continue
        first = node.body[0]
        assert first.end_lineno is not None
        if first.lineno == node.lineno or (
            len(node.body) > 1 and node.body[1].lineno == first.end_lineno
        ):
            continue  # the line holds code as well
        lines[first.lineno - 1 : first.end_lineno] = [None] * (first.end_lineno - first.lineno + 1)
        if len(node.body) == 1:
            lines[first.lineno - 1] = " " * first.col_offset + "..."
        elif not (lines[first.end_lineno] or "").strip():
            lines[first.end_lineno] = None
    return "\n".join(line for line in lines if line is not None)

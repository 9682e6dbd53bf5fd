"""``show_source``: the library's own code in a lecture, read when the cell runs."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Source:
    """Python source that a notebook shows highlighted, by its theme, and a terminal as text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/markdown": f"```python\n{self.text}\n```", "text/plain": self.text}


def show_source(*functions: Callable[..., Any] | str, docstring: bool = False) -> Source:
    """The current source of functions or classes, to be the last line of a cell.

    Args:
        functions: what to show, in this order. A dotted name, such as
            ``"course_utils.masks.causal_mask"``, is looked up in the file of its module, which is
            not imported: it may need a package that is not here.
        docstring: whether docstrings are shown; without them the code fits a slide.

    Raises: ValueError for a name that no module defines, TypeError for what has no Python source.

    >>> from course_utils.models.minilm_or_random import reading_encoder
    >>> print(show_source(reading_encoder))
    # course_utils/models/minilm_or_random.py, reading_encoder
    def reading_encoder() -> Encoder:
        return real.encoder if (real := _minilm()) else _random()
    """
    return Source("\n\n\n".join(_one_source(function, docstring) for function in functions))


def _one_source(function: Callable[..., Any] | str, docstring: bool) -> str:
    place, text = _by_name(function) if isinstance(function, str) else _by_itself(function)
    if not docstring:
        text = _without_docstrings(text)
    return f"# {place}\n{text.rstrip()}"


def _by_itself(function: Callable[..., Any]) -> tuple[str, str]:
    """Return where a function or class lives, and its source."""
    unwrapped: Any = inspect.unwrap(function)
    try:
        text = textwrap.dedent(inspect.getsource(unwrapped))
    except (TypeError, OSError) as error:
        raise TypeError(f"no Python source to show for {unwrapped!r}: {error}") from error
    return f"{_home(unwrapped)}, {unwrapped.__qualname__}", text


def _by_name(dotted: str) -> tuple[str, str]:
    """Return where a function or class lives, and its source; its module is not imported."""
    module, _, name = dotted.rpartition(".")
    rule = f"a name to show must be that of a function or class in a module, got {dotted!r}"
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        raise ValueError(f"{rule}: {error}") from None
    if spec is None or not spec.has_location or spec.origin is None:
        raise ValueError(f"{rule}: there is no module {module!r}")
    lines = Path(spec.origin).read_text(encoding="utf-8").splitlines()
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            place = f"{module.replace('.', '/')}.py, {name}"
            return place, "\n".join(lines[first - 1 : node.end_lineno])
    raise ValueError(f"{rule}: {module} defines no {name!r}")


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

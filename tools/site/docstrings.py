"""A Sphinx extension: docstrings as the course writes them, made fit for reStructuredText.

They are written to be read in a terminal, and use signs that mean something else as markup.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from sphinx.application import Sphinx

from tools.site.api import escaped

LONG = re.compile(r"~(?:\w+\.)*(\w+)")


def _escape(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    example = False
    for index, line in enumerate(lines):
        # An example runs to the next empty line; what it prints is no text.
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example:
            lines[index] = escaped(line)


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: Python says of each that it is number so and so."""
    return True if type(obj).__name__ == "_tuplegetter" else None


def _shorten(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str] | None:
    """Shorten names where Sphinx cannot: a default such as <factory> is no Python to it.

    It then prints the mark of a name to be shortened, and the whole name after it.
    """
    try:
        ast.parse(f"def f{signature or '()'}: ...")
    except SyntaxError:
        return LONG.sub(r"\1", signature), LONG.sub(r"\1", returned or "")
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Escape before napoleon, which writes markup of its own, reads the sections."""
    app.connect("autodoc-process-docstring", _escape, priority=100)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-signature", _shorten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

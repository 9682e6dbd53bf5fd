"""The code of an answer as text: where it is, and which names from elsewhere it needs."""

from __future__ import annotations

import ast
import builtins
import inspect
import io
import linecache
import re
import symtable
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any


def lines_of(text: str) -> list[str]:
    """The lines as Python counts them, with their ends as they are."""
    return io.StringIO(text, newline="").readlines()


def find(text: str, name: str, line: int | None = None) -> slice | None:
    r"""The lines that define ``name`` at the left edge, decorators included.

    Of several definitions it is the last, or the one that ``line`` belongs to.

    >>> find("x = 1\n@cache\ndef f(): ...\n", "f")
    slice(1, 3, None)
    """
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            last = node.end_lineno or first
            if line is None or first <= line <= last:
                return slice(first - 1, last)
    return None


def code_of(text: str, name: str) -> str:
    """The code that defines ``name`` in the file; empty if there is none."""
    place = find(text, name)
    return "".join(lines_of(text)[place]) if place else ""


def with_code(text: str, name: str, source: str) -> str:
    """The file with another definition of ``name``, which it has."""
    lines = lines_of(text)
    lines[find(text, name)] = [source]  # type: ignore[index]
    return "".join(lines)


def functions_of(answer: Any) -> list[FunctionType]:
    """The function itself, or the methods that a class defines; below their decorators.

    A kernel of Triton's has its function as ``fn``.
    """
    members = vars(answer).values() if inspect.isclass(answer) else (answer,)
    unwrapped = (_plain(inspect.unwrap(each)) for each in members if callable(each))
    return [each for each in unwrapped if inspect.isfunction(each)]


def _plain(value: Any) -> Any:
    return getattr(value, "fn", value)


def is_without_text(answer: Any) -> bool:
    """Whether its code was run where Python keeps no text of it: by ``%%time``, or by ``exec``."""
    files = [each.__code__.co_filename for each in functions_of(answer)]
    return bool(files) and not any(map(linecache.getlines, files))


def source_of(answer: Any, part: str) -> str:
    """The code of a function or class, as in its cell, defining ``part``; empty if there is none.

    ``inspect.getsource`` finds no class of a notebook, so a class is found by its methods.
    """
    name = getattr(answer, "__name__", "")
    for function in functions_of(answer):
        code = function.__code__
        text = "".join(linecache.getlines(code.co_filename))
        if place := find(text, name, code.co_firstlineno):
            source = "".join(lines_of(text)[place]).rstrip() + "\n"
            return re.sub(rf"^(def|class)\s+{name}\b", rf"\1 {part}", source, count=1, flags=re.M)
    return ""


@dataclass
class Brought:
    """What a part takes into the file.

    Attributes:
        definitions: name → code, the part's own last, each after what it uses.
        imports: the lines that import what comes from a module.
        missing: what cannot be brought, such as a number: name → what uses it.
    """

    definitions: dict[str, str] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def bring(answer: Any, part: str, text: str) -> Brought:
    """Find the code of an answer, and of what it uses from the notebook.

    Args:
        answer: a function or a class that was written in a cell.
        part: the name under which it is kept.
        text: the file; what it defines need not be brought, unless the notebook has its own.
    """
    known, found, seen = _names_of(text) | {*dir(builtins)}, Brought(), set()

    def add(value: Any, name: str) -> None:
        seen.add(name)
        source, around = source_of(value, name), functions_of(value)[0].__globals__
        for used in _names_used(source):
            inner = around.get(used)
            if used in seen:
                continue
            if _is_of_the_notebook(inner) and source_of(inner, used):
                add(inner, used)
            elif used not in known and (line := import_line(used, inner)):
                found.imports += [line] if line not in found.imports else []
            elif used not in known:
                found.missing[used] = name
        found.definitions[name] = source

    add(answer, part)
    return found


def _is_of_the_notebook(value: Any) -> bool:
    return getattr(_plain(value), "__module__", None) in (None, "__main__")


def _names_of(text: str) -> set[str]:
    """The names that the file defines or imports."""
    bound = symtable.symtable(text, "my_gpt.py", "exec").get_symbols()
    return {each.get_name() for each in bound if each.is_assigned() or each.is_imported()}


def _names_used(source: str) -> list[str]:
    """The names that code takes from around it.

    >>> _names_used("def f(x): return g(h(len(x)))")
    ['g', 'h', 'len']
    """
    used, tables = set(), [symtable.symtable(source, "my_gpt.py", "exec")]
    for table in tables:
        tables.extend(table.get_children())
        symbols = (each for each in table.get_symbols() if each.is_global())
        used |= {each.get_name() for each in symbols if each.is_referenced()}
    return sorted(used)


def import_line(name: str, value: Any) -> str:
    """The line that imports what the notebook calls ``name``; empty if no module has it.

    >>> import math, numpy as np
    >>> import_line("np", np), import_line("root", math.sqrt), import_line("width", 64)
    ('import numpy as np', 'from math import sqrt as root', '')
    """
    if inspect.ismodule(value):
        return f"import {value.__name__}" + _renamed(value.__name__, name)
    home = sys.modules.get(getattr(value, "__module__", None) or "")
    if home is None or home.__name__ in ("__main__", "my_gpt"):
        return ""
    for there in (name, getattr(value, "__name__", name)):
        if getattr(home, there, None) is value:
            return f"from {home.__name__} import {there}" + _renamed(there, name)
    return ""


def _renamed(there: str, name: str) -> str:
    return "" if there == name else f" as {name}"


def with_imports(text: str, lines: Iterable[str]) -> str:
    r"""The file with more imports, below those at its top.

    >>> with_imports('"Mine."\nimport torch\nx = 1\n', ["import math"])
    '"Mine."\nimport torch\nimport math\nx = 1\n'
    """
    place = 0
    for node in ast.parse(text).body:
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not (is_docstring or isinstance(node, ast.Import | ast.ImportFrom)):
            break
        place = node.end_lineno or place
    before = lines_of(text)
    return "".join([*before[:place], *(f"{line}\n" for line in lines), *before[place:]])

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
from collections.abc import Mapping
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


def functions_of(answer: Any) -> list[FunctionType]:
    """The function itself, or the methods that a class defines; below their decorators."""
    members = vars(answer).values() if inspect.isclass(answer) else (answer,)
    unwrapped = (inspect.unwrap(each) for each in members if callable(each))
    return [each for each in unwrapped if inspect.isfunction(each)]


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


def unknown_names(source: str, text: str) -> list[str]:
    """The names that ``source`` uses and that neither Python nor the file ``text`` defines.

    >>> unknown_names("def f(x): return g(h(len(x)))", "def g(x): return x")
    ['h']
    """
    bound = symtable.symtable(text, "my_gpt.py", "exec").get_symbols()
    known = {each.get_name() for each in bound if each.is_assigned() or each.is_imported()}
    used, tables = set(), [symtable.symtable(source, "my_gpt.py", "exec")]
    for table in tables:
        tables.extend(table.get_children())
        symbols = (each for each in table.get_symbols() if each.is_global())
        used |= {each.get_name() for each in symbols if each.is_referenced()}
    return sorted(used - known - {*dir(builtins)})


def how_to_bring(name: str, names: Mapping[str, Any]) -> str:
    """What to write inside a part so that it has ``name``, which it takes from a notebook.

    >>> import math, numpy as np
    >>> how_to_bring("np", {"np": np}), how_to_bring("sqrt", {"sqrt": math.sqrt})
    ('`import numpy as np`', '`from math import sqrt`')
    >>> how_to_bring("width", {"width": 64})
    'the definition of `width`'
    """
    value = names.get(name)
    if inspect.ismodule(value):
        renamed = "" if value.__name__ == name else f" as {name}"
        return f"`import {value.__name__}{renamed}`"
    home = sys.modules.get(getattr(value, "__module__", None) or "")
    if home and home.__name__ != "__main__" and getattr(home, name, None) is value:
        return f"`from {home.__name__} import {name}`"
    return f"the definition of `{name}`"

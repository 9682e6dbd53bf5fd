"""Stubs and published solutions of a lecture, and the functions or classes they define."""

import ast
import linecache
import math
import re
from functools import cache

import torch

from tools.notebook_file import SOLUTION, Cell, lecture_file, read_cells

_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


# A solution that uses what other cells of its lecture define.
_USES = {
    "MyGPT": ("setup", "norm", "feedforward", "collect", "block-class"),
    "causal_flash": ("setup-triton",),
}


def cells_before(stem: str, function_name: str) -> list[str]:
    """The cells that a reader has run before they solve an exercise, as far as it uses them."""
    sources = {cell.id: cell.source for cell in _cells(stem)}
    return [sources[name] for name in _USES.get(function_name, ())]


def stub(stem: str, function_name: str) -> Cell:
    """Return the cell tagged `exercise` that defines `function_name`."""
    (found,) = [
        cell
        for cell in _cells(stem)
        if "exercise" in cell.tags and function_name in _functions(cell.source)
    ]
    return found


def solution(stem: str, function_name: str) -> tuple[str, str]:
    """Return the folded code that defines `function_name`, and the heading that unfolds it."""
    (found,) = [
        (block, heading[0])
        for cell in _cells(stem)
        if (heading := SOLUTION.search(cell.source))
        for block in _BLOCK.findall(cell.source)
        if function_name in _functions(block)
    ]
    return found


def defined(stem: str, source: str, function_name: str):
    """Run `source` as its lecture would, with what lectures import, and return what it defines."""
    names = {"torch": torch, "math": math, "nn": torch.nn, "F": torch.nn.functional}
    names["__name__"] = "__main__"
    for cell in (*cells_before(stem, function_name), source):
        name = f"<{function_name}, {hash(cell)}>"
        linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
        exec(compile(cell, name, "exec"), names)
    return names[function_name]


@cache
def _cells(stem: str) -> tuple[Cell, ...]:
    return read_cells(lecture_file(stem))


def _functions(source: str) -> set[str]:
    defining = ast.FunctionDef | ast.ClassDef
    return {node.name for node in ast.parse(source).body if isinstance(node, defining)}

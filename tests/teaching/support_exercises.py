"""The published solutions: the folded code of a lecture, and the function it defines."""

import ast
import re
from collections.abc import Callable
from pathlib import Path

import nbformat
import torch

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"

_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def solution_cell(notebook_path: Path, function_name: str) -> str:
    """Return the folded cell under a Solution heading whose code defines `function_name`."""
    notebook = nbformat.read(notebook_path, as_version=4)
    found = [
        cell.source
        for cell in notebook.cells
        if cell.cell_type == "markdown" and "<summary>Solution" in cell.source
        for block in _BLOCK.findall(cell.source)
        if function_name in _functions(block)
    ]
    if len(found) != 1:
        raise LookupError(
            f"{notebook_path.name} must hold one solution that defines {function_name}, "
            f"found {len(found)}"
        )
    return found[0]


def solution_source(notebook_path: Path, function_name: str) -> str:
    """Return the code block of the solution that defines `function_name`."""
    blocks = _BLOCK.findall(solution_cell(notebook_path, function_name))
    return next(block for block in blocks if function_name in _functions(block))


def stub_source(notebook_path: Path, function_name: str) -> str:
    """Return the cell tagged `exercise` that defines `function_name`."""
    notebook = nbformat.read(notebook_path, as_version=4)
    found = [
        cell.source
        for cell in notebook.cells
        if "exercise" in cell.metadata.get("tags", []) and function_name in _functions(cell.source)
    ]
    if len(found) != 1:
        raise LookupError(
            f"{notebook_path.name} must hold one stub that defines {function_name}, "
            f"found {len(found)}"
        )
    return found[0]


def defined(source: str, function_name: str) -> Callable:
    """Run `source` as a lecture would, with torch and math at hand, and return the function."""
    import math

    names = {"torch": torch, "math": math}
    exec(compile(source, f"<{function_name}>", "exec"), names)
    return names[function_name]


def _functions(source: str) -> set[str]:
    return {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}

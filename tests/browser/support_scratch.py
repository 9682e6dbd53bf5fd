"""Notebooks made for a test: what a lecture would not contain."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

from tools.editions.notebook_outputs import KERNEL


def write_notebook(path: Path, *sources: str) -> str:
    """Write a notebook with these code cells; return its name."""
    notebook = new_notebook(cells=[new_code_cell(source.strip()) for source in sources])
    notebook.metadata["kernelspec"] = dict(KERNEL)
    nbformat.write(notebook, path)
    return path.name

"""A copy made when the lectures' code was in `course_utils.lectures` runs, and says nothing."""

import re

import pytest

from tests.kernels.support_fresh import FreshPython
from tests.lectures.support_notebooks import NOTEBOOKS, read
from tools.editions.notebook_outputs import cleaned, code_cells, faults
from tools.editions.outputs import execute

NOW = re.compile(r"^( *from )lectures\b", re.MULTILINE)
OLD = r"\1course_utils.lectures"


def old_copy(path):
    """The lecture as it was before its code moved."""
    notebook = read(path)
    for cell in code_cells(notebook):
        cell.source = NOW.sub(OLD, cell.source)
    return notebook


def test_every_old_import_brings_what_the_new_one_brings():
    lines = {
        line.strip()
        for path in NOTEBOOKS
        for cell in code_cells(old_copy(path))
        for line in cell.source.splitlines()
        if "course_utils.lectures" in line
    }
    assert len(lines) > 2 * len(NOTEBOOKS)
    with FreshPython() as fresh:
        done = fresh("import warnings\nwarnings.simplefilter('error')\n" + "\n".join(sorted(lines)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_old_copy_gives_the_stored_outputs(path):
    done = cleaned(execute(old_copy(path), path.parent))
    assert not faults(done)
    stored = code_cells(read(path))
    for cell, known in zip(code_cells(done), stored, strict=True):
        if "nbval-ignore-output" not in cell.metadata.get("tags", ()):
            said, before = (
                [out.get("text") or out.get("data", {}).get("text/plain") for out in each.outputs]
                for each in (cell, known)
            )
            assert said == before, cell.id

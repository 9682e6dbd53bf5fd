"""Lecture 08 goes on where Triton is not installed, and says what would bring it."""

import pytest

from course_utils.lectures import COURSE
from tests.lectures.support_notebooks import NOTEBOOKS, read
from tools.editions.notebook_outputs import code_cells, faults
from tools.editions.outputs import execute

USERS = {lecture.stem for lecture in COURSE if "Triton" in dict(lecture.uses)}
USING = [path for path in NOTEBOOKS if path.stem in USERS]


@pytest.fixture
def hidden(monkeypatch, tmp_path):
    """Kernels started from here find no Triton: a module set to None counts as absent."""
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    hide = "import sys; sys.modules['triton'] = None\n"
    (startup / "00-hide.py").write_text(hide, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))


def printed(notebook, cell_id):
    [cell] = (cell for cell in code_cells(notebook) if cell.id == cell_id)
    return "".join(output.get("text", "") for output in cell.outputs)


def test_a_lecture_uses_triton():
    assert USING


@pytest.mark.parametrize("path", USING, ids=lambda path: path.stem)
def test_a_lecture_runs_without_triton_and_says_so(path, hidden):
    notebook = execute(read(path), path.parent)
    assert [fault for fault in faults(notebook) if "raises" in fault] == []
    agreeing = printed(notebook, "agree")
    assert "tiled, causal" in agreeing and "triton" not in agreeing
    assert "needs Triton; on Linux with x86-64" in printed(notebook, "compiled")
    shown = [cell for cell in code_cells(notebook) if cell.id == "triton-form"]
    assert "tl.dot" in shown[0].outputs[0]["data"]["text/plain"]

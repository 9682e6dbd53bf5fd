"""The kernel that runs a copy: limits, endless loops, kernels that end; and one real copy."""

import copy
import json
import os
import subprocess
import sys

import nbformat
import pytest

from tools.notebook_file import find_lecture
from tools.progress import kernel as progress_kernel
from tools.progress.__main__ import main
from tools.progress.kernel import CourseKernel
from tools.progress.lectures import Asked
from tools.progress.marks import Judged

# pyzmq on Windows says that asyncio's loop there needs a helper thread, and starts one.
pytestmark = pytest.mark.filterwarnings("ignore:Proactor event loop:RuntimeWarning")

# A check that needs no torch: it calls the answer and says what it gave.
CHECK = """
import sys, types
from course_utils.teaching.verdict import Verdict
module = types.ModuleType("course_utils.teaching.exercises_99")
module.check_it = lambda answer: Verdict(answer() == 42, True, f"You gave {answer()}.")
sys.modules[module.__name__] = module
"""
ASKED = Asked("It", "it", "exercises_99", "check_it")
STUBBORN = """
while True:
    try:
        while True:
            pass
    except KeyboardInterrupt:
        pass
"""


@pytest.fixture(scope="module")
def kernel():
    with CourseKernel(limit=60) as kernel:
        assert kernel.run(CHECK) == ""
        yield kernel


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = 42", ""),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("y = 1\ndef f(:\n    pass", "SyntaxError: invalid syntax (line 2)"),
        ("input('name?')", "StdinNotImplementedError: "),
        ("raise SystemExit", "SystemExit"),
        ("while True: pass", "stopped after 1 s."),
        (STUBBORN, "stopped after 1 s."),
        ("import os\nos._exit(1)", "its kernel ended, as after `exit()` or for lack of memory."),
    ],
    ids=["good", "error", "syntax", "input", "exit", "endless", "stubborn", "end"],
)
def test_what_stops_a_cell_is_said_and_what_ran_before_is_still_there(
    kernel, monkeypatch, source, said
):
    # What ends when it is interrupted has the time it needs as well.
    monkeypatch.setattr(progress_kernel, "GRACE_SECONDS", 0.5 if source == STUBBORN else 60)
    assert kernel.run("import builtins\nit = lambda: builtins.sum([40, 2])") == ""
    with monkeypatch.context() as patch:
        # Whatever ends has the time it needs on a busy machine.
        patch.setattr(kernel, "limit", 1 if "1 s" in said else 60)
        heard = kernel.run(source)
    assert heard.startswith(said) and bool(heard) == bool(said)
    assert kernel.judge(ASKED, "it") == Judged("passed", "You gave 42.")


@pytest.mark.parametrize(
    ("source", "judged"),
    [
        ("it = lambda: 41", Judged("not yet", "You gave 41.")),
        ("it = lambda: 'Ω\\n\"'", Judged("not yet", 'You gave Ω\n".')),
        ("del it", Judged("missing")),
        (
            "def it():\n    while True: pass",
            Judged("not yet", "The check called `it`: stopped after 1 s."),
        ),
        (
            "def it():\n    raise SystemExit('enough')",
            Judged("not yet", "The check called `it`: SystemExit: enough"),
        ),
    ],
    ids=["wrong", "text", "missing", "endless", "exit"],
)
def test_a_check_is_called_within_the_limit(kernel, monkeypatch, source, judged):
    assert kernel.run("it = lambda: 42") == ""
    assert kernel.run(source) == ""
    # Whatever ends has the time it needs on a busy machine.
    monkeypatch.setattr(kernel, "limit", 1 if "1 s" in judged.message else 60)
    assert kernel.judge(ASKED, "it") == judged


@pytest.mark.parametrize("command", ["progress", "rehearse"])
def test_what_is_said_goes_into_a_file_whatever_the_systems_encoding(command):
    said = subprocess.run(
        [sys.executable, "-m", f"course_utils.{command}", "√.ipynb"],
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        stdout=subprocess.PIPE,
        cwd=progress_kernel.COURSE,
    )
    assert said.returncode == 2 and "√.ipynb" in said.stdout.decode("utf-8")


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_limit_must_be_above_0(limit):
    with pytest.raises(ValueError, match=r"limit must be above 0 seconds, got "):
        CourseKernel(limit=limit)


def test_a_worked_copy_is_run_in_a_kernel_of_its_own(tmp_path, capfd):
    notebook = copy.deepcopy(nbformat.read(find_lecture("01"), as_version=4))
    answers = {
        "setup": "import torch",  # the rest of it is not used, and takes seconds to import
        "ex-1-stub": "import os\nos.system('echo noise')\n%matplotlib inline\n"
        "def score_variance(d, a, b):\n    return d * a * b",
        "ex-2-stub": "open('left.txt', 'w').close()\ndef unit_norm_scale(d_k):\n    return d_k",
        "quiz": 'QUIZ.with_answers("- - - - a")',
    }
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, cell.source)
    nbformat.write(notebook, tmp_path / "copy.ipynb")
    assert main([str(tmp_path / "copy.ipynb"), "--json"]) == 1
    (found,) = json.loads(capfd.readouterr().out)
    marks = [mark["state"] for mark in found["exercises"]]
    assert marks == ["passed", "not yet", "not started"]
    assert "d_k" in found["exercises"][1]["message"] and found["notes"] == []
    assert found["quiz"][:4] == ["not answered"] * 4 and found["quiz"][4] != "not answered"
    assert [path.name for path in tmp_path.iterdir()] == ["copy.ipynb"]

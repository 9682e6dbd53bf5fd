"""Progress of worked copies: what students do to a notebook, and what no copy may do."""

import copy
import json
import os
import re
import signal
import subprocess
import sys
import time

import nbformat
import pytest

from lectures import COURSE, find_lecture
from tests.teaching.support_exercises import solution
from tools.notebook_file import NotebookFileError, lecture_file, read_cells
from tools.progress import command, judge
from tools.progress.copies import _exercises, read_copy
from tools.progress.process import ROOT, Mark, Progress, examine

LECTURE = find_lecture("08")
EXERCISES = [*_exercises(LECTURE).values()]
NOTEBOOK = nbformat.read(lecture_file("08"), as_version=4)
QUIZ = LECTURE.module("exercises").QUIZ
RIGHT_LETTERS = " ".join("abcd"[q.options.index(q.answer)] for q in QUIZ.questions)


@pytest.fixture
def notebook():
    return copy.deepcopy(NOTEBOOK)


@pytest.fixture
def save(tmp_path):
    def write(notebook, name="copy.ipynb"):
        (tmp_path / name).write_text(json.dumps(notebook))
        return tmp_path / name

    return write


@pytest.fixture
def progress(save, monkeypatch):
    """What a copy has reached, judged in this process; one cell may take a minute."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell replaces it
    return lambda notebook, **more: judge.Run(read_copy(save(notebook)), 60).judge(**more)


@pytest.fixture
def states(progress):
    return lambda notebook: [mark["state"] for mark in progress(notebook)["exercises"]]


def cell(notebook, name):
    return next(each for each in notebook.cells if each.id == name)


def place(notebook, name):
    return notebook.cells.index(cell(notebook, name))


def solve(notebook, *numbers):
    """Paste the published solutions of exercises into their stubs."""
    for number in numbers:
        source, _ = solution(LECTURE.stem, EXERCISES[number - 1].function)
        cell(notebook, f"ex-{number}-stub").source = source


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_exercises_are_those_that_the_notebook_checks(lecture):
    cells = read_cells(lecture_file(lecture.stem))
    checks = [each.source for each in cells if re.fullmatch(r"ex-[a-z0-9-]+-check", each.id)]
    asked = [f"exercises.{check}({e.function})" for check, e in _exercises(lecture).items()]
    assert all(call in check for call, check in zip(asked, checks, strict=True))


class TestCopies:
    def test_untouched(self, notebook, progress):
        found = progress(notebook)
        assert {mark["state"] for mark in found["exercises"]} == {"not started"}
        assert set(found["quiz"]) == {"not answered"} and found["notes"] == []

    def test_solved(self, notebook, progress):
        solve(notebook, 1, 2, 3)
        cell(notebook, "quiz").source = f'exercises.QUIZ.with_answers("{RIGHT_LETTERS}")'
        found = progress(notebook)
        assert {mark["state"] for mark in found["exercises"]} == {"passed"}
        assert set(found["quiz"]) == {"right"}

    def test_wrong_answer_is_diagnosed(self, notebook, progress):
        mistake = EXERCISES[1].mistakes[0]
        wrong = "causal_flash = exercises.EXERCISES[1].mistakes[0].answer"
        cell(notebook, "ex-2-stub").source = wrong
        mark = progress(notebook)["exercises"][1]
        assert mark["state"] == "not yet"
        assert mark["message"].startswith(mistake.message.split("{")[0])

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("def merge(a)\n    return 1", "Its cell stops: SyntaxError: "),
            ("1 / 0\nmerge = max", "Its cell stops: ZeroDivisionError: division by zero"),
            ("", "Its cell defines no `merge`."),
            (
                "def merge(*state):\n    raise SystemExit(3)",
                "With m_a of shape",
            ),
        ],
    )
    def test_answer_that_does_not_run(self, notebook, progress, source, said):
        cell(notebook, "ex-1-stub").source = source
        mark = progress(notebook)["exercises"][0]
        assert mark["state"] == "not yet" and mark["message"].startswith(said)

    def test_deleted_exercise(self, notebook, states):
        solve(notebook, 1)
        notebook.cells = [each for each in notebook.cells if not each.id.startswith("ex-2")]
        assert states(notebook)[:2] == ["passed", "deleted"]

    def test_ids_are_missing(self, notebook, states):
        solve(notebook, 1, 2)
        for each in notebook.cells:
            del each["id"]
        assert states(notebook) == ["passed"] * 2 + ["not started"]

    @pytest.mark.parametrize(("below", "state"), [(True, "not yet"), (False, "passed")])
    def test_last_attempt_counts(self, notebook, states, below, state):
        solve(notebook, 1)
        wrong = nbformat.v4.new_code_cell("def merge(*state):\n    return state[:3]")
        notebook.cells.insert(place(notebook, "ex-1-stub") + below, wrong)
        assert states(notebook)[0] == state

    def test_set_up_that_stops(self, notebook, progress):
        cell(notebook, "setup").source = "import nothing_of_that_name"
        (note,) = progress(notebook)["notes"]
        assert note.startswith("Its set-up, cell ") and "No module named" in note

    def test_quiz(self, notebook, progress):
        letters = RIGHT_LETTERS.split()
        letters[1], letters[2] = "-", "a" if letters[2] != "a" else "b"
        cell(notebook, "quiz").source = f'exercises.QUIZ.with_answers("{" ".join(letters)}")'
        assert progress(notebook)["quiz"] == ["right", "not answered", "wrong", "right", "right"]
        cell(notebook, "quiz").source = 'exercises.QUIZ.with_answers("a")'
        found = progress(notebook)
        assert set(found["quiz"]) == {"not answered"} and "letters must" in found["notes"][0]


class TestHostileCopies:
    """None of these may hang, or end the process that judges it."""

    # IPython leaves a coroutine behind where the parser fails.
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    @pytest.mark.parametrize(
        "source",
        [
            "merge = a" + ".b" * 30_000,
            "merge = 0x" + "f" * 6_000,
            "merge = '\ud800'",
        ],
        ids=["attributes", "hexadecimal", "half a character"],
    )
    def test_source(self, notebook, progress, source):
        cell(notebook, "ex-1-stub").source = source
        assert progress(notebook)["exercises"][0]["state"] == "not yet"

    @pytest.mark.parametrize(
        "content",
        ["{", "[]", '{"cells": 5}', '{"n": ' + "9" * 6_000 + "}", "[" * 10**5, '{"cells": []}'],
        ids=["half", "list", "number", "digits", "brackets", "no lecture"],
    )
    def test_file(self, tmp_path, content):
        (tmp_path / "copy.ipynb").write_text(content)
        with pytest.raises(NotebookFileError):
            read_copy(tmp_path / "copy.ipynb")

    @pytest.mark.skipif(os.name == "nt", reason="Windows has neither pipes in folders nor /dev")
    def test_what_is_no_regular_file(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.ipynb")
        (tmp_path / "device.ipynb").symlink_to("/dev/zero")
        for name in ("pipe.ipynb", "device.ipynb", "missing.ipynb"):
            with pytest.raises(NotebookFileError, match="there is no file"):
                read_cells(tmp_path / name)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("while True:\n try:\n  while True: print()\n except KeyboardInterrupt: pass", "30 s"),
            ("import os\nos._exit(1)", "its process ended"),
        ],
    )
    def test_what_ends_the_process_keeps_what_was_judged(self, notebook, save, source, said):
        solve(notebook, 1)
        cell(notebook, "ex-2-stub").source = source
        found = examine(save(notebook), 30)
        assert [mark.state for mark in found.exercises][:3] == ["passed", *["not judged"] * 2]
        assert f"cell {place(notebook, 'ex-2-stub') + 1} " in found.notes[0]
        assert said in found.notes[0]

    @pytest.mark.slow
    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGHUP")
    def test_a_closed_terminal_leaves_nothing_behind(self, notebook, save, tmp_path):
        (tmp_path / "temporary").mkdir()
        running = tmp_path / "running"
        cell(
            notebook, "ex-1-stub"
        ).source = (
            f"import os\nopen({str(running)!r}, 'w').write(str(os.getpid()))\nwhile True: pass"
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "tools.progress", str(save(notebook))],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        )
        end = time.monotonic() + 100
        while not (running.exists() and running.read_text()) and time.monotonic() < end:
            time.sleep(0.1)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 128 + signal.SIGHUP
        assert os.listdir(tmp_path / "temporary") == []
        with pytest.raises(ProcessLookupError):
            os.kill(int(running.read_text()), 0)

    @pytest.mark.slow
    def test_what_ends_a_cell_alone(self, notebook, save):
        cell(notebook, "ex-1-stub").source = "while True: pass"
        cell(notebook, "ex-2-stub").source = "def causal_flash(q, k, v):\n    while True: pass"
        cell(notebook, "ex-3-stub").source = "online_attention = torch.ones(10**10)"
        marks = examine(save(notebook), 60).exercises
        assert [mark.state for mark in marks] == ["not yet"] * 3
        assert [mark.message.endswith("stopped after 15 s.") for mark in marks[:2]] == [True, True]
        assert os.name == "nt" or "memory" in marks[2].message


class TestCommand:
    def test_one_copy_in_full(self, notebook, save, capsys):
        solve(notebook, 1, 3)
        wrong = "def causal_flash(q, k, v):\n    raise ValueError('\\x1b[2J')"
        cell(notebook, "ex-2-stub").source = wrong
        path = save(notebook)
        assert command.main([str(path)]) == 1
        said = capsys.readouterr().out
        assert said.startswith(f"{path}, lecture 08\n\n1 · {EXERCISES[0].title}: passed\n")
        assert "ValueError: �[2J" in said and "\x1b" not in said
        assert said.endswith("\n2 of 3 exercises passed, 0 of 5 questions right.\n")

    @pytest.fixture
    def judged(self, monkeypatch):
        """Copies whose name begins with "bad" cannot be judged; the others pass one exercise."""

        def examined(path, limit, everything):
            if path.name.startswith("bad"):
                return Progress(str(path), error=f"{path} is no notebook")
            marks = [Mark("Merge", "passed", ""), Mark("Count", "not yet", "No.")]
            return Progress(str(path), "08", marks, ["right"])

        monkeypatch.setattr(command, "examine", examined)

    def test_a_line_for_each_copy(self, judged, capsys):
        assert command.main(["good.ipynb", "bad\nada.ipynb", "\u202egood.ipynb"]) == 2
        row = "08  1 passed, 2 not yet; quiz 1 of 1"
        assert capsys.readouterr().out.splitlines() == [
            f"good.ipynb     {row}",
            "bad�ada.ipynb is no notebook",
            f"�good.ipynb    {row}",
        ]

    def test_as_json(self, judged, capsys):
        assert command.main(["good.ipynb", "bad.ipynb", "--json"]) == 2
        good, bad = json.loads(capsys.readouterr().out)
        assert good["exercises"][1] == {"title": "Count", "state": "not yet", "message": "No."}
        assert bad["file"] == "bad.ipynb" and bad["error"] == "bad.ipynb is no notebook"

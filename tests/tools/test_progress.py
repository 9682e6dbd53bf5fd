"""Progress of worked copies: what students do to a notebook, by accident and on purpose."""

import copy
import json
import os
import re
import time

import nbformat
import pytest

from course_utils.lectures import COURSE
from tests.support_errors import raises_saying
from tests.teaching.support_exercises import solution_source
from tools.notebook_file import NotebookFileError, find_lecture
from tools.progress import process as processes
from tools.progress.command import main
from tools.progress.copies import asked_in, read_copy
from tools.progress.marks import progress_of
from tools.progress.process import CellProcess, Judged

LECTURE = COURSE[8]
ASKED = asked_in(LECTURE)
NOTEBOOK = nbformat.read(find_lecture("08"), as_version=4)
QUIZ = LECTURE.module("exercises").QUIZ
RIGHT_LETTERS = " ".join("abcd"[q.options.index(q.answer)] for q in QUIZ.questions)
TITLES = [asked.title for asked in ASKED]


@pytest.fixture(scope="module")
def worker():
    with CellProcess(limit=60, lecture=LECTURE) as process:
        yield process


@pytest.fixture
def process(worker):
    """A process in which no cell has run."""
    worker._done.clear()
    assert worker.run("%reset -f") == ""
    return worker


@pytest.fixture
def notebook():
    return copy.deepcopy(NOTEBOOK)


@pytest.fixture
def save(tmp_path):
    def write(notebook, name="copy.ipynb"):
        nbformat.write(notebook, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def progress(save, process):
    def run(notebook, **more):
        assert process.run("%reset -f") == ""
        return progress_of(read_copy(save(notebook)), process, **more)

    return run


@pytest.fixture
def states(progress):
    return lambda notebook: [mark.state for mark in progress(notebook).exercises]


def cell(notebook, name):
    return next(each for each in notebook.cells if each.id == name)


def place(notebook, name):
    return notebook.cells.index(cell(notebook, name))


def solve(notebook, *numbers):
    """Paste the published solutions of exercises into their stubs."""
    for number in numbers:
        solution = solution_source(find_lecture("08"), ASKED[number - 1].function)
        cell(notebook, f"ex-{number}-stub").source = solution


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_asked_as_in_the_notebook(lecture):
    cells = nbformat.read(find_lecture(lecture.stem), as_version=4).cells
    checks = [each.source for each in cells if re.fullmatch(r"ex-\d-check", each.id)]
    asked = [f"exercises.{each.check}({each.function})" for each in asked_in(lecture)]
    assert len(asked) == len(checks)
    assert [call in check for call, check in zip(asked, checks, strict=True)] == [True] * len(asked)


class TestCopies:
    def test_untouched(self, notebook, progress):
        found = progress(notebook)
        assert {mark.state for mark in found.exercises} == {"not started"}
        assert set(found.quiz) == {"not answered"} and found.notes == ()

    def test_solved(self, notebook, progress):
        solve(notebook, 1, 2, 3, 4)
        cell(notebook, "quiz").source = f'exercises.QUIZ.with_answers("{RIGHT_LETTERS}")'
        assert progress(notebook).complete

    def test_wrong_answer_is_diagnosed(self, notebook, progress):
        mistake = LECTURE.module("exercises").EXERCISES[1].mistakes[0]
        wrong = "tiled_bytes = exercises.EXERCISES[1].mistakes[0].answer"
        cell(notebook, "ex-2-stub").source = wrong
        mark = progress(notebook).exercises[1]
        assert mark.state == "not yet" and mark.message.startswith(mistake.message.split("{")[0])

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("def merge(a)\n    return 1", "Its cell stops: SyntaxError: "),
            ("1 / 0\nmerge = max", "Its cell stops: ZeroDivisionError: division by zero"),
            ("", "Its cell defines no `merge`."),
        ],
    )
    def test_cell_without_the_function(self, notebook, progress, source, said):
        cell(notebook, "ex-1-stub").source = source
        mark = progress(notebook).exercises[0]
        assert mark.state == "not yet" and mark.message.startswith(said)

    def test_answer_that_needs_the_lecture(self, notebook, progress):
        for each in notebook.cells:  # what the lecture itself computes is not the matter here
            if each.cell_type == "code" and not each.id.startswith(("setup", "ex-")):
                each.source = "ceiling = lambda T, m: -(-T // m)"
        solve(notebook, 2)
        stub = cell(notebook, "ex-2-stub")
        stub.source = stub.source.replace("-(-T // block_m)", "ceiling(T, block_m)")
        alone = progress(notebook).exercises[1]
        assert "name 'ceiling' is not defined" in alone.message
        assert alone.message.endswith("--all runs them.")
        assert progress(notebook, everything=True).exercises[1].state == "passed"

    def test_deleted_exercise(self, notebook, progress):
        solve(notebook, 1)
        notebook.cells = [each for each in notebook.cells if not each.id.startswith("ex-2")]
        marks = [(mark.title, mark.state) for mark in progress(notebook).exercises]
        assert marks[:2] == [(TITLES[0], "passed"), (TITLES[1], "deleted")]

    def test_ids_new_or_missing(self, notebook, progress, save, process):
        solve(notebook, 1, 2, 3)
        for number, each in enumerate(notebook.cells):
            each.id = f"new-{number}"
        assert progress(notebook).passed == 3
        path = save(notebook)
        old = json.loads(path.read_text(encoding="utf-8"))
        for each in old["cells"]:
            del each["id"]
        path.write_text(json.dumps(old), encoding="utf-8")
        found = progress_of(read_copy(path), process)
        assert found.passed == 3 and found.notes[0].startswith("Its cells have lost their ids")

    @pytest.mark.parametrize("check", ["exercises.check_merge(mine)", "check_merge(mine)"])
    def test_renamed_function(self, notebook, states, check):
        solve(notebook, 1)
        stub = cell(notebook, "ex-1-stub")
        stub.source = stub.source.replace("def merge", "def mine")
        cell(notebook, "ex-1-check").source = check
        assert states(notebook)[0] == "passed"

    @pytest.mark.parametrize("below", [True, False])
    def test_stub_kept_beside_the_answer(self, notebook, states, below):
        stub = copy.deepcopy(cell(notebook, "ex-1-stub"))
        solve(notebook, 1)
        stub.id = "twin"
        notebook.cells.insert(place(notebook, "ex-1-stub") + below, stub)
        assert states(notebook)[0] == "passed"

    @pytest.mark.parametrize(("below", "state"), [(True, "not yet"), (False, "passed")])
    def test_last_attempt_counts(self, notebook, states, below, state):
        solve(notebook, 1)
        wrong = nbformat.v4.new_code_cell("def merge(*state):\n    return state[:3]")
        notebook.cells.insert(place(notebook, "ex-1-stub") + below, wrong)
        assert states(notebook)[0] == state

    def test_helper_in_a_cell_of_its_own(self, notebook, progress):
        solve(notebook, 2)
        stub = cell(notebook, "ex-2-stub")
        stub.source = stub.source.replace("-(-T // block_m)", "maths.ceil(T / block_m)")
        helper = nbformat.v4.new_code_cell("import math as maths")
        notebook.cells.insert(place(notebook, "ex-2-stub"), helper)
        assert progress(notebook).exercises[1].state == "passed"
        helper.source = "import maths"
        found = progress(notebook)
        assert found.exercises[1].state == "not yet"
        number = place(notebook, "ex-2-stub")
        assert found.notes == (
            f"Beside its answers, cell {number} ('import maths') stops: "
            "ModuleNotFoundError: No module named 'maths'",
        )

    def test_cells_moved_up(self, notebook, save):
        for name in ("ex-1-stub", "ex-1-check", "quiz"):
            moved = cell(notebook, name)
            notebook.cells.remove(moved)
            notebook.cells.insert(2, moved)
        read = read_copy(save(notebook))
        assert [each.id for each in read.work] == [f"ex-{number}-stub" for number in (1, 2, 3, 4)]
        assert len(read.lesson) > 5

    def test_set_up_that_stops(self, notebook, progress):
        cell(notebook, "setup").source = "import nothing_of_that_name"
        (note,) = progress(notebook).notes
        assert note.startswith("Its set-up, cell ") and "No module named" in note

    def test_quiz(self, notebook, progress):
        letters = RIGHT_LETTERS.split()
        letters[1], letters[2] = "-", "a" if letters[2] != "a" else "b"
        cell(notebook, "quiz").source = f'exercises.QUIZ.with_answers("{" ".join(letters)}")'
        assert progress(notebook).quiz == ("right", "not answered", "wrong", "right", "right")
        cell(notebook, "quiz").source = 'exercises.QUIZ.with_answers("a")'
        found = progress(notebook)
        assert set(found.quiz) == {"not answered"}
        assert found.notes[0].startswith("The answers to its quiz cannot be read: letters must")

    def test_another_lecture_or_none(self, notebook, save):
        path = save(notebook)
        message = f"the copy must be of lecture 01; {path} is of 08"
        with raises_saying(NotebookFileError, message):
            read_copy(path, number="01")
        notebook.cells = [nbformat.v4.new_markdown_cell("# 99 · Mine")]
        with pytest.raises(NotebookFileError, match="neither the title nor an import of one"):
            read_copy(save(notebook))


class TestTricks:
    """What makes a check in the notebook say "passed" does not do so here."""

    @pytest.mark.parametrize(
        "trick",
        [
            "exercises.check_merge = max",
            "exercises.EXERCISES[0].__class__.check = max",
            "import course_utils.teaching.exercise as e; e.same = e.misfit = min",
            "torch.allclose = torch.equal = np.allclose = lambda *a, **more: True",
        ],
    )
    def test_a_replaced_check(self, trick, process):
        assert process.run("import numpy as np, torch") == ""
        assert process.run(f"from {LECTURE.package} import exercises\n{trick}") == ""
        assert process.run("def merge(*state):\n    return state[:3]") == ""
        assert process.judge("check_merge", "merge").state == "not yet"


STUBBORN = "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass"
FORGED = """import gc
from multiprocessing.connection import Connection
for each in gc.get_objects():
    if isinstance(each, Connection):
        each.send_bytes({reply})"""


class TestProcess:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("%matplotlib inline\ndisplay(1)\n!echo noise", ""),
            ("import ipywidgets\nipywidgets.IntSlider()", ""),
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("y = 1\ndef f(:\n    pass", "SyntaxError: invalid syntax (line 2)"),
            ("input('name?')", "EOFError: "),
            ("raise SystemExit", "SystemExit"),
            (STUBBORN, "stopped after 1 s."),
            ("import os\nos._exit(1)", processes.ENDED),
            (FORGED.format(reply="b'[1]'"), processes.NO_REPLY),
            (FORGED.format(reply="bytes(10**6)"), processes.ENDED),
        ],
    )
    def test_what_stops_a_cell(self, process, monkeypatch, source, said):
        assert process.run("merge = lambda *state: state") == ""
        with monkeypatch.context() as patch:
            # Whatever ends has the time it needs on a busy machine.
            patch.setattr(process, "limit", 1 if "1 s" in said else 60)
            heard = process.run(source)
        assert heard.startswith(said) and bool(heard) == bool(said)
        judged = process.judge("check_merge", "merge")
        assert judged.state == "not yet" and "6" in judged.message, "what ran before is there"

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("source", "said"),
        [
            ("while True: pass", "stopped after 1 s."),
            ("raise SystemExit('enough')", "SystemExit: enough"),
        ],
    )
    def test_what_stops_a_check(self, process, monkeypatch, source, said):
        assert process.run(f"def merge(*state):\n    {source}") == ""
        monkeypatch.setattr(process, "limit", 1 if "1 s" in said else 60)
        judged = process.judge("check_merge", "merge")
        assert judged == Judged("not yet", f"The check called `merge`: {said}")

    @pytest.mark.slow
    @pytest.mark.skipif(not hasattr(os, "killpg"), reason="Windows has no groups of processes")
    def test_children_end_with_it(self, tmp_path):
        note = str(tmp_path / "child")
        with CellProcess(limit=60, lecture=LECTURE) as process:
            source = "import subprocess; child = subprocess.Popen(['sleep', '300'])"
            assert process.run(f"{source}\nopen({note!r}, 'w').write(str(child.pid))") == ""
        child = int((tmp_path / "child").read_text())
        deadline = time.monotonic() + 30
        while _runs(child):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _runs(number):
    try:
        with open(f"/proc/{number}/stat") as status:
            return status.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


class TestCommand:
    def test_one_copy_in_full(self, notebook, save, capsys):
        solve(notebook, 1, 3)
        cell(
            notebook, "ex-2-stub"
        ).source = "def tiled_bytes(*a):\n    raise ValueError('\\x1b[2J')"
        path = save(notebook)
        assert main([str(path)]) == 1
        said = capsys.readouterr().out
        assert said.startswith(f"{path}, lecture 08\n\n1 · {TITLES[0]}: passed\n")
        assert "ValueError: �[2J" in said and "\x1b" not in said
        assert said.endswith("\n2 of 4 exercises passed, 0 of 5 questions right.\n")

    def test_a_bad_copy_does_not_end_the_report(self, notebook, save, capsys):
        good = save(notebook, "good.ipynb")
        cell(notebook, "ex-1-stub").source = "merge = '\\ud800'  # \ud800"
        half = good.with_name("half.ipynb")
        half.write_text(json.dumps(notebook))
        bad = [good.with_name(f"bad-{number}.ipynb") for number in range(3)]
        bad[0].write_text("{", encoding="utf-8")
        bad[1].write_text('{"cells": [], "n": ' + "9" * 6_000 + "}", encoding="utf-8")
        bad[2].write_text("[" * 100_000, encoding="utf-8")
        paths = [half, *bad, good]
        assert main([*map(str, paths)]) == 2
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith(f"{half}   08  1 not yet, 2 not started, ")
        for path, line in zip(bad, lines[1:4], strict=True):
            assert line.startswith(f"{path} must be JSON, as Jupyter writes it")
        rest = "1 not started, 2 not started, 3 not started, 4 not started; quiz 0 of 5"
        assert lines[4] == f"{good}   08  {rest}"
        assert main([*map(str, [half, bad[0]]), "--json"]) == 2
        copy_of_08, none = json.loads(capsys.readouterr().out)
        assert copy_of_08["lecture"] == "08" and len(copy_of_08["quiz"]) == 5
        assert copy_of_08["exercises"][1] == {
            "title": TITLES[1], "state": "not started", "message": ""
        }  # fmt: skip
        assert none["file"] == str(bad[0]) and none["error"].startswith(f"{bad[0]} must be JSON")

    @pytest.mark.slow
    def test_a_copy_cannot_rewrite_another(self, notebook, save, capsys):
        second = save(notebook, "b.ipynb")
        cell(notebook, "ex-1-stub").source = f"open({str(second)!r}, 'w').close()"
        assert main([str(save(notebook, "a.ipynb")), str(second)]) == 1
        assert "b.ipynb  08  1 not started" in capsys.readouterr().out

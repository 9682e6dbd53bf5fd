"""Progress of worked copies of the nine lectures: what a student does to a notebook, and worse.

Cells run in this process here; tests/tools/test_progress_kernel.py has the kernel.
"""

import contextlib
import copy
import json
import os
import re
from unittest import mock

import nbformat
import pytest

from course_utils.lectures.l01_scaling.quiz import QUIZ
from tests.lectures.l03_heads.support_wrong_answers_03 import WRONG_SPLIT_HEADS
from tests.lectures.support_wrong_answers import WRONG_SCORE_VARIANCE
from tests.support_errors import raises_saying
from tests.teaching.support_exercises import solution_source
from tests.tools.support_progress import InProcess
from tools.notebook_file import NotebookFileError, find_lecture, known_lectures
from tools.progress.__main__ import main
from tools.progress.copies import read_copy
from tools.progress.lectures import ASKED
from tools.progress.marks import progress_of

LECTURES = {n: nbformat.read(path, as_version=4) for n, path in known_lectures().items()}
RIGHT_LETTERS = " ".join("abcd"[q.options.index(q.answer)] for q in QUIZ.questions)


@pytest.fixture(autouse=True)
def own_environment():
    """Lecture 08 sets a variable for its own kernel."""
    with mock.patch.dict(os.environ):
        yield


@pytest.fixture
def save(tmp_path):
    def write(notebook, name="copy.ipynb"):
        nbformat.write(notebook, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def one():
    """A copy of lecture 01 to work on."""
    return copy.deepcopy(LECTURES["01"])


def cell(notebook, name):
    return next(each for each in notebook.cells if each.id == name)


def solve(notebook, number, lecture="01"):
    """Paste the published solution of an exercise into its stub."""
    function = ASKED[lecture][number - 1].function
    cell(notebook, f"ex-{number}-stub").source = solution_source(find_lecture(lecture), function)


def states(path, **options):
    marks = progress_of(read_copy(path), InProcess(), **options).exercises
    return [mark.state for mark in marks]


class TestLectures:
    def test_all_are_known(self):
        assert set(ASKED) == set(known_lectures())

    @pytest.mark.parametrize("number", ASKED)
    def test_what_is_asked_is_what_the_lecture_asks(self, number):
        cells = LECTURES[number].cells
        titles = [
            title
            for each in cells
            if each.id.startswith("ex-")
            for title in re.findall(r"^### \d+ · (.*)$", each.source, re.M)
        ]
        stubs = [each for each in cells if "exercise" in each.metadata.get("tags", [])]
        checks = "\n".join(each.source for each in cells if each.id.endswith("-check"))
        asked = ASKED[number]
        assert [each.title for each in asked] == titles
        assert [each.id for each in stubs] == [f"ex-{n + 1}-stub" for n in range(len(asked))]
        for each, stub in zip(asked, stubs, strict=True):
            assert f"def {each.function}(" in stub.source
            line = f"from course_utils.teaching.{each.module} import {each.check}\n"
            assert line in checks and f"{each.check}({each.function})" in checks

    @pytest.mark.parametrize("number", ASKED)
    def test_an_untouched_lecture_is_not_started(self, number):
        progress = progress_of(read_copy(find_lecture(number)), InProcess())
        assert {mark.state for mark in progress.exercises} == {"not started"}
        assert set(progress.quiz) == {"not answered"}
        assert progress.notes == () and progress.lecture == number

    @pytest.mark.parametrize("number", ASKED)
    def test_the_published_solutions_pass(self, number, save):
        notebook = copy.deepcopy(LECTURES[number])
        for place in range(1, len(ASKED[number]) + 1):
            solve(notebook, place, number)
        assert set(states(save(notebook))) == {"passed"}


class TestDiagnosis:
    @pytest.mark.parametrize("name", ["adds the variances", "squares d_k"])
    def test_a_wrong_answer_hears_what_the_check_says(self, one, save, name):
        answer, quoted = WRONG_SCORE_VARIANCE[name]
        cell(one, "ex-1-stub").source = "score_variance = wrong"
        progress = progress_of(read_copy(save(one)), InProcess(wrong=answer))
        assert progress.exercises[0].state == "not yet"
        assert quoted in progress.exercises[0].message

    def test_so_in_another_lecture(self, save):
        notebook = copy.deepcopy(LECTURES["03"])
        answer, quoted = next(iter(WRONG_SPLIT_HEADS.values()))
        cell(notebook, "ex-1-stub").source = "split = wrong"
        mark = progress_of(read_copy(save(notebook)), InProcess(wrong=answer)).exercises[0]
        assert mark.state == "not yet" and quoted in mark.message

    @pytest.mark.parametrize(
        ("source", "said"),
        [
            (
                "def score_variance(d_k, var_q, var_k)\n    return 1",
                "Its cell stops: SyntaxError: ",
            ),
            ("1 / 0\nscore_variance = max", "Its cell stops: ZeroDivisionError: division by zero"),
            ("", "Its cell defines no `score_variance`."),
        ],
    )
    def test_a_cell_without_the_function_says_why(self, one, save, source, said):
        cell(one, "ex-1-stub").source = source
        mark = progress_of(read_copy(save(one)), InProcess()).exercises[0]
        assert mark.state == "not yet" and mark.message.startswith(said)

    def test_an_answer_that_needs_the_lecture_says_so_and_all_runs_it(self, one, save):
        solve(one, 1)
        cell(one, "ex-1-stub").source += "\nd = factor\n"
        cell(one, "proof-draw").source = "factor = 1"
        for each in one.cells:  # the lecture's own cells take seconds and are not the matter here
            if each.cell_type == "code" and each.id not in ("setup", "proof-draw"):
                each.source = each.source if each.id.startswith("ex-") else "pass"
        cell(one, "ex-1-stub").source = "def score_variance(*x): return factor * x[0] * x[1] * x[2]"
        path = save(one)
        alone = progress_of(read_copy(path), InProcess()).exercises[0]
        assert alone.state == "not yet" and "name 'factor' is not defined" in alone.message
        assert alone.message.endswith(
            "Does another cell of the lecture define it? --all runs them."
        )
        assert states(path, everything=True)[0] == "passed"


class TestWhatStudentsDo:
    def test_a_deleted_exercise_is_named(self, one, save):
        solve(one, 1)
        one.cells = [each for each in one.cells if not each.id.startswith("ex-2")]
        progress = progress_of(read_copy(save(one)), InProcess())
        assert [(mark.title, mark.state) for mark in progress.exercises] == [
            ("The variance of a score", "passed"),
            ("The scale for unit vectors", "deleted"),
            ("Spot the model that divides by √d_model", "not started"),
        ]

    def test_all_may_be_deleted(self, one, save):
        one.cells = [each for each in one.cells if not each.id.startswith("ex-")]
        assert states(save(one)) == ["deleted"] * 3

    def test_ids_may_be_new_or_missing(self, one, save):
        for number in (1, 2, 3):
            solve(one, number)
        for place, each in enumerate(one.cells):
            each.id = f"new-{place}"
        assert states(save(one)) == ["passed"] * 3
        old = json.loads(nbformat.writes(one))
        for each in old["cells"]:
            del each["id"]
        path = save(one)
        path.write_text(json.dumps(old), encoding="utf-8")
        progress = progress_of(read_copy(path), InProcess())
        assert progress.passed == 3
        assert progress.notes == (
            "Its cells have lost their ids; answers are found by the names of their functions.",
        )

    def test_a_renamed_function_is_found_by_its_check(self, one, save):
        solve(one, 1)
        stub = cell(one, "ex-1-stub")
        stub.source = stub.source.replace("score_variance", "mine")
        cell(one, "ex-1-check").source = "check_score_variance(mine)"
        assert states(save(one))[0] == "passed"

    def test_a_renamed_function_without_its_check_is_said(self, one, save):
        cell(one, "ex-1-stub").source = "def mine(d_k, var_q, var_k):\n    return 1"
        mark = progress_of(read_copy(save(one)), InProcess()).exercises[0]
        assert (mark.state, mark.message) == ("not yet", "Its cell defines no `score_variance`.")

    @pytest.mark.parametrize("below", [True, False])
    def test_a_stub_beside_the_answer_takes_nothing_back(self, one, save, below):
        place = one.cells.index(cell(one, "ex-1-stub"))
        stub = copy.deepcopy(one.cells[place])
        solve(one, 1)
        stub.id = "twin"
        one.cells.insert(place + below, stub)
        assert states(save(one))[0] == "passed"

    def test_of_two_attempts_the_last_counts(self, one, save):
        place = one.cells.index(cell(one, "ex-1-stub"))
        wrong = copy.deepcopy(one.cells[place])
        solve(one, 1)
        wrong.id, wrong.source = "twin", "def score_variance(d, a, b):\n    return d"
        one.cells.insert(place + 1, wrong)
        assert states(save(one))[0] == "not yet"
        one.cells[place], one.cells[place + 1] = one.cells[place + 1], one.cells[place]
        assert states(save(one))[0] == "passed"

    def test_helpers_in_cells_of_their_own_are_run(self, one, save):
        cell(one, "ex-1-stub").source = "def score_variance(*x):\n    return product(x)"
        helper = nbformat.v4.new_code_cell("import math\nproduct = math.prod")
        one.cells.insert(one.cells.index(cell(one, "ex-1-stub")), helper)
        assert states(save(one))[0] == "passed"

    def test_a_helper_that_stops_is_said(self, one, save):
        cell(one, "ex-1-stub").source = "def score_variance(*x):\n    return product(x)"
        helper = nbformat.v4.new_code_cell("import maths\nproduct = maths.prod")
        expected = nbformat.v4.new_code_cell("1 / 0", metadata={"tags": ["raises-exception"]})
        place = one.cells.index(cell(one, "ex-1-stub"))
        one.cells[place:place] = [helper, expected]
        progress = progress_of(read_copy(save(one)), InProcess())
        assert "name 'product' is not defined" in progress.exercises[0].message
        assert progress.notes == (
            f"Beside its answers, cell {place + 1} ('import maths') stops: "
            "ModuleNotFoundError: No module named 'maths'",
        )

    def test_a_cell_moved_up_does_not_take_the_lecture_with_it(self, one, save):
        solve(one, 1)
        for name in ("ex-1-stub", "ex-1-check", "quiz"):
            moved = cell(one, name)
            one.cells.remove(moved)
            one.cells.insert(2, moved)
        cell(one, "quiz").source = f'QUIZ.with_answers("{RIGHT_LETTERS}")'
        worker = InProcess()
        progress = progress_of(read_copy(save(one)), worker)
        assert progress.exercises[0].state == "passed" and progress.right == 5
        assert len(worker.ran) == 5

    def test_saved_outputs_and_edited_checks_prove_nothing(self, one, save):
        passed = nbformat.v4.new_output("execute_result", {"text/plain": "Passed. Well done."})
        check = cell(one, "ex-1-check")
        check.outputs = [passed]
        check.source = "def check_score_variance(f):\n    print('Passed.')\n" + check.source
        assert states(save(one))[0] == "not started"

    def test_checks_quiz_and_lecture_are_not_run(self, one, save):
        worker = InProcess()
        progress_of(read_copy(save(one)), worker)
        ran = [cell(one, name).source for name in ("setup", "ex-1-stub", "ex-2-stub")]
        ran += [cell(one, name).source for name in ("ex-3-models", "ex-3-stub")]
        assert worker.ran == ran

    def test_a_set_up_that_stops_is_said(self, one, save):
        cell(one, "setup").source = "import nothing_of_that_name"
        progress = progress_of(read_copy(save(one)), InProcess())
        place = one.cells.index(cell(one, "setup")) + 1
        assert progress.notes == (
            f"Its set-up, cell {place} ('import nothing_of_that_name'), stops: "
            "ModuleNotFoundError: No module named 'nothing_of_that_name'",
        )


class TestQuiz:
    def test_recorded_answers_are_marked(self, one, save):
        letters = list(RIGHT_LETTERS.split())
        letters[1], letters[2] = "-", "a" if letters[2] != "a" else "b"
        cell(one, "quiz").source = f'# mine\nQUIZ.with_answers("{" ".join(letters)}")'
        quiz = progress_of(read_copy(save(one)), InProcess()).quiz
        assert quiz == ("right", "not answered", "wrong", "right", "right")

    def test_letters_that_fit_no_question_are_said(self, one, save):
        cell(one, "quiz").source = 'QUIZ.with_answers("a")'
        progress = progress_of(read_copy(save(one)), InProcess())
        assert set(progress.quiz) == {"not answered"}
        assert progress.notes == (
            "The answers to its quiz cannot be read: letters must hold one for each of the 5 "
            "questions, with '-' for none; got 'a'",
        )


@pytest.fixture
def command(capsys):
    """Run the command with cells in this process: its status, and what it prints."""

    def run(*arguments):
        status = main([*map(str, arguments)], lambda limit: contextlib.nullcontext(InProcess()))
        return status, capsys.readouterr().out

    return run


class TestCommand:
    def test_a_complete_copy_ends_with_0(self, one, save, command):
        for number in (1, 2, 3):
            solve(one, number)
        cell(one, "quiz").source = f'QUIZ.with_answers("{RIGHT_LETTERS}")'
        status, said = command(save(one))
        assert status == 0
        assert said.endswith("\n3 of 3 exercises passed, 5 of 5 questions right.\n")

    def test_one_copy_is_described_in_full(self, one, save, command):
        cell(one, "ex-1-stub").source = "def score_variance(d_k, var_q, var_k):\n    return d_k"
        path = save(one)
        status, said = command(path)
        lines = said.splitlines()
        assert status == 1
        assert lines[0] == f"{path}, lecture 01"
        assert lines[2] == "1 · The variance of a score: not yet"
        assert lines[3].startswith("    Your variance at d_k = 64")
        assert "2 · The scale for unit vectors: not started" in lines
        assert lines[-1] == "0 of 3 exercises passed, 0 of 5 questions right."

    def test_several_copies_get_a_line_each(self, one, save, command):
        first = save(one, "a.ipynb")
        solve(one, 2)
        second, third = save(one, "beatrice.ipynb"), save(one, "c.ipynb")
        third.write_text("{", encoding="utf-8")
        status, said = command(first, second, third)
        rest = "3 not started; quiz 0 of 5"
        assert status == 2
        assert said.splitlines() == [
            f"{first}         01  1 not started, 2 not started, {rest}",
            f"{second}  01  1 not started, 2 passed, {rest}",
            f"{third} must be JSON, as Jupyter writes it; it breaks at line 1, column 2: "
            "Expecting property name enclosed in double quotes",
        ]

    def test_json_says_the_same(self, one, save, command):
        good, bad = save(one), save(one, "bad.ipynb").with_name("none.ipynb")
        status, said = command(good, bad, "--json")
        one_copy, no_copy = json.loads(said)
        assert status == 2
        assert one_copy["lecture"] == "01" and len(one_copy["quiz"]) == 5
        assert one_copy["exercises"][0] == {
            "title": "The variance of a score",
            "state": "not started",
            "message": "",
        }
        assert no_copy == {
            "file": str(bad),
            "error": f"there must be a notebook at {bad}, found no such file",
        }

    @pytest.mark.parametrize("limit", ["0", "-1", "soon", "nan"])
    def test_a_limit_that_is_none_is_refused(self, one, save, capsys, limit):
        with pytest.raises(SystemExit) as ended:
            main([str(save(one)), "--limit", limit])
        assert ended.value.code == 2
        said = f"argument --limit: must be a number of seconds above 0, got '{limit}'"
        assert said in capsys.readouterr().err

    def test_the_help_says_that_code_is_run(self, capsys):
        with pytest.raises(SystemExit):
            main(["--help"])
        assert "This runs the code in the copy" in capsys.readouterr().out


class TestBadFiles:
    def test_another_lecture_is_refused(self, command):
        path = find_lecture("03")
        status, said = command(path, "--lecture", "1")
        assert (status, said) == (2, f"the copy must be of lecture 01; {path} is of 03\n")

    def test_a_notebook_of_no_lecture_is_refused(self, save):
        path = save(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# 99 · Mine")]))
        message = (
            "the notebook must be a copy of lecture 00, 01, 02, 03, 04, 05, 06, 07, 08; "
            f"{path} has neither the title nor an exercise of one"
        )
        with raises_saying(NotebookFileError, message):
            read_copy(path)

    def test_a_copy_without_its_title_is_known_by_its_checks(self, one, save):
        one.cells = one.cells[1:]
        assert read_copy(save(one)).lecture == "01"

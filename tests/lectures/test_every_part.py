"""Every part of the reader's GPT: its solution is kept, runs from the file alone, and is listed."""

import pytest

from course_utils.teaching.parts import my_parts
from tests.teaching.support_exercises import solution
from tests.teaching.support_reader import Reader, make_copies
from tools.progress import parts as table
from tools.progress.parts import parts_of_the_course

PARTS = [*parts_of_the_course()]
IDS = [f"{lecture.number:02}-{exercise.kept_as}" for lecture, exercise in PARTS]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(make_copies(tmp_path / "my_course"))
    return tmp_path / "my_course"


def build(folder, lecture, exercise):
    """Solve an exercise as its lecture does and run its check; return the verdict's message."""
    reader = Reader(folder, lecture.module("exercises"))
    reader.run(solution(lecture.stem, exercise.function)[0])
    return reader.run(f"exercises.check_{exercise.function}({exercise.function})").message


@pytest.mark.parametrize(("lecture", "exercise"), PARTS, ids=IDS)
def test_the_solution_is_kept_alone(folder, lecture, exercise):
    kept = f"Kept as `{exercise.kept_as}` in my_gpt.py."
    assert build(folder, lecture, exercise) == f"{exercise.stages[-1].praise} {kept}"
    heading = f"# {exercise.kept_as}: lecture {lecture.number:02}, {exercise.title}"
    assert heading in (folder / "my_gpt.py").read_text("utf-8")


@pytest.mark.parametrize("order", [1, -1])
def test_all_parts_are_kept_in_any_order_and_listed(folder, capsys, order):
    for lecture, exercise in PARTS[::order]:
        build(folder, lecture, exercise)
    assert table.main([str(folder)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert lines == [
        [exercise.kept_as, "lecture", f"{lecture.number:02}", "yours"]
        for lecture, exercise in PARTS
    ]
    assert {exercise.kept_as for _, exercise in PARTS} <= {*my_parts(folder)}


def test_a_name_is_that_of_one_part():
    assert len({exercise.kept_as for _, exercise in PARTS}) == len(PARTS) > 0


class TestTable:
    def test_nothing_is_built(self, folder, capsys):
        assert table.main([str(folder)]) == 0
        assert "softmax        lecture 02   not built yet" in capsys.readouterr().out

    def test_a_part_that_no_longer_passes(self, folder, capsys):
        wrong = "import torch\ndef softmax(scores): return torch.exp(scores)\n"
        (folder / "my_gpt.py").write_text(wrong)
        assert table.main([str(folder)]) == 1
        said = capsys.readouterr().out
        assert "softmax        lecture 02   does not pass\n    You return exp(scores)" in said

    def test_a_file_that_stops(self, folder, capsys):
        (folder / "my_gpt.py").write_text("1 / 0")
        assert table.main([str(folder)]) == 1
        assert "my_gpt.py: the file stops with ZeroDivisionError" in capsys.readouterr().out

"""Every part of the reader's GPT: its solution is kept, runs from the file alone, and is listed."""

import sys

import pytest
import torch

from course_utils.teaching import parts
from course_utils.teaching.part_map import PLACES
from course_utils.teaching.parts import my_parts
from lectures.parts import collect_parts, parts_of_the_course
from tests.teaching.support_exercises import cells_before, solution
from tests.teaching.support_reader import Reader, make_copies
from tools.progress import parts as table

PARTS = [*parts_of_the_course()]
IDS = [f"{lecture.number}-{exercise.kept_as}" for lecture, exercise in PARTS]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(make_copies(tmp_path / "my_course"))
    return tmp_path / "my_course"


def build(folder, lecture, exercise):
    """Solve an exercise as its lecture does and run its check; return the verdict's message."""
    reader = Reader(folder, lecture.module("exercises"))
    for cell in cells_before(lecture.stem, exercise.function):
        reader.run(cell)
    reader.run(solution(lecture.stem, exercise.function)[0])
    return reader.run(f"exercises.check_{exercise.function}({exercise.function})").message


@pytest.mark.parametrize(("lecture", "exercise"), PARTS, ids=IDS)
def test_the_solution_is_kept_alone(folder, lecture, exercise):
    kept = f"Kept as `{exercise.kept_as}` in my_gpt.py"
    assert build(folder, lecture, exercise).startswith(f"{exercise.stages[-1].praise} {kept}")
    heading = f"# {exercise.kept_as}: lecture {lecture.number}, {exercise.title}"
    assert heading in (folder / "my_gpt.py").read_text("utf-8")


def test_every_part_has_its_place_on_the_map():
    assert {exercise.kept_as for _, exercise in PARTS} == {*PLACES}


def test_a_verdict_shows_the_map_of_what_is_kept(folder):
    lecture, exercise = PARTS[0]
    reader = Reader(folder, lecture.module("exercises"))
    wrong = "def attend(q, k, v, may_attend=None):\n    return q @ k.mT\n"
    reader.run(wrong)
    check = f"exercises.check_{exercise.function}({exercise.function})"
    assert "<svg" not in reader.run(check)._repr_mimebundle_()["text/html"]
    reader.run(solution(lecture.stem, exercise.function)[0])
    verdict = reader.run(check)
    bundle = verdict._repr_mimebundle_()
    assert "Your GPT. Yours: attend. The course’s: MyGPT, block" in bundle["text/html"]
    assert bundle["text/plain"] == repr(verdict) and "Your GPT" not in repr(verdict)


@pytest.mark.parametrize("order", [1, -1])
def test_all_parts_are_kept_in_any_order_and_listed(folder, capsys, order):
    for lecture, exercise in PARTS[::order]:
        build(folder, lecture, exercise)
    assert table.main([str(folder)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[2:]]
    assert lines == [
        [exercise.kept_as, "lecture", lecture.number, "yours"] for lecture, exercise in PARTS
    ]
    assert {exercise.kept_as for _, exercise in PARTS} <= {*my_parts(folder)}


def test_a_name_is_that_of_one_part():
    assert len({exercise.kept_as for _, exercise in PARTS}) == len(PARTS) > 0


class TestTable:
    def test_nothing_is_built(self, folder, capsys):
        assert table.main([str(folder)]) == 0
        assert "softmax        lecture 02   not built yet" in capsys.readouterr().out

    def test_it_says_where_the_map_is(self, folder, capsys):
        table.main([str(folder)])
        assert "a map: `collect_parts()` in lecture 06" in capsys.readouterr().out

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

    def test_parts_that_exit_or_never_end(self, folder, capsys, monkeypatch):
        monkeypatch.setattr(parts, "SECONDS", 2)
        bad = "def attend(*inputs): raise SystemExit\ndef softmax(*inputs):\n    while True: pass\n"
        (folder / "my_gpt.py").write_text(bad)
        assert table.main([str(folder)]) == 1
        said = capsys.readouterr().out
        assert "attend         lecture 00   does not pass\n" in said and "SystemExit" in said
        assert "softmax        lecture 02   takes too long\n" in said
        assert "`softmax` was stopped after 2 s" in said
        assert PARTS[-1][1].kept_as in said.splitlines()[-1]
        collected = repr(collect_parts(folder)).splitlines()
        assert "softmax      lecture 02   ours: yours takes too long" in collected
        assert collected[-1].startswith("my_gpt.py: run from the file, `softmax`")

    def test_a_module_beside_the_file(self, folder, capsys, monkeypatch):
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.chdir("/")
        (folder / "of_mine.py").write_text("from torch import softmax as s\n")
        late = "def softmax(scores):\n    import of_mine\n    return of_mine.s(scores, -1)"
        (folder / "my_gpt.py").write_text(f"import of_mine\n{late}")
        table.main([str(folder)])
        assert "ModuleNotFoundError" not in capsys.readouterr().out


class TestCollected:
    """What lecture 06 assembles."""

    def rows(self, folder):
        return [line.split() for line in repr(collect_parts(folder)).splitlines()]

    def test_nothing_is_built_so_all_is_ours(self, folder):
        names = [exercise.kept_as for _, exercise in PARTS]
        assert [row[0] for row in self.rows(folder)] == names
        assert {row[-1] for row in self.rows(folder)} == {"ours"}
        collected = collect_parts(folder)
        for _, exercise in PARTS:
            assert exercise.judge(getattr(collected, exercise.kept_as)).passed

    def test_one_is_mine_and_a_wrong_one_is_replaced_by_ours(self, folder):
        lecture, exercise = next(pair for pair in PARTS if pair[1].kept_as == "step")
        build(folder, lecture, exercise)
        wrong = "\n\ndef softmax(scores, may_attend=None): return scores\n"
        with open(folder / "my_gpt.py", "a") as file:
            file.write(wrong)
        said = {row[0]: " ".join(row[3:]) for row in self.rows(folder)}
        assert said.pop("step") == "yours"
        assert said.pop("softmax") == "ours: yours does not pass"
        assert {*said.values()} == {"ours"}
        collected = collect_parts(folder)
        bundle = collected._repr_mimebundle_()
        assert "Yours: step." in bundle["text/html"]
        assert "it does not pass: softmax." in bundle["text/html"]
        assert bundle["text/plain"] == repr(collected)
        assert collected.step.__module__ == "my_gpt"
        rows = collected.softmax(torch.zeros(2, 3))
        torch.testing.assert_close(rows, torch.full((2, 3), 1 / 3))

    def test_a_file_that_stops_is_said(self, folder):
        (folder / "my_gpt.py").write_text("1 / 0")
        assert self.rows(folder)[0][-1] == "ours"
        assert "ZeroDivisionError" in repr(collect_parts(folder))

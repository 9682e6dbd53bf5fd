"""The reader's parts become a GPT: the cells of the lecture, run in a folder of copies."""

import pytest

from lectures import find_lecture
from lectures.parts import parts_of_the_course
from tests.lectures.support_notebooks import notebook_of, read
from tests.teaching.support_exercises import solution
from tests.teaching.support_reader import Reader, make_copies

LECTURE = find_lecture("06")
CELLS = {cell.id: cell.source for cell in read(notebook_of(LECTURE)).cells}
MODEL = ("setup", "norm", "feedforward", "collect", "block-class", "gpt")


@pytest.fixture
def reader(tmp_path, monkeypatch):
    folder = make_copies(tmp_path / "my_course")
    monkeypatch.chdir(folder)
    return Reader(folder, LECTURE.module("exercises"))


def build_every_part(reader):
    """Solve each exercise that builds a part, as its lecture's solution does."""
    for lecture, exercise in parts_of_the_course():
        builder = Reader(reader.file.parent, lecture.module("exercises"))
        builder.run(solution(lecture.stem, exercise.function)[0])
        builder.run(f"exercises.check_{exercise.function}({exercise.function})")


def run(reader, *names):
    """Run cells by name; return the value of the last."""
    return [reader.run(CELLS[name]) for name in names][-1]


def test_from_the_readers_own_file(reader, capsys):
    build_every_part(reader)
    run(reader, *MODEL)
    assert [line.split()[-1] for line in repr(reader.names["parts"]).splitlines()] == ["yours"] * 7
    attention = reader.names["MyGPT"](7, 5, 6, 1, 2).blocks[0].attention
    assert type(attention).__module__ == "my_gpt"
    run(reader, "load", "write", "cache", "cache-check")
    said = capsys.readouterr().out
    assert "the scores of your GPT" in said and "with the cache" in said
    story = reader.run('write(my_gpt, "\\nAnn was in the park.", 3)')
    assert story.startswith("Ann was in the park.") and len(story.split()) > 10


def test_who_has_built_nothing_gets_the_same_scores(reader, capsys):
    run(reader, *MODEL, "load")
    assert "the scores of your GPT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "right", "wrong"),
    [
        ("norm", ".square().mean(dim=-1, keepdim=True)", ".square().sum(-1, keepdim=True) / 95"),
        ("feedforward", "0.044715", "0.04"),
        ("block-class", "may_attend=may_attend", "may_attend=None"),
        ("gpt", " + self.positions.weight[: token_ids.shape[1]]", ""),
        ("gpt", "self.norm(x) @", "x @"),
    ],
    ids=["C - 1", "gelu", "no mask", "no positions", "no last norm"],
)
def test_one_wrong_line_is_found(reader, cell, right, wrong):
    assert right in CELLS[cell]
    for name in MODEL:
        reader.run(CELLS[name].replace(right, wrong) if name == cell else CELLS[name])
    with pytest.raises(AssertionError, match="the scores of your GPT differs"):
        run(reader, "load")


def test_the_ladder_finds_the_part(reader, capsys):
    def climb():
        capsys.readouterr()
        run(reader, "ladder")
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        return [line[2] for line in lines], [name for line in lines for name in line[7:]]

    run(reader, *MODEL, "load", "fault", "trace")
    agree, differ = climb()
    assert agree == ["10", "10", "8", "0"] and differ[0] == "blocks.2.feedforward.contract"
    reader.run("faulty = my_gpt")
    assert climb() == (["10"] * 4, [])

"""The reader's parts become a GPT: the cells of the lecture, run in a folder of copies."""

import math
import re

import pytest
import torch
import torch.nn.functional as F

from course_utils.models.story_gpt import SHORT_STORIES, load_story_gpt, story_batch
from lectures import find_lecture
from lectures.parts import collect_parts, parts_of_the_course
from tests.lectures.support_notebooks import notebook_of, read
from tests.teaching.support_exercises import solution
from tests.teaching.support_reader import Reader, make_copies

LECTURE = find_lecture("06")
NEXT_LECTURE = {cell.id: cell.source for cell in read(notebook_of(find_lecture("06b"))).cells}
CELLS = {cell.id: cell.source for cell in read(notebook_of(LECTURE)).cells}
MODEL = ("setup", "norm", "feedforward", "collect", "block-class", "gpt")
TRAINED = ("untrained", "cause", "cure", "write", "learn")
CURED = solution(LECTURE.stem, "MyGPT")[0]


@pytest.fixture
def reader(tmp_path, monkeypatch):
    folder = make_copies(tmp_path / "my_course")
    monkeypatch.chdir(folder)
    return Reader(folder, LECTURE.module("exercises"))


def build(reader, *names):
    """Solve the exercises that build these parts, in their lectures; all but MyGPT if none."""
    for lecture, exercise in parts_of_the_course():
        if exercise.kept_as in names or (not names and exercise.kept_as != "MyGPT"):
            builder = Reader(reader.file.parent, lecture.module("exercises"))
            builder.run(solution(lecture.stem, exercise.function)[0])
            builder.run(f"exercises.check_{exercise.function}({exercise.function})")


def run(reader, *names):
    """Run cells by name; return the value of the last."""
    return [reader.run(CELLS[name]) for name in names][-1]


def whose(reader):
    """Part → whose it is, as the table says."""
    rows = [line.split(maxsplit=3) for line in repr(reader.names["parts"]).splitlines()]
    return {row[0]: row[3] for row in rows}


def train_a_little(reader, capsys):
    """Run the cells that train, for three steps; return the losses before and after, and a text."""
    for name in TRAINED:
        reader.run(CELLS[name].replace("STEPS, RATE = 100,", "STEPS, RATE = 3,"))
    capsys.readouterr()
    story = reader.run('write(my_gpt, "\\nAnn was in the park.", 3)')
    with torch.no_grad():
        cured = reader.run("loss_of(start_small(MyGPT(180, 64, WIDTH, 2, 4)), read, answers)")
    return cured.item(), reader.names["trained"], story


def keep_my_gpt(reader, cell=CURED):
    reader.run(cell)
    return reader.run("exercises.check_MyGPT(MyGPT)").message


def assert_found_again(reader, capsys):
    """What a later lecture gets is the reader's class, from the file alone, and it can learn."""
    found = collect_parts(reader.file.parent).MyGPT
    assert found.__module__ == "my_gpt"
    torch.manual_seed(0)
    model = found(V=180, P=64, C=16, L=1, H=2)
    inputs, targets = story_batch(64, 8, SHORT_STORIES)(torch.Generator().manual_seed(0))

    def loss():
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    first, optimizer = loss().item(), torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(20):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    assert abs(first - math.log(180)) < 0.3 and loss().item() < first - 1
    library = load_story_gpt()
    mine = found(V=180, P=192, C=96, L=4, H=4)
    mine.load_state_dict(library.state_dict())
    text = torch.arange(22).view(2, 11)
    torch.testing.assert_close(mine(text), library(text), atol=1e-4, rtol=1e-4)


def in_the_next_lecture(reader, capsys):
    """What lecture 06b prints where it takes the class."""
    learner = Reader(reader.file.parent, find_lecture("06b").module("exercises"))
    capsys.readouterr()
    for name in ("setup", "stories"):
        learner.run(NEXT_LECTURE[name])
    return capsys.readouterr().out


class TestPartsOfTheReader:
    def test_all_are_theirs(self, reader, capsys):
        build(reader)
        run(reader, *MODEL)
        assert whose(reader) == {**dict.fromkeys(whose(reader), "yours"), "MyGPT": "ours"}
        attention = reader.names["MyGPT"](7, 5, 6, 1, 2).blocks[0].attention
        assert type(attention).__module__ == "my_gpt"
        before, after, story = train_a_little(reader, capsys)
        assert after < before < 5.5 and story.startswith("Ann was in the park.")
        kept = keep_my_gpt(reader)
        assert "Kept as `MyGPT` in my_gpt.py, with" in kept
        assert all(name in kept for name in ("`LayerNorm`", "`gelu`", "`FeedForward`", "`Block`"))
        assert "lectures." not in reader.text  # nothing of ours is in it
        assert_found_again(reader, capsys)
        assert "MyGPT: yours" in in_the_next_lecture(reader, capsys)
        run(reader, "collect")
        assert {*whose(reader).values()} == {"yours"}
        run(reader, "load", "cache", "cache-check")
        said = capsys.readouterr().out
        assert "the scores of your GPT" in said and "with the cache" in said

    def test_some_are_theirs(self, reader, capsys):
        """The others are imported, until the reader builds them too."""
        build(reader, "block", "softmax")
        run(reader, *MODEL)
        before, after, _ = train_a_little(reader, capsys)
        assert after < before < 5.5
        assert "Kept as `MyGPT`" in keep_my_gpt(reader)
        assert re.findall(r"^from lectures\.\S+ import (\w+)$", reader.text, re.M) == [
            "MultiHead", "causal_mask",
        ]  # fmt: skip
        assert_found_again(reader, capsys)
        build(reader, "MultiHead")
        mine = collect_parts(reader.file.parent).MyGPT(7, 5, 6, 1, 2)
        assert type(mine.blocks[0].attention).__module__ == "my_gpt"
        assert_found_again(reader, capsys)

    def test_one_is_wrong(self, reader, capsys):
        """It is replaced by ours, and what would use it in the file is not kept."""
        build(reader)
        wrong = reader.text.replace(".masked_fill(~may_attend, -torch.inf)", "")
        assert wrong != reader.text
        reader.file.write_text(wrong)
        run(reader, *MODEL)
        assert whose(reader)["MultiHead"] == "ours: yours does not pass"
        before, after, _ = train_a_little(reader, capsys)
        assert after < before < 5.5
        said = keep_my_gpt(reader)
        assert "Not kept in my_gpt.py" in said and "attends to the whole text" in said
        assert reader.file.read_text() == wrong
        assert collect_parts(reader.file.parent).MyGPT.__module__.startswith("lectures.")
        assert "MyGPT: ours" in in_the_next_lecture(reader, capsys)

    def test_without_the_cure_it_is_told_so_and_not_kept(self, reader):
        run(reader, *MODEL)
        verdict = reader.run(CELLS["ex-my-gpt-check"])
        assert not verdict.passed and re.search(r"pays 4\d\.?\d* nats", verdict.message)
        assert not reader.file.exists()

    def test_kept_again_with_another_helper(self, reader):
        run(reader, *MODEL)
        keep_my_gpt(reader)
        before = reader.text
        reader.run(CELLS["norm"].replace("(variance + 1e-5).sqrt()", "torch.sqrt(variance + 1e-5)"))
        run(reader, "block-class")
        assert "has another `LayerNorm`" in keep_my_gpt(reader) and reader.text == before
        reader.run("exercises.check_MyGPT(MyGPT, replace=True)")
        assert reader.text == before.replace(
            "(variance + 1e-5).sqrt()", "torch.sqrt(variance + 1e-5)"
        )


def test_who_has_built_nothing_gets_the_same_scores(reader, capsys):
    run(reader, *MODEL, "untrained", "load")
    assert "the scores of your GPT" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("cell", "right", "wrong"),
    [
        ("norm", ".square().mean(dim=-1, keepdim=True)", ".square().sum(-1, keepdim=True) / 95"),
        ("feedforward", "0.044715", "0.04"),
        ("block-class", "may_attend=causal_mask(x.shape[1])", "may_attend=None"),
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
        run(reader, "untrained", "load")


def test_the_ladder_finds_the_part(reader, capsys):
    def climb():
        capsys.readouterr()
        run(reader, "ladder")
        counts = re.findall(r"in (\d+) of 10 parts beyond 1e-05: *(\S*)", capsys.readouterr().out)
        return [int(count) for count, _ in counts], [name for _, name in counts if name]

    run(reader, *MODEL, "untrained", "load", "fault", "trace")
    differ, first = climb()
    assert differ == [0, 0, 2, 10] and first[0] == "blocks.2.feedforward.contract"
    reader.run("faulty = my_gpt")
    assert climb() == ([0] * 4, [])

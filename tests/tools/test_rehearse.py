"""Rehearsing a lecture: minutes, scenes, waits, what exceeds the slot, and bad input."""

import json
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from benchmarks import lectures as benchmark
from course_utils.lectures import EXPLORERS
from tests.support_errors import raises_saying
from tools.notebook_file import Cell, NotebookFileError, find_lecture, known_lectures, read_cells
from tools.presenting import cell_times
from tools.presenting import timing as rehearse
from tools.presenting.cell_times import CellTime, digest, measure_cells, read_times
from tools.presenting.plan import make_plan

TITLE = "# 98 · Why?\n\n12 minutes in class; the exercises are for afterwards."
SOLUTION = "<details>\n<summary>Solution (gentle, 5 min)</summary>\n\nSo.\n\n</details>"


def text(slide_type, source, name):
    return new_markdown_cell(source, id=name, metadata={"slideshow": {"slide_type": slide_type}})


def code(slide_type, source, name):
    return new_code_cell(source, id=name, metadata={"slideshow": {"slide_type": slide_type}})


def notes(said, name):
    source = f"<details>\n<summary>For the presenter, {said}</summary>\n\nAsk.\n\n</details>"
    return text("notes", source, name)


TALK = [
    text("slide", TITLE, "title"),
    notes("1 min", "talk-title"),
    code("skip", "setup = 1", "setup"),
    text("slide", "## 1 · One", "one"),
    code("fragment", "one = 1", "one-code"),
    notes("4 min", "talk-one"),
    text("subslide", "### Inside", "inside"),
    code("-", "viz.explore_masks()", "masks"),
    notes("3 min", "talk-inside"),
    text("slide", "## 2 · Two", "two"),
    code("-", "two = 2", "two-code"),
    notes("2 min", "talk-two"),
    text("slide", "## Source notes", "notes"),
    notes("1 min", "talk-notes"),
    text("slide", "## Exercises\n\n### 1 · Do it\n\nDo.", "ex-1"),
    text("-", SOLUTION, "ex-1-solution"),
    notes("after class", "talk-ex"),
]
SOURCES = {cell.id: cell.source for cell in TALK if cell.cell_type == "code"}


@pytest.fixture
def talk(tmp_path):
    """Write a lecture, with other cells where given; return its file."""

    def save(**changed):
        cells = [changed.get(cell.id.replace("-", "_"), cell) for cell in TALK]
        path = tmp_path / "98_talk.ipynb"
        nbformat.write(new_notebook(cells=[cell for cell in cells if cell is not None]), path)
        return path

    return save


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """Write down times of the lecture's cells."""

    def save(**seconds):
        cells = {
            name: {"seconds": seconds.get(name.replace("-", "_"), 0.1), "source": digest(source)}
            for name, source in SOURCES.items()
        }
        path = tmp_path / "lectures.json"
        path.write_text(json.dumps({"lectures": {"98": {"cells": cells}}}), encoding="utf-8")
        monkeypatch.setattr(rehearse, "RESULTS", path)
        return path

    return save


@pytest.fixture
def command(capsys):
    def run(*arguments):
        status = rehearse.main([*map(str, arguments)])
        return status, capsys.readouterr().out

    return run


def spaced(said):
    """The text with single spaces, however it is wrapped."""
    return " ".join(said.split())


class TestTable:
    def test_slides_minutes_totals_and_waits(self, talk, measured, command):
        measured(setup=2.0, one_code=31.26, two_code=1.0, masks=0.99)
        status, said = command(talk())
        lines = said.splitlines()
        assert status == 0
        assert lines[0] == "98 · Why?: 6 slides, slot 12 min"
        assert lines[2:8] == [
            " no   min  total  slide",
            "  1     1      1  98 · Why?",
            "                    waits:  setup 2.0 s",
            "  2     4      5  1 · One",
            "                    waits:  one-code 31.3 s",
            "  3     3      8    Inside",
        ]
        assert "  4     2     10  2 · Two" in lines
        assert "                    waits:  two-code 1.0 s" in lines
        assert "  6 later         Exercises" in lines
        assert "It fits: the plan takes 11 of 12 minutes." in lines
        assert "3 cells of a second and more: 34 s in all, everywhere less than" in said

    def test_scenes_have_the_keys_of_their_buttons(self, talk, measured, command):
        measured()
        labels = EXPLORERS["explore_masks"].scenes
        keys = " ".join(f"[{key}] {label}" for key, label in enumerate(labels, start=1))
        assert f"scenes: {keys} 4 2 10 2 · Two" in spaced(command(talk())[1])

    def test_exercises_are_for_after_class(self, talk, measured, command):
        measured()
        assert command(talk())[1].endswith(
            "\nAfter class: 1 exercise, 5 min, and the quiz\n  1 · Do it (gentle, 5 min)\n"
        )

    def test_json_says_the_same(self, talk, measured, command):
        measured(one_code=31.0)
        status, said = command(talk(), "--json", "--slot", 10)
        found = json.loads(said)
        assert status == 1
        assert (found["slot"], found["minutes"], found["excess"]) == (10, 11, 1)
        assert (found["optional"], found["longest"]) == ([5], [2, 3, 4])
        assert found["unplanned"] == found["unknown_cells"] == []
        slides = found["slides"]
        assert [slide["minutes"] for slide in slides] == [1, 4, 3, 2, 1, None]
        assert slides[1]["waits"] == {"one-code": 31.0} and slides[5]["after_class"]
        assert slides[2]["scenes"] == {"explore_masks": list(EXPLORERS["explore_masks"].scenes)}
        assert found["after_class"] == [
            {"title": "1 · Do it", "difficulty": "gentle", "minutes": 5}
        ]


class TestSlot:
    @pytest.mark.parametrize(
        ("slot", "status", "words"),
        [
            (11, 0, "It fits: the plan takes 11 of 11 minutes."),
            (
                10,
                1,
                "Too long: the plan takes 11 minutes, 1 more than the slot of 10. To leave out "
                "first, since the notebook keeps it: slides 5 (1 min), 1 minute in all. The "
                "longest slides: 2 (4 min), 3 (3 min), 4 (2 min).",
            ),
        ],
    )
    def test_too_long_says_by_how_much_and_what_could_go(
        self, talk, measured, command, slot, status, words
    ):
        measured()
        found, said = command(talk(), "--slot", slot)
        assert found == status and words in spaced(said)

    @pytest.mark.parametrize(("slot", "longest"), [(12, [2, 1, 3]), (1, [2, 1, 3, 4])])
    def test_slides_are_named_until_they_save_the_excess(self, talk, slot, longest):
        plan = make_plan(talk(talk_title=notes("3 min", "talk-title")), {}, slot)
        assert [slide.number for slide in plan.longest] == longest
        named = (*plan.optional, *plan.longest)
        assert sum(slide.minutes for slide in named) >= plan.excess

    def test_a_section_without_minutes_is_said(self, talk, measured, command):
        measured()
        status, said = command(talk(talk_two=None))
        assert status == 0
        assert "  4     ?         2 · Two" in said.splitlines()
        assert "It fits: the plan takes at least 9 of 12 minutes." in said
        assert "No minutes are planned for the sections that begin at slide 4 (marked ?)." in said

    def test_a_slide_is_within_the_minutes_of_its_section(self, talk, measured, command):
        measured()
        _, said = command(talk(talk_inside=None))
        assert "  3                 Inside" in said.splitlines() and "at least" not in said


class TestWaits:
    def test_waiting_longer_than_the_section_is_said(self, talk, measured, command):
        measured(two_code=120.1, one_code=400.0)
        assert (
            "2 cells of a second and more: 520 s in all. Not within its 2 min: 2 · Two computes "
            "for 120 s. Run it before class."
        ) in spaced(command(talk())[1])

    def test_a_cell_that_changed_since_is_unknown(self, talk, measured, command):
        measured(two_code=50.0)
        _, said = command(talk(two_code=code("-", "two = 3", "two-code")))
        assert "two-code 50.0 s" not in said
        assert "1 code cell not measured, or changed since: two-code. " in said

    def test_without_a_measurement_all_are_unknown(self, talk, tmp_path, monkeypatch, command):
        monkeypatch.setattr(rehearse, "RESULTS", tmp_path / "none.json")
        status, said = command(talk())
        assert status == 0 and "4 code cells not measured, or changed since: setup, " in said

    def test_measuring_runs_the_lecture(self, talk, monkeypatch, command):
        def run(cells, folder):
            assert (folder / "98_talk.ipynb").is_file()
            return {c.id: CellTime(7.0, digest(c.source)) for c in cells if c.kind == "code"}

        monkeypatch.setattr(rehearse, "measure_cells", run)
        assert "4 cells of a second and more: 28 s in all" in command(talk(), "--measure")[1]


class TestLectures:
    @pytest.mark.parametrize("number", known_lectures())
    def test_a_lecture_takes_the_minutes_it_states(self, number):
        path = find_lecture(number)
        plan = make_plan(path, {})
        assert [section.title for section in plan.sections if section.unplanned] == []
        assert plan.minutes == plan.slot
        solutions = [c for c in read_cells(path) if "<summary>Solution" in c.source]
        assert len(plan.homework) == len(solutions)

    @pytest.mark.parametrize("number", ["00", "07"])
    def test_the_table_fits_a_terminal(self, number, command):
        _, said = command(number)
        assert max(map(len, said.splitlines())) <= 100

    def test_every_explorer_on_a_slide_is_one_of_the_course(self):
        found = {
            name
            for path in known_lectures().values()
            for slide in make_plan(path, {}, 1).slides
            for name in slide.explorers
        }
        assert found == set(EXPLORERS)


class TestBadInput:
    def test_an_unknown_lecture_lists_the_known(self, command):
        status, said = command("11")
        names = ", ".join(path.stem for path in known_lectures().values())
        assert (status, said) == (2, f"the lecture must be one of {names}; got '11'\n")

    def test_no_stated_minutes_need_a_slot(self, talk, command):
        path = talk(title=text("slide", "# Why?", "title"))
        message = (
            f"the first cell of {path} must say for example '35 minutes in class', "
            "or a slot must be given: --slot 35\n"
        )
        assert command(path) == (2, message)
        assert command(path, "--slot", 20)[0] == 0

    @pytest.mark.parametrize("slot", ["0", "-5", "half an hour", "2.5"])
    def test_a_slot_is_a_whole_number_of_minutes(self, capsys, slot):
        with pytest.raises(SystemExit) as ended:
            rehearse.main(["01", f"--slot={slot}"])
        assert ended.value.code == 2
        said = f"argument --slot: must be a whole number of minutes, got '{slot}'"
        assert said in capsys.readouterr().err

    def test_broken_notes_are_said(self, talk, command):
        path = talk(talk_one=text("notes", "Ask!", "talk-one"))
        status, said = command(path)
        assert status == 2 and f"cell 6 ('Ask!') does not ({path})" in said

    def test_a_lecture_without_slides_is_refused(self, tmp_path):
        path = tmp_path / "98_talk.ipynb"
        nbformat.write(new_notebook(), path)
        with raises_saying(NotebookFileError, f"a lecture must have slides, found none in {path}"):
            make_plan(path, {}, 10)

    def test_an_explorer_that_is_none_has_no_scenes(self, talk, measured, command):
        measured()
        cell = code("-", "viz.explore_nothing()", "masks")
        assert "scenes: none" in command(talk(masks=cell))[1]

    @pytest.mark.parametrize("content", ["{", "[]", '{"lectures": {"98": {"cells": {"x": {}}}}}'])
    def test_measurements_of_another_form_are_refused(self, tmp_path, content):
        path = tmp_path / "lectures.json"
        path.write_text(content, encoding="utf-8")
        start = re.escape(f"{path} must be what `python -m benchmarks.lectures --json` writes: ")
        with pytest.raises(NotebookFileError, match=f"^{start}"):
            read_times("98", path)


def cell(name, source, *tags, kind="code"):
    return Cell(0, kind, name, source, "-", tags)


class FakeKernel:
    """Runs cells in this process and counts them; the kernel itself is tested elsewhere."""

    def __init__(self, **options):
        self.folder = options["folder"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, source):
        try:
            exec(source, {})
        except Exception as error:
            return repr(error)
        return ""


class TestMeasuring:
    @pytest.fixture(autouse=True)
    def fake(self, monkeypatch):
        monkeypatch.setattr(cell_times, "CourseKernel", FakeKernel)
        ticks = iter([0.0, 0.5, 10.0, 12.0])
        monkeypatch.setattr(cell_times.time, "perf_counter", lambda: next(ticks))

    def test_each_code_cell_has_its_own_time(self, tmp_path):
        cells = [
            cell("a", "x = 1"),
            cell("words", "1 / 0", kind="markdown"),
            cell("b", "1 / 0", "raises-exception"),
        ]
        assert measure_cells(cells, tmp_path) == {
            "a": CellTime(0.5, digest("x = 1")),
            "b": CellTime(2.0, digest("1 / 0")),
        }

    def test_a_cell_that_stops_is_said(self, tmp_path):
        said = "a lecture must run; cell 1 ('1 / 0') stops: ZeroDivisionError('division by zero')"
        with raises_saying(NotebookFileError, said):
            measure_cells([cell("a", "1 / 0")], tmp_path)


class TestBenchmark:
    @pytest.fixture(autouse=True)
    def fake(self, talk, monkeypatch):
        path = talk()
        times = {name: CellTime(3.0, digest(source)) for name, source in SOURCES.items()}
        monkeypatch.setattr(benchmark, "known_lectures", lambda: {"97": path, "98": path})
        monkeypatch.setattr(benchmark, "measure_cells", lambda cells, folder: times)

    def test_rehearsal_reads_what_it_writes(self, tmp_path, monkeypatch, capsys, command, talk):
        assert benchmark.main(["--json"]) == 0
        path = tmp_path / "lectures.json"
        path.write_text(capsys.readouterr().out, encoding="utf-8")
        monkeypatch.setattr(rehearse, "RESULTS", path)
        assert "4 cells of a second and more: 12 s in all" in command(talk())[1]
        conditions = json.loads(path.read_text(encoding="utf-8"))["conditions"]
        assert conditions["command"] == "python -m benchmarks.lectures --json"

    def test_the_table_names_the_heavy_cells(self, capsys):
        assert benchmark.main(["--only", "98"]) == 0
        lines = capsys.readouterr().out.splitlines()
        heavy = "setup 3.0, one-code 3.0, masks 3.0, two-code 3.0"
        assert lines[-1] == f"98           12.0        3.000  {heavy}"
        assert not any(line.startswith("97") for line in lines)

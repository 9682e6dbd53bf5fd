"""The reader's copies: what nobody worked in follows the lectures; what anybody wrote stays."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.editions import my_course
from tools.editions.my_course import CopyError, copies_of, stamped, update_copies
from tools.editions.reader import reader_text


def notebook(text):
    cell = {"cell_type": "markdown", "id": "a", "metadata": {}, "source": [text]}
    return {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def with_picture(text, png):
    """A lecture that opens on a picture."""
    made = notebook(f"# {text}?")
    for number, source in enumerate(["x = 3", "explorers.explore_x()"]):
        cell = {"cell_type": "code", "id": f"c{number}", "metadata": {}, "source": [source]}
        made["cells"].append(cell | {"outputs": [], "execution_count": number})
    data = {"image/png": png, "text/plain": ["How far?"]}
    output = {"output_type": "execute_result", "metadata": {}, "execution_count": 1, "data": data}
    made["cells"][2]["outputs"] = [output]
    return made


class Course:
    """Two lectures, 00_a and 01_b, and a folder of copies."""

    def __init__(self, root):
        self.lectures, self.copies = root / "notebooks", root / "my course"
        self.lectures.mkdir(parents=True)
        for stem in ("00_a", "01_b"):
            self.edit(stem, "first edition")

    def edit(self, stem, text):
        self.write(stem, notebook(text))

    def write(self, stem, lecture):
        (self.lectures / f"{stem}.ipynb").write_text(json.dumps(lecture), encoding="utf-8")

    def update(self):
        return update_copies(self.lectures, self.copies, ("00_a", "01_b"))

    def edition(self, text):
        return stamped(reader_text(notebook(text)))

    def work_in(self, name, text):
        """Write into a copy as a reader does: what it says of its edition stays."""
        path = self.copies / name
        content = json.loads(path.read_bytes())
        content["cells"][0]["source"] = text
        path.write_text(json.dumps(content), encoding="utf-8")
        return path.read_bytes()

    def held(self):
        """What each copy holds."""
        return {
            path.name: path.read_bytes() for path in self.copies.glob("*.ipynb") if path.is_file()
        }


@pytest.fixture
def course(tmp_path):
    made = Course(tmp_path)
    assert made.update() == []
    return made


def test_an_untouched_copy_follows(course):
    course.edit("00_a", "second edition")
    assert course.update() == []
    assert course.held() == {
        "00_a.ipynb": course.edition("second edition"),
        "01_b.ipynb": course.edition("first edition"),
    }


def test_opening_and_saving_is_no_work(course):
    """JupyterLab writes the kernel's name and version, and each source as it likes."""
    path = course.copies / "00_a.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["metadata"] |= {"kernelspec": {"name": "python3"}, "language_info": {"version": "3.12"}}
    content["cells"][0] |= {"source": "first edition", "metadata": {"trusted": True}}
    path.write_text(json.dumps(content), encoding="utf-8")
    course.edit("00_a", "second edition")
    assert course.update() == []
    assert course.held()["00_a.ipynb"] == course.edition("second edition")


@pytest.mark.parametrize(
    "work",
    [
        {"cell_type": "code", "outputs": [{"output_type": "stream"}]},
        {"metadata": {"tags": ["mine"]}},
        {"attachments": {"a.png": {}}},
    ],
    ids=["output", "metadata", "attachment"],
)
def test_what_is_work_beside_the_text(course, work):
    path = course.copies / "00_a.ipynb"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["cells"][0] |= work
    path.write_text(json.dumps(content), encoding="utf-8")
    before = path.read_bytes()
    course.edit("00_a", "second edition")
    assert len(course.update()) == 1
    assert path.read_bytes() == before


def test_work_stays_and_the_new_edition_lies_beside_it(course):
    mine = course.work_in("00_a.ipynb", "my work")
    assert course.update() == []  # its lecture is the same
    course.edit("00_a", "second edition")
    (line,) = course.update()
    assert "00_a.ipynb has your work" in line and "00_a (edition 2).ipynb" in line
    assert course.update() == []  # said once
    assert course.held() == {
        "00_a.ipynb": mine,
        "00_a (edition 2).ipynb": course.edition("second edition"),
        "01_b.ipynb": course.edition("first edition"),
    }
    assert [path.name for path in copies_of("00_a", course.copies)][-1] == "00_a (edition 2).ipynb"


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"cells": 5}', b'{"cells": [5]}', b"\xff\xfe", b"[" * 10**5]
)
def test_a_damaged_copy_is_said_and_left_alone(course, damage):
    (course.copies / "00_a.ipynb").write_bytes(damage)
    (line,) = course.update()
    assert "00_a.ipynb is damaged" in line
    assert course.held()["00_a.ipynb"] == damage
    assert course.held()["00_a (edition 2).ipynb"] == course.edition("first edition")


def test_an_old_tab_saved_over_a_newer_edition(course):
    """Untouched it follows; where it has work, the new edition is offered again."""
    path = course.copies / "00_a.ipynb"
    open_tab = path.read_bytes()
    course.edit("00_a", "second edition")
    course.update()
    path.write_bytes(open_tab)
    course.update()
    assert course.held()["00_a.ipynb"] == course.edition("second edition")
    path.write_bytes(open_tab)
    mine = course.work_in("00_a.ipynb", "mine")
    assert len(course.update()) == 1
    assert course.held()["00_a.ipynb"] == mine
    assert course.held()["00_a (edition 2).ipynb"] == course.edition("second edition")


def test_a_save_during_an_update_stays(course, monkeypatch):
    """At the last moment before the new edition takes the copy's place."""
    course.edit("00_a", "second edition")
    write, saved = my_course.write_whole, []

    def slow_write(path, content, unless):
        saved.append(course.work_in("00_a.ipynb", "mine"))
        write(path, content, unless)

    monkeypatch.setattr(my_course, "write_whole", slow_write)
    course.update()
    assert course.held()["00_a.ipynb"] == saved[0]


@pytest.mark.skipif(os.name == "nt", reason="Windows lets not everybody make links")
def test_links_are_not_written_through(course, tmp_path):
    (course.copies / "00_a.ipynb").unlink()
    (course.copies / "00_a.ipynb").symlink_to(tmp_path / "nowhere")
    (tmp_path / "target").write_text("theirs")
    (course.copies / ".01_b.ipynb.part").symlink_to(tmp_path / "target")
    course.edit("01_b", "second edition")
    assert len(course.update()) == 1
    assert (course.copies / "00_a.ipynb").is_symlink() and not (tmp_path / "nowhere").exists()
    assert (course.copies / "00_a (edition 2).ipynb").is_file()
    assert course.held()["01_b.ipynb"] == course.edition("second edition")
    assert (tmp_path / "target").read_text() == "theirs"


@pytest.mark.parametrize("damage", ["", "<<<<<<< HEAD", "[]", '{"cells": [{}]}', None])
def test_one_bad_source_keeps_no_other_from_the_reader(course, damage):
    before = course.held()["00_a.ipynb"]
    course.edit("01_b", "second edition")
    source = course.lectures / "00_a.ipynb"
    source.unlink() if damage is None else source.write_text(damage)
    (course.lectures / "Untitled.ipynb").write_text("")
    (course.lectures / "._00_a.ipynb").write_bytes(b"\x00\x05")
    (line,) = course.update()
    assert "00_a.ipynb cannot be read" in line
    assert course.held() == {
        "00_a.ipynb": before,
        "01_b.ipynb": course.edition("second edition"),
    }


STEPS = st.tuples(
    st.sampled_from(["work", "edit", "update", "delete", "replace"]), st.integers(0, 2)
)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_whatever_happens_no_work_is_lost(tmp_path_factory, steps):
    """Work is what a reader wrote into the newest copy and did not delete."""
    course = Course(tmp_path_factory.mktemp("course"))
    course.update()
    work = {}
    for number, (step, which) in enumerate(steps):
        copies = copies_of("00_a", course.copies)
        path = copies[which % len(copies)] if copies else None
        if step == "edit":
            course.edit("00_a", f"edition {which}")
        elif step == "update":
            course.update()
        elif path and step == "work":
            work[path] = course.work_in(path.name, f"work {number}")
        elif path and step == "replace":
            work[path] = json.dumps(notebook(f"another file {number}")).encode()
            path.write_bytes(work[path])
        elif path and step == "delete":
            work.pop(path, None)
            path.unlink()
        assert {path: path.read_bytes() for path in work} == work
    course.update()
    assert {path: path.read_bytes() for path in work} == work
    newest = (course.lectures / "00_a.ipynb").read_text(encoding="utf-8")
    offered = stamped(reader_text(json.loads(newest)))
    # The present edition is there, unless its reader works in a copy that began as it.
    assert offered in course.held().values() or any(path.name in course.held() for path in work)


def run_by_the_reader(content):
    content["cells"][2]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "7"}]


def cleared_by_the_reader(content):
    content["cells"][2]["outputs"] = []


def saved_by_a_front_end(content):
    """Each has its own way to break texts into lines, and writes a kernel's name unasked."""
    data = content["cells"][2]["outputs"][0]["data"]
    data["image/png"] = [f"{''.join(data['image/png'])}\n"]
    content["metadata"]["kernelspec"] = {"name": "python3"}


class TestThePictureOfACopy:
    """It came with the copy: nobody's work, and no edition."""

    @pytest.fixture
    def pictured(self, course):
        course.write("00_a", with_picture("Why", "AAAA"))
        course.update()
        return course

    def change(self, course, how):
        path = course.copies / "00_a.ipynb"
        content = json.loads(path.read_bytes())
        how(content)
        path.write_text(json.dumps(content), encoding="utf-8")
        return path.read_bytes()

    def test_copies_made_before_there_were_pictures_are_untouched(self):
        """The digest is the one that they have."""
        cell = {"cell_type": "code", "id": "b", "metadata": {}, "source": ["explorers.explore_x()"]}
        earlier = notebook("first edition")
        earlier["cells"].append(cell | {"outputs": [], "execution_count": None})
        earlier["metadata"] = {
            my_course.EDITION: "c9f7e9ac54e2bfaa3e6a3e22c6c84c5dc23e2bf2b0ca4fc47a8c5df8e1f7de8b"
        }
        assert my_course.is_untouched(json.dumps(earlier).encode())
        earlier["cells"][1]["source"] = ["x = 4"]
        assert not my_course.is_untouched(json.dumps(earlier).encode())

    @pytest.mark.parametrize("how", [lambda content: None, cleared_by_the_reader])
    def test_a_new_one_goes_into_an_untouched_copy(self, pictured, how):
        self.change(pictured, how)
        pictured.write("00_a", with_picture("Why", "BBBB"))
        assert pictured.update() == []
        lecture = reader_text(with_picture("Why", "BBBB"))
        assert pictured.held()["00_a.ipynb"] == stamped(lecture) and "BBBB" in lecture

    def test_a_front_end_s_own_way_to_write_it_changes_nothing(self, pictured):
        saved = self.change(pictured, saved_by_a_front_end)
        assert pictured.update() == []
        assert pictured.held()["00_a.ipynb"] == saved

    def test_what_the_reader_s_run_has_made_stays(self, pictured):
        mine = self.change(pictured, run_by_the_reader)
        pictured.write("00_a", with_picture("Why", "BBBB"))
        assert pictured.update() == []
        pictured.write("00_a", with_picture("Why else", "CCCC"))
        assert len(pictured.update()) == 1
        assert pictured.held()["00_a.ipynb"] == mine

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.sampled_from([*map(chr, range(65, 70)), "run", "clear", "work"]), max_size=10)
    )
    def test_no_picture_makes_an_edition(self, tmp_path_factory, steps):
        """A letter is a new picture. Only untouched copies follow, and nothing is ever said."""
        course = Course(tmp_path_factory.mktemp("course"))
        newest, mine = "AAAA", None
        course.write("00_a", with_picture("Why", newest))
        course.update()
        for step in steps:
            if step == "run":
                mine = self.change(course, run_by_the_reader)
            elif step == "work":
                mine = course.work_in("00_a.ipynb", "my work")
            elif step == "clear" and mine is None:
                self.change(course, cleared_by_the_reader)
            elif len(step) == 1:
                newest = step * 4
                course.write("00_a", with_picture("Why", newest))
            assert course.update() == []
            assert len(course.held()) == 2, "a copy for each lecture, no second edition"
            untouched = stamped(reader_text(with_picture("Why", newest)))
            assert course.held()["00_a.ipynb"] == (mine or untouched)


class TestTrouble:
    def test_a_file_in_the_folders_place(self, tmp_path):
        course = Course(tmp_path)
        course.copies.write_text("mine", encoding="utf-8")
        with pytest.raises(CopyError, match="Your work is untouched"):
            course.update()
        assert course.copies.read_text(encoding="utf-8") == "mine"

    @pytest.mark.skipif(os.name == "nt", reason="limits of a process are Unix's")
    def test_a_disk_that_fills_up(self, course):
        """A limit on a file's size stands for it: writing fails half-way in the same place."""
        before = course.held()
        course.edit("00_a", "x" * 10_000)
        course.edit("01_b", "second edition")
        code = (
            "import resource, sys; from pathlib import Path\n"
            "from tools.editions.my_course import CopyError, update_copies\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
            "try: update_copies(*map(Path, sys.argv[1:]), ('00_a', '01_b'))\n"
            "except CopyError as error: sys.exit(str(error))"
        )
        command = [sys.executable, "-c", code, course.lectures, course.copies]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and "leave some megabytes free" in done.stderr
        assert course.held() == before
        assert not list(course.copies.glob(".*.part"))
        course.update()  # there is room again
        assert course.held()["00_a.ipynb"] == course.edition("x" * 10_000)

    def test_two_at_once(self, tmp_path):
        course = Course(tmp_path)
        for stem in (f"{number:02}_x" for number in range(2, 30)):
            course.edit(stem, stem * 1000)
        code = (
            "import sys; from pathlib import Path\n"
            "from tools.editions.my_course import update_copies\n"
            "lectures, copies = map(Path, sys.argv[1:])\n"
            "update_copies(lectures, copies, sorted(each.stem for each in lectures.iterdir()))"
        )
        command = [sys.executable, "-c", code, course.lectures, course.copies]
        both = [subprocess.Popen(command) for _ in range(2)]
        assert [each.wait() for each in both] == [0, 0]
        assert sorted(course.held()) == sorted(path.name for path in course.lectures.glob("*"))
        assert all(map(json.loads, course.held().values()))


def test_the_courses_own_lectures(tmp_path):
    """As set-up calls it: Python alone, without the environment's packages."""
    command = [sys.executable, "-I", "-S", "-c"]
    root = Path(__file__).resolve().parents[2]
    code = f"import sys; sys.path.insert(0, {str(root)!r}); from tools.editions import my_course"
    done = subprocess.run(
        [*command, f"{code}; sys.exit(my_course.main([sys.argv[1]]))", tmp_path / "mine"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    names = {path.name for path in (root / "notebooks").glob("*.ipynb")}
    assert {path.name for path in (tmp_path / "mine").glob("*.ipynb")} == names

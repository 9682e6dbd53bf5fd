"""The slides of a lecture, as its cells' metadata says; against nbconvert's, and bad notebooks."""

import json

import nbformat
import pytest
from nbconvert.exporters.slides import _RevealMetadataPreprocessor
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tests.support_errors import raises_saying
from tools.notebook_file import NotebookFileError, find_lecture, known_lectures, read_cells
from tools.presenting.slides import read_slides

NOTES = "<details>\n<summary>For the presenter, {}</summary>\n\n{}\n\n</details>"


def text(slide_type, source, **more):
    return new_markdown_cell(source, metadata={"slideshow": {"slide_type": slide_type}}, **more)


def code(slide_type, source, **more):
    return new_code_cell(source, metadata={"slideshow": {"slide_type": slide_type}}, **more)


@pytest.fixture
def save(tmp_path):
    def write(*cells):
        path = tmp_path / "talk.ipynb"
        nbformat.write(new_notebook(cells=list(cells)), path)
        return path

    return write


@pytest.mark.parametrize("number", known_lectures())
def test_slides_begin_where_nbconvert_begins_them(number):
    path = find_lecture(number)
    notebook = nbformat.read(path, as_version=4)
    prepared, _ = _RevealMetadataPreprocessor().preprocess(notebook, {})
    begin = [cell.id for cell in prepared.cells if cell.metadata.get("subslide_start")]
    sections = [cell.id for cell in prepared.cells if cell.metadata.get("slide_start")]
    slides = read_slides(path)
    assert [slide.ids[0] for slide in slides] == begin
    assert [slide.ids[0] for slide in slides if slide.kind == "slide"] == sections
    assert [slide.number for slide in slides] == list(range(1, len(slides) + 1))


@pytest.mark.parametrize("number", known_lectures())
def test_every_cell_is_shown_once_or_said_to_be_hidden(number):
    cells, slides = read_cells(find_lecture(number)), read_slides(find_lecture(number))
    shown = [place for slide in slides for place in slide.cells]
    hidden = [cell.place for cell in cells if cell.slide_type in ("skip", "notes")]
    assert sorted(shown + hidden) == list(range(len(cells))) and shown == sorted(shown)
    skipped = [name for slide in slides for name in slide.skipped]
    assert skipped == [cell.id for cell in cells if cell.slide_type == "skip"]
    fragments = sum(slide.fragments for slide in slides)
    assert fragments == sum(cell.slide_type == "fragment" for cell in cells)


class TestOneTalk:
    @pytest.fixture
    def slides(self, save):
        return read_slides(
            save(
                code("skip", "import torch", id="before"),
                text("slide", "# Why?\n\nWords.", id="title"),
                text("notes", NOTES.format("2 min", "**Ask.** Why?\n\n**Show.** Nothing.")),
                text("slide", "```python\n# a comment\n```\n\n## 1 · **One**", id="one"),
                code("-", "# explore_nothing()\nviz.explore_masks(T=5)", id="live"),
                code("fragment", "def explore_x(): pass\n1", id="later"),
                code("skip", "2", id="quiet"),
                new_markdown_cell("More.", id="more"),
                text("subslide", "No heading", id="two"),
                code("fragment", "%time explore_lines()\nexplore_rope()", id="last"),
                text("subslide", "### Inside", id="three"),
                text("slide", "Words", id="four"),
                text("notes", NOTES.format("after class", "Homework."), id="n"),
            )
        )

    def test_cells_are_grouped(self, slides):
        shown = [("title",), ("one", "live", "later", "more"), ("two", "last"), ("three",)]
        assert [slide.ids for slide in slides] == [*shown, ("four",)]
        assert slides[1].cells == (3, 4, 5, 7)
        assert [slide.section_number for slide in slides] == [1, 2, 2, 2, 3]
        assert [slide.fragments for slide in slides] == [0, 1, 1, 0, 0]
        assert [slide.skipped for slide in slides] == [(), ("quiet",), (), (), ()]

    def test_titles_come_from_headings_else_from_the_section(self, slides):
        titles = ["Why?", "1 · One", "1 · One (continued)", "Inside", "1 · One (continued)"]
        assert [slide.title for slide in slides] == titles
        assert [slide.level for slide in slides] == [1, 2, 0, 3, 0]

    def test_notes_give_minutes_and_words(self, slides):
        assert [slide.minutes for slide in slides] == [2, None, None, None, None]
        assert slides[0].notes == "**Ask.** Why?\n\n**Show.** Nothing."
        assert [slide.after_class for slide in slides] == [False] * 4 + [True]

    def test_explorers_are_calls_and_no_comments_or_magics(self, slides):
        assert [slide.explorers for slide in slides] == [
            (),
            ("explore_masks",),
            ("explore_rope",),
            (),
            (),
        ]


NO_NOTES = (
    "notes must begin with the lines '<details>' and '<summary>For the presenter, 3 min</summary>' "
    "(or 'after class'), an empty line, and end with '</details>' after an empty line; "
)
NO_CELLS = "{} must be a notebook of format 4, with a list of cells; it has none"
SLIDE = text("slide", "# Why?")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            [text("notes", NOTES.format("2 min", "Ask."))],
            "notes must follow their slide; cell 1 ('<details>') follows none",
        ),
        (
            [text("-", "Words\nand more")],
            "the first cell that is shown must begin a slide; cell 1 ('Words') has the type '-'",
        ),
        (
            [text("Slide", "# Why?")],
            "a slide type must be one of slide, subslide, -, fragment, skip, notes; "
            "cell 1 ('# Why?') has 'Slide'",
        ),
        ([SLIDE, text("notes", "Ask.")], f"{NO_NOTES}cell 2 ('Ask.') does not"),
        (
            [SLIDE, text("notes", NOTES.format("about 2 min", "Ask."))],
            f"{NO_NOTES}cell 2 ('<details>') does not",
        ),
        (
            [SLIDE, *(text("notes", NOTES.format("2 min", "Ask.")) for _ in range(2))],
            "a slide must have one cell of notes; cell 3 ('<details>') is the second",
        ),
    ],
)
def test_slides_that_cannot_be_shown_are_refused(save, cells, message):
    path = save(*cells)
    with raises_saying(NotebookFileError, f"{message} ({path})"):
        read_slides(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            '{"cells": [}',
            "{} must be JSON, as Jupyter writes it; "
            "it breaks at line 1, column 12: Expecting value",
        ),
        ("[1]", "{} must be a notebook of format 4, with a list of cells; it has none"),
        (
            '{"worksheets": []}',
            "{} must be a notebook of format 4, with a list of cells; it has none",
        ),
        ('{"cells": [7]}', "every cell must have a source; cell 1 of {} has none"),
        (
            '{"cells": [{"cell_type": "code", "source": ["x = 1\\n", "y"]}]}',
            "every cell must have an id; cell 1 ('x = 1') of {} has none",
        ),
        (
            '{"cells": [{"id": "a", "source": "x"}, {"id": "a", "source": "y"}]}',
            "cell ids must differ; cell 1 ('x') and cell 2 ('y') of {} are both 'a'",
        ),
    ],
)
def test_a_file_that_is_no_notebook_is_refused_in_words(tmp_path, content, message):
    path = tmp_path / "x.ipynb"
    path.write_text(content, encoding="utf-8")
    with raises_saying(NotebookFileError, message.format(path)):
        read_slides(path)


def test_json_that_is_nested_without_end_is_refused(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text("[" * 100_000, encoding="utf-8")
    message = f"{path} must be JSON, as Jupyter writes it; it is nested too deeply to be read"
    with raises_saying(NotebookFileError, message):
        read_cells(path)


@pytest.mark.parametrize(
    "metadata", [["a"], {"slideshow": "slide"}, {"tags": 5}, {"tags": "exercise"}], ids=str
)
def test_metadata_of_another_form_says_nothing(tmp_path, metadata):
    path = tmp_path / "x.ipynb"
    cell = {"id": "a", "cell_type": "code", "source": "x", "metadata": metadata}
    path.write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    (read,) = read_cells(path)
    assert (read.slide_type, read.tags) == ("-", ())


def test_a_file_that_cannot_be_read_is_refused_in_words(tmp_path):
    path = tmp_path / "x.ipynb"
    with raises_saying(
        NotebookFileError, f"there must be a notebook at {path}, found no such file"
    ):
        read_cells(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(NotebookFileError, match=r"cannot be read: .*utf-8"):
        read_cells(path)


def test_ids_may_be_missing_where_nobody_needs_them(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": "code", "source": "x"}]}), encoding="utf-8")
    assert [cell.id for cell in read_cells(path, ids=False)] == [""]


@pytest.mark.parametrize("name", ["4", "04", "04_positions", "04_positions.ipynb", "04_"])
def test_a_lecture_is_found_by_number_and_name(name):
    assert find_lecture(name).name == "04_positions.ipynb"


@pytest.mark.parametrize("name", ["9", "softmax", "", "04_positions_copy.ipynb"])
def test_an_unknown_lecture_lists_the_known(name):
    names = ", ".join(path.stem for path in known_lectures().values())
    with raises_saying(NotebookFileError, f"the lecture must be one of {names}; got {name!r}"):
        find_lecture(name)


def test_a_folder_without_lectures_is_refused(tmp_path):
    message = f"the lectures must stand in {tmp_path}, found none there"
    with raises_saying(NotebookFileError, message):
        known_lectures(tmp_path)

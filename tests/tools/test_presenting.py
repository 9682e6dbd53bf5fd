"""Slides against nbconvert's own grouping, and the plan of a small talk."""

import nbformat
import pytest
from nbconvert.exporters.slides import _RevealMetadataPreprocessor
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lectures import COURSE, EXPLORERS
from tests.explorers.support_node import run_module
from tools.notebook_file import NotebookFileError, lecture_file, read_cells
from tools.presenting import timing
from tools.presenting.slides import read_slides
from tools.setup.lab import PRESENT_EXTENSIONS

# The presenter's own slides: what each shows, and what is beside its words.
LIVE = f"""
const {{ slidesOf }} = await import(
  "{(PRESENT_EXTENSIONS / "course-presenter" / "static" / "slides.js").as_uri()}");
console.log(JSON.stringify(slidesOf(told).map(({{ cells, about }}) =>
  ({{ own: cells.map(({{ place }}) => place), about }}))));
"""
SETS = 'class="course-sets"'


@pytest.mark.parametrize("stem", [lecture.stem for lecture in COURSE])
def test_slides_begin_where_nbconvert_begins_them(stem):
    path = lecture_file(stem)
    prepared, _ = _RevealMetadataPreprocessor().preprocess(nbformat.read(path, as_version=4), {})
    begin = [cell.id for cell in prepared.cells if cell.metadata.get("subslide_start")]
    sections = [cell.id for cell in prepared.cells if cell.metadata.get("slide_start")]
    slides = read_slides(path)
    assert [slide.ids[0] for slide in slides] == begin
    assert [slide.ids[0] for slide in slides if slide.kind == "slide"] == sections
    # Every cell is shown once, or hidden.
    cells = read_cells(path)
    shown = [place for slide in slides for place in slide.cells]
    hidden = [cell.place for cell in cells if cell.slide_type in ("skip", "notes")]
    assert sorted(shown + hidden) == list(range(len(cells))) and shown == sorted(shown)


def text(slide_type, source, name):
    return new_markdown_cell(source, id=name, metadata={"slideshow": {"slide_type": slide_type}})


def code(slide_type, source, name):
    return new_code_cell(source, id=name, metadata={"slideshow": {"slide_type": slide_type}})


def notes(said, name):
    source = f"<details>\n<summary>For the presenter, {said}</summary>\n\nAsk.\n\n</details>"
    return text("notes", source, name)


TITLE = "# 98 · Why?\n\n12 minutes in class; the exercises are for afterwards."
TALK = [
    text("slide", TITLE, "title"),
    notes("1 min", "talk-title"),
    code("skip", "setup = 1", "setup"),
    text("slide", "```python\n# a comment\n```\n\n## 1 · **One**", "one"),
    code("fragment", "# explore_rope()", "one-code"),
    notes("4 min", "talk-one"),
    text("subslide", "No heading", "inside"),
    code("-", "explorers.explore_masks()", "masks"),
    notes("3 min", "talk-inside"),
    text("slide", "## Source notes", "notes"),
    notes("2 min", "talk-notes"),
    text("slide", "## Exercises\n\n### 1 · Do it\n\nDo.", "ex-1"),
    text("-", "<details>\n<summary>Solution (gentle, 5 min)</summary>\n\nSo.\n\n</details>", "s"),
    notes("after class", "talk-ex"),
]


@pytest.fixture
def save(tmp_path):
    def write(*cells):
        path = tmp_path / "98_talk.ipynb"
        nbformat.write(new_notebook(cells=list(cells)), path)
        return path

    return write


def test_titles_minutes_and_explorers(save):
    slides = read_slides(save(*TALK))
    titles = ["98 · Why?", "1 · One", "1 · One (continued)", "Source notes", "Exercises"]
    assert [slide.title for slide in slides] == titles
    assert [slide.minutes for slide in slides] == [1, 4, 3, 2, None]
    assert [slide.after_class for slide in slides] == [False] * 4 + [True]
    assert [slide.explorers for slide in slides] == [[], [], ["explore_masks"], [], []]
    assert (slides[0].ids, slides[0].skipped, slides[0].cells) == (["title"], ["setup"], [0])


def test_the_short_path_is_what_the_notes_plan(save, capsys):
    """Without notes a slide goes with the one before; the first of a section with the next."""
    more = [
        text("slide", "## 2 · Two", "two"),
        text("subslide", "Why?", "why"),
        notes("2 min", "talk-why"),
        text("subslide", "So.", "so"),
        text("slide", "## Optional", "optional"),
        text("subslide", "More.", "more"),
        notes("after class", "talk-more"),
        text("subslide", "And more.", "and-more"),
        text("slide", "## Sources", "sources"),
    ]
    slides = read_slides(path := save(*TALK, *more))
    walked = [slide.ids[0] for slide in slides if slide.in_class]
    assert walked == ["title", "one", "inside", "notes", "two", "why", "so"]
    timing.main([str(path)])
    assert "has slides 1 to 4, 6 to 8." in capsys.readouterr().out


def told_of(cell):
    """What the presenter knows of a cell."""
    said = {name.split("_")[0]: word for name, word in cell.metadata.get("slideshow", {}).items()}
    return {"slide": "-", "id": cell.id, "type": cell.cell_type, "source": cell.source, **said}


@pytest.mark.parametrize("stem", [lecture.stem for lecture in COURSE])
def test_words_that_set_a_picture_have_it_on_their_slide(stem):
    """Where they are words or a question: picture and code leave no room for each other."""
    cells = nbformat.read(lecture_file(stem), as_version=4).cells
    for slide in run_module(LIVE, [told_of(cell) for cell in cells]):
        own = [cells[place] for place in slide["own"]]
        codes = [cell.source for cell in own if cell.cell_type == "code"]
        is_words = all("predict(" in source for source in codes)
        if is_words and any(SETS in cell.source for cell in own):
            assert "explore_" in cells[slide["about"]].source, own[0].id


@pytest.mark.parametrize("stem", [lecture.stem for lecture in COURSE])
def test_no_exercise_is_on_the_short_path(stem):
    """But one that the notes give minutes in class."""
    cells = read_cells(path := lecture_file(stem))
    for slide in read_slides(path):
        exercise = any("exercise" in cells[place].tags for place in slide.cells)
        assert not (exercise and slide.in_class and slide.minutes is None), slide


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        ([text("-", "Words", "a")], "must begin a slide"),
        ([text("Slide", "# Why?", "a")], "no slide type 'Slide'"),
        ([TALK[0], text("notes", "Ask.", "a")], "one cell of notes"),
        ([TALK[0], TALK[1], notes("2 min", "a")], "one cell of notes"),
    ],
)
def test_cells_that_no_slide_can_show(save, cells, says):
    with pytest.raises(NotebookFileError, match=says):
        read_slides(save(*cells))


def test_the_plan_of_a_talk(save, capsys, monkeypatch):
    monkeypatch.setattr(timing, "_written_down", lambda number: {"setup": 31.26, "masks": 0.99})
    assert timing.main([str(save(*TALK))]) == 0
    said = capsys.readouterr().out
    assert "98 · Why?: 5 slides, slot 12 min" in said
    assert "waits:  setup 31.3 s" in said and "masks 1.0" not in said
    first = next(iter(EXPLORERS["explore_masks"].presets))
    assert f"presets: [1] {first}" in said
    assert "It fits: the plan takes 10 of 12 minutes." in said
    assert "  1 · Do it (gentle, 5 min)" in said

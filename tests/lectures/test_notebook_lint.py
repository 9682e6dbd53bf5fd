"""Every lecture keeps the rules of a notebook and has the anatomy of a lecture."""

import inspect
from functools import cache

import pytest
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter

from lectures import COURSE
from tests.lectures import support_lectures, support_notebooks
from tests.lectures.support_notebooks import NOTEBOOKS, notebook_of
from tools.editions.notebook_outputs import code_cells
from tools.editions.readme import MAP, README, course_map, lecture_cards, onward

read = cache(support_notebooks.read)  # a rule changes nothing, and there are thirty
RULES = {
    name: rule
    for module in (support_notebooks, support_lectures)
    for name, rule in inspect.getmembers(module, inspect.isfunction)
    if name.startswith("rule_")
}


def test_every_notebook_is_a_lecture_of_the_course():
    assert [path.stem for path in NOTEBOOKS] == [lecture.stem for lecture in COURSE]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_rule(path, name):
    assert RULES[name](read(path)) == []


def test_nbconvert_reads_the_words_of_every_picture():
    """Its template `classic` does; its default one knows of no alternative text."""
    (path,) = [path for path in NOTEBOOKS if path.stem == "05_causal_mask"]
    page, _ = HTMLExporter(template_name="classic").from_filename(str(path))
    images = [image["alt"] for image in BeautifulSoup(page, "html.parser").select("img")]
    outputs = [each for cell in code_cells(read(path)) for each in cell.outputs if "data" in each]
    words = [each.metadata["image/png"].alt for each in outputs if "image/png" in each.data]
    assert images == words and len(set(words)) > 5


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_title_and_minutes_are_those_of_the_course(lecture):
    first = read(notebook_of(lecture)).cells[0].source
    assert first.startswith(f"# {lecture.number} · {lecture.question}\n")
    assert f"{lecture.minutes} minutes in class" in first


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_its_end_leads_to_the_next_lecture(lecture):
    assert onward(lecture) in "".join(cell.source for cell in read(notebook_of(lecture)).cells)


def test_readme_and_lecture_00_list_the_course():
    assert lecture_cards() in README.read_text(encoding="utf-8")
    assert course_map() in "".join(cell.source for cell in read(MAP).cells)


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.stem)
def test_every_explorer_is_shown(lecture):
    (path,) = [path for path in NOTEBOOKS if path.stem == lecture.stem]
    own = {name for name in vars(lecture.module("explorers")) if name.startswith("explore_")}
    assert own and own <= support_lectures.shown_explorers(read(path))

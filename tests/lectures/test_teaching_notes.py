"""Each lecture's page for teachers says what the lecture says: names, sections, minutes."""

import re

import pytest

from lectures import COURSE, EXPLORERS
from tests.lectures.support_notebooks import ROOT
from tests.lectures.support_teaching import EMPHASISED, lectures, numbers, tables

SECTIONS = re.compile(r"(?:[Ll]ecture (\d\d[a-z]?), )?sections? (\d+)((?:(?:, | and | to )\d+)*)")


@pytest.fixture(params=COURSE, ids=lambda lecture: lecture.stem)
def notes(request):
    """The page, and what the lecture says of itself."""
    file = ROOT / request.param.package.replace(".", "/") / "teaching.md"
    return file.read_text(encoding="utf-8"), lectures()[request.param.number]


def paragraphs(text):
    """Each row of a table and each paragraph as one line."""
    rows = [line.replace("\\|", "|") for line in text.splitlines() if line.startswith("|")]
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return rows + [" ".join(paragraph.split()) for paragraph in prose.split("\n\n")]


def test_title_and_minutes(notes):
    page, lecture = notes
    title, _, text = page.partition("\n")
    assert title == f"# {lecture.title}"
    assert text.strip().startswith(f"{lecture.minutes} minutes")


def test_presenters_notes_take_the_stated_minutes(notes):
    _, lecture = notes
    assert lecture.planned == lecture.minutes


def test_names_are_presets_or_headings(notes):
    page, lecture = notes
    for line in paragraphs(re.sub(r"\*\*.+?\*\*", "", page)):
        named = set(re.findall(r"`(explore_\w+)`", line))
        assert named <= lecture.explorers
        presets = {label for name in named for label in EXPLORERS[name].presets}
        assert set(EMPHASISED.findall(line)) <= presets | lecture.headings, line


def test_every_explorer_is_named(notes):
    page, lecture = notes
    assert all(f"`{name}`" in page for name in lecture.explorers)


def test_sections_and_exercises_exist(notes):
    page, lecture = notes
    text = " ".join(page.split())
    for other, first, rest in SECTIONS.findall(text):
        about = lectures()[other] if other else lecture
        assert set(numbers(first + rest)) <= about.sections
    for number in re.findall(r"[Ee]xercise (\d+)", text):
        assert 1 <= int(number) <= len(lecture.exercises)


def test_table_of_exercises(notes):
    page, lecture = notes
    rows = tables(page)[-1]
    listed = tuple((row["exercise"], row["difficulty"], int(row["min"])) for row in rows)
    assert listed == lecture.exercises

"""The instructor's guide: its plans add up, and each name, key and option in it exists.

Commands, links and headings of pages are looked up in test_readme.py.
"""

import re
from pathlib import Path

import pytest

from tests.lectures.support_teaching import EMPHASISED, lectures, numbers, tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
KEYS = ROOT / "tools/presenting/labextensions/course-presenter/static/keys.js"


def part(words: str) -> tuple[str, str]:
    """Return the heading that has these words, and what stands under it, up to the next one."""
    (found,) = re.findall(rf"^#+ (.*{words}.*)\n((?:(?!#).*\n)*)", PAGE, re.MULTILINE)
    return found


def slot(heading: str) -> int:
    """Return the minutes that a plan's heading states."""
    return int(heading.split(" minutes")[0].rpartition(" ")[2])


def minutes_of(words: str) -> int:
    """Return the minutes of `00; 01` or `06: sections 1 to 4; 08` by the presenter's notes."""
    total = 0
    for item in words.split(";"):
        number, _, chosen = item.strip().partition(": ")
        lecture = lectures()[number]
        sections = [lecture.sections[each] for each in numbers(chosen)]
        total += sum(sections) if chosen else lecture.planned
    return total


def work_of(words: str) -> int:
    """Return the minutes of the exercises in `00: *A*, *B*; 01: *C*`."""
    total = 0
    for number, titles in re.findall(r"(\d\d): ((?:\*[^*]+\*(?:, )?)+)", words):
        real = {title.partition(" · ")[2]: n for title, _, n in lectures()[number].exercises}
        total += sum(real[title] for title in EMPHASISED.findall(titles))
    return total


def test_the_talk():
    heading, text = part("talk of")
    ((*stops, questions, together),) = tables(text)
    for row in stops:
        assert minutes_of(f"{row['lecture']}: sections {row['sections']}") == int(row["min"]), row
    total = sum(int(row["min"]) for row in [*stops, questions])
    assert total == int(together["min"]) == slot(heading)


@pytest.mark.parametrize("words", ["week: five", "ten weeks"])
def test_sessions(words):
    """Each has the minutes of its lectures and exercises, and fills its slot."""
    heading, text = part(words)
    # The exercises stand in the same table, or in one of their own with the same first column.
    sessions, *more = tables(text)
    first = next(iter(sessions[0]))
    given = {row[first]: row for row in (more[0] if more else sessions)}
    for row in sessions:
        if re.match(r"\d\d", row["lectures"]):
            assert minutes_of(row["lectures"]) == int(row["talk"]), row
        exercises = given.get(row[first], {})
        assert work_of(exercises.get("exercises in the room", "")) == int(row["work"]), row
        if "at home" in row:
            assert work_of(exercises.get("homework", "")) == int(row["at home"]), row
        total = sum(int(row[name]) for name in ("talk", "work", "rest"))
        assert total == int(row["in all"]) == slot(heading), row


def test_the_table_of_keys_is_that_of_the_slides():
    (rows,) = tables(part("In front of the room")[1])
    listed: set[str] = {key for row in rows for key in re.findall(r"`([^`]+)`", row["key"])}
    arrows = {"→": "ArrowRight", "↓": "ArrowDown", "←": "ArrowLeft", "↑": "ArrowUp", "Space": " "}
    text = KEYS.read_text(encoding="utf-8")
    known = {a or b for a, b in re.findall(r"(?:'([^']+)'|\b(\w+)): '\w+'", text)}
    named = {arrows.get(key, key) for key in listed} - {"1", "9", "Tab"}
    assert named == known - {"Home", "End", "Escape"}


def test_options_of_modules_exist():
    for module, words in re.findall(r"python -m ((?:course_utils|tools)[.\w]+)([^`\n]*)", PAGE):
        place = ROOT / Path(*module.split("."))
        sources = place.glob("*.py") if place.is_dir() else [place.with_suffix(".py")]
        source = "".join(path.read_text(encoding="utf-8") for path in sources)
        for option in re.findall(r"--[\w-]+", words):
            assert f'"{option}"' in source, module


def test_files_that_are_named_exist():
    named = re.findall(r"`([\w.-]+(?:/[\w.-]+)+|[A-Z]+\.md|course_utils)`", PAGE)
    assert [path for path in named if not (ROOT / path).exists()] == []

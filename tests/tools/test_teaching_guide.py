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
PLANS = "## Three plans"


def plan(page: str, words: str) -> tuple[int, str]:
    """Return the slot in minutes that a plan's heading states, and what stands under it."""
    (heading,) = re.findall(rf"^### .*{words}.*$", part(page, PLANS), re.MULTILINE)
    stated = re.search(r"(\d+) minutes", heading)
    assert stated, heading
    return int(stated[1]), part(page, heading)


def minutes_of(words: str) -> int:
    """Return the minutes of `00; 01` or `06: sections 1 to 4; 08` by the presenter's notes.

    Raises:
        LookupError: for a lecture or a section that does not exist.
    """
    total = 0
    for item in filter(None, (each.strip() for each in words.split(";"))):
        number, _, chosen = item.partition(": ")
        if number not in lectures():
            raise LookupError(f"no lecture {number}")
        sections = lectures()[number].sections
        for each in numbers(chosen):
            if each not in sections:
                raise LookupError(f"lecture {number} has no section {each}")
        whole = lectures()[number].planned
        total += sum(sections[each] for each in numbers(chosen)) if chosen else whole
    return total


def exercises_of(words: str) -> list[tuple[str, str, int]]:
    """Return the exercises in `00: *A*, *B*; 01: *C*`: lecture, title, minutes.

    Raises:
        LookupError: for an exercise that the lecture does not have.
    """
    found = []
    for number, titles in re.findall(r"(\d\d): ((?:\*[^*]+\*(?:, )?)+)", words):
        real = {
            title.partition(" · ")[2]: minutes for title, _, minutes in lectures()[number].exercises
        }
        for title in EMPHASISED.findall(titles):
            if title not in real:
                raise LookupError(f"lecture {number} has no exercise {title!r}")
            found.append((number, title, real[title]))
    return found


def wrong_talk(page: str) -> list[str]:
    """Each stop has the minutes of its sections; all and the questions fill the slot."""
    slot, text = plan(page, "talk")
    (rows,) = tables(text)
    *stops, questions, together = rows
    found = _faults((f"{row['lecture']}: sections {row['sections']}", row["min"]) for row in stops)
    total = sum(int(row["min"]) for row in [*stops, questions])
    if not total == int(together["min"]) == slot:
        found.append(f"the talk takes {total} minutes, of {together['min']}, of {slot}")
    return found


def wrong_sessions(page: str, words: str) -> list[str]:
    """Each session has the minutes of its lectures and exercises, and fills its slot."""
    slot, text = plan(page, words)
    sessions, *exercises = tables(text)
    found = _faults(
        (row["lectures"], row["talk"]) for row in sessions if re.match(r"\d\d", row["lectures"])
    )
    # The exercises stand in the same table, or in one of their own with the same first column.
    first = next(iter(sessions[0]))
    given = {row[first]: row for row in (exercises[0] if exercises else sessions)}
    for row in sessions:
        for name, stated in (("exercises in the room", "work"), ("homework", "at home")):
            if stated in row:
                found += _wrong_work(given.get(row[first], {}).get(name, ""), row[stated])
        total = sum(int(row[name]) for name in ("talk", "work", "rest"))
        if not total == int(row["in all"]) == slot:
            found.append(f"a session takes {total} minutes of {slot}: {row}")
    return found


def _faults(pairs) -> list[str]:
    found = []
    for words, stated in pairs:
        try:
            real = minutes_of(words)
        except LookupError as error:
            found.append(str(error))
            continue
        if real != int(stated):
            found.append(f"{words} takes {real} minutes, not {stated}")
    return found


def _wrong_work(words: str, stated: str) -> list[str]:
    try:
        real = sum(minutes for *_, minutes in exercises_of(words))
    except LookupError as error:
        return [str(error)]
    return [] if real == int(stated) else [f"{words} takes {real} minutes, not {stated}"]


def part(page: str, heading: str) -> str:
    """Return what stands under a heading, up to the next of its level or above."""
    level = heading.index(" ")
    begin = re.search(rf"^{re.escape(heading)} *$", page, re.MULTILINE)
    assert begin, f"the page has no heading {heading!r}"
    end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(page, begin.end())
    return page[begin.end() : end.start() if end else len(page)]


def wrong_keys(page: str) -> list[str]:
    """The table of keys is that of the slides' own help, but for `Home`, `End` and typing."""
    (rows,) = tables(part(page, "## In front of the room"))
    listed: set[str] = {key for row in rows for key in re.findall(r"`([^`]+)`", row["key"])}
    text = KEYS.read_text(encoding="utf-8")
    known = re.findall(r"(?:'([^']+)'|\b(\w+)): '\w+'", text)
    real = {"Space" if key == " " else key for pair in known for key in pair if key}
    arrows = {"→": "ArrowRight", "↓": "ArrowDown", "←": "ArrowLeft", "↑": "ArrowUp"}
    named = {arrows.get(key, key) for key in listed} - {"1", "9", "Tab"}
    return [f"no such key: {key}" for key in sorted(named - real)] + [
        f"not listed: {key}" for key in sorted(real - named - {"Home", "End", "Escape"})
    ]


def unknown_options(page: str) -> list[str]:
    """Each option of a module of the course that the page quotes is one of its own."""
    found = []
    for module, words in re.findall(r"python -m ((?:course_utils|tools)[.\w]+)([^`\n]*)", page):
        place = ROOT / Path(*module.split("."))
        file = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
        if not file.is_file():
            found.append(f"no such module: {module}")
            continue
        source = file.read_text(encoding="utf-8")
        options = re.findall(r"--[\w-]+", words)
        found += [f"{module} has no {each}" for each in options if f'"{each}"' not in source]
    return found


def missing_files(page: str) -> list[str]:
    """Each file or folder of the repository that the page names exists."""
    named = re.findall(r"`([\w.-]+(?:/[\w.-]+)+|[A-Z]+\.md|course_utils)`", page)
    return [f"no such file: {path}" for path in named if not (ROOT / path).exists()]


def wrong_week(page):
    return wrong_sessions(page, "week: five")


def wrong_course(page):
    return wrong_sessions(page, "ten weeks")


CHECKS = [wrong_talk, wrong_week, wrong_course, wrong_keys, unknown_options, missing_files]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_guide(check):
    assert check(PAGE) == []

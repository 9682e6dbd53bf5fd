"""The instructor's guide says what the lectures say: each name in it exists, each sum is right.

Commands, links and headings of pages are looked up in test_readme.py. Every check here is also
given the page with one thing wrong.
"""

import re

import pytest

from tests.tools.support_guide import (
    GUIDE,
    lectures,
    missing_files,
    numbers,
    unknown_options,
    unused_explorers,
    wrong_exercises,
    wrong_keys,
    wrong_names,
    wrong_sections,
    wrong_titles,
)
from tests.tools.support_plans import exercises_of, minutes_of, not_once, wrong_sessions, wrong_talk

PAGE = GUIDE.read_text(encoding="utf-8")


def wrong_week(page):
    return wrong_sessions(page, "week: five")


def wrong_course(page):
    return wrong_sessions(page, "ten weeks")


def not_once_in_the_course(page):
    return not_once(page, "ten weeks")


CHECKS = [
    wrong_titles,
    wrong_names,
    wrong_sections,
    unused_explorers,
    wrong_exercises,
    wrong_keys,
    unknown_options,
    missing_files,
    wrong_talk,
    wrong_week,
    wrong_course,
    not_once_in_the_course,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_page_is_right(check):
    assert check(PAGE) == []


@pytest.mark.parametrize("number", lectures())
def test_the_notes_of_a_lecture_take_the_minutes_that_it_states(number):
    lecture = lectures()[number]
    assert lecture.planned == lecture.minutes


WRONG = [
    (wrong_titles, "### 01 · Why divide by √d_k?", "### 01 · Why divide?", "the parts are called"),
    (wrong_titles, "\n20 minutes: ", "\n25 minutes: ", "does not begin with 20 minutes"),
    (wrong_names, "*wider does not help*", "*wider helps*", "neither scene nor section"),
    (wrong_names, "*variance 2*", "*not divided, d_k = 64*", "neither scene nor section"),
    (wrong_names, "section *How large is it?*", "section *How large*", "neither scene nor section"),
    (wrong_names, "*Three\nvariations*", "*Three\nvariants*", "neither scene nor section"),
    (wrong_names, "`explore_split`", "`explore_splits`", "no such explorer"),
    (wrong_names, "`explore_split`", "`explore_rope`", "no such explorer"),
    (wrong_sections, "07, section 6 has", "07, section 9 has", "07 has no section 9"),
    (wrong_sections, "\n3 hunts", "\n4 hunts", "no exercise 4"),
    (unused_explorers, "`explore_cache`", "the explorer", "explore_cache is not named"),
    (wrong_exercises, "| gentle | 5 |", "| gentle | 6 |", "no such exercise"),
    (wrong_exercises, "| moderate | 12 |", "| demanding | 12 |", "not listed"),
    (wrong_exercises, "2 · Merge the heads", "2 · Merge heads", "no such exercise"),
    (
        wrong_exercises,
        "| 03 | 1 · Split into heads |",
        "| 04 | 1 · Split into heads |",
        "not listed",
    ),
    (wrong_keys, "| `o` |", "| `a` |", "no such key: a"),
    (wrong_keys, "| `f` | the whole screen |\n", "", "not listed: f"),
    (unknown_options, "--slot", "--slots", "has no --slots"),
    (unknown_options, "tools.progress.__main__ ", "course_utils.progres ", "no such module"),
    (missing_files, "`CONTRIBUTING.md`", "`CONTRIBUTE.md`", "no such file: CONTRIBUTE.md"),
    (missing_files, "`course_utils/viz`", "`course_utils/vis`", "no such file"),
    (wrong_talk, "| 00 | 1, 2 |", "| 00 | 1, 3 |", "sections 1, 3 takes"),
    (wrong_talk, "| 00 | 1, 2 |", "| 00 | 1, 9 |", "has no section 9"),
    (wrong_talk, "| questions | 10 |", "| questions | 5 |", "the talk takes"),
    (wrong_talk, "talk of 90 minutes", "talk of 80 minutes", "the talk takes"),
    (wrong_week, "| Monday | 00; 01 |", "| Monday | 00; 02; 01 |", "00; 02; 01 takes"),
    (wrong_week, "| Monday | 00; 01 |", "| Monday | 00; 09 |", "no lecture 09"),
    (wrong_week, "*Split into heads*", "*Split the heads*", "has no exercise"),
    (wrong_week, "sessions of 120 minutes", "sessions of 110 minutes", "a session takes"),
    (wrong_course, "06: sections 1 to 5", "06: sections 1 to 4", "06: sections 1 to 4 takes"),
    (wrong_course, "classes of 75 minutes", "classes of 90 minutes", "a session takes"),
    (not_once_in_the_course, "*Rotate a pair*, ", "", "'Rotate a pair', 5) comes 0 times"),
    (wrong_course, "*Rotate a pair*, ", "", "takes 8 minutes, not 13"),
    (wrong_course, "| 20 |\n", "| 21 |\n", "takes 20 minutes, not 21"),
]


@pytest.mark.parametrize(("check", "old", "new", "says"), WRONG)
def test_a_page_with_something_wrong_is_caught(check, old, new, says):
    assert old in PAGE
    faults = check(PAGE.replace(old, new))
    assert any(says in fault for fault in faults), faults


def test_every_check_is_given_something_wrong():
    assert {check for check, *_ in WRONG} == set(CHECKS)


def test_what_a_plan_names_is_counted_by_the_presenters_notes():
    scaling = lectures()["01"]
    assert minutes_of("01") == scaling.planned
    assert minutes_of("01: sections 1 to 3") == sum(scaling.sections[each] for each in (1, 2, 3))
    assert minutes_of("00; 01: sections 2") == lectures()["00"].planned + scaling.sections[2]
    assert numbers("1 to 3, 5 and 7") == [1, 2, 3, 5, 7]


def test_exercises_are_found_by_their_titles():
    found = exercises_of("01: *The variance of a score*; 03: *Split into heads*")
    solutions = {title: minutes for title, _, minutes in lectures()["01"].exercises}
    assert found[0] == ("01", "The variance of a score", solutions["1 · The variance of a score"])
    assert [number for number, *_ in found] == ["01", "03"]


def test_every_lecture_has_misconceptions_and_questions():
    from tests.tools.support_guide import parts, tables

    for number, text in parts(PAGE).items():
        (rows,) = tables(text)
        assert len(rows) >= 4, number
        assert len(re.findall(r"^\*\*.+\?\*\*", text, re.MULTILINE)) >= 1, number

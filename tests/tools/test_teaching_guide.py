"""The instructor's guide says what the lectures say: each name in it exists, each sum is right.

Commands, links and headings of pages are looked up in test_readme.py.
"""

import re

import pytest

from tests.tools.support_guide import (
    GUIDE,
    lectures,
    missing_files,
    unknown_options,
    unused_explorers,
    wrong_exercises,
    wrong_keys,
    wrong_names,
    wrong_sections,
    wrong_titles,
)
from tests.tools.support_plans import not_once, wrong_sessions, wrong_talk

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
def test_notes_take_the_stated_minutes(number):
    lecture = lectures()[number]
    assert lecture.planned == lecture.minutes


def test_every_lecture_has_misconceptions_and_questions():
    from tests.tools.support_guide import parts, tables

    for number, text in parts(PAGE).items():
        (rows,) = tables(text)
        assert len(rows) >= 4, number
        assert len(re.findall(r"^\*\*.+\?\*\*", text, re.MULTILINE)) >= 1, number

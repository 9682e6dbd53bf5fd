"""The instructor's guide: each key and option in it exists.

Commands, links and headings of pages are looked up in test_readme.py.
"""

import re
from pathlib import Path

from tests.lectures.support_teaching import tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")
KEYS = ROOT / "tools/presenting/labextensions/course-presenter/static/keys.js"


def test_the_table_of_keys_is_that_of_the_slides():
    (text,) = re.findall(r"^#+ .*In front of the room.*\n((?:(?!#).*\n)*)", PAGE, re.MULTILINE)
    (rows,) = tables(text)
    listed: set[str] = {key for row in rows for key in re.findall(r"`([^`]+)`", row["key"])}
    arrows = {"→": "ArrowRight", "↓": "ArrowDown", "←": "ArrowLeft", "↑": "ArrowUp", "Space": " "}
    script = KEYS.read_text(encoding="utf-8")
    known = {a or b for a, b in re.findall(r"(?:'([^']+)'|\b(\w+)): '\w+'", script)}
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

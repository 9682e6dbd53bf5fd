"""README's table of lectures, from the course's own list: `make outputs` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from course_utils.lectures import COURSE

README = Path(__file__).resolve().parents[2] / "README.md"
TABLE = re.compile(r"\| \| lecture \| question \| minutes \|\n(?:\|.*\n)+")


def lecture_table() -> str:
    """A row for each lecture: number with its link, title, question, minutes."""
    rows = [
        f"| [{lecture.number:02}](notebooks/{lecture.stem}.ipynb) | {lecture.title} "
        f"| {lecture.question} | {lecture.minutes} |\n"
        for lecture in COURSE
    ]
    head = "| | lecture | question | minutes |\n| :---: | --- | --- | ---: |\n"
    return head + "".join(rows)


def write_table() -> None:
    """Put the table in the place of the old one."""
    text = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: lecture_table(), text), encoding="utf-8")

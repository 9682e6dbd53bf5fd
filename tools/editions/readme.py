"""README's table of lectures, from the course's own list: `make outputs` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from course_utils.lectures import COURSE, Lecture
from course_utils.teaching.claims import read_records
from tools.claims import claims_of

README = Path(__file__).resolve().parents[2] / "README.md"
TABLE = re.compile(r"\| \| lecture \| question \|.*\n(?:\|.*\n)+")


def lecture_table() -> str:
    """A row for each lecture: number with its link, title, question, minutes, claims."""
    rows = [
        f"| [{lecture.number:02}](notebooks/{lecture.stem}.ipynb) | {lecture.title} "
        f"| {lecture.question} | {lecture.minutes} | {claims_held(lecture)} |\n"
        for lecture in COURSE
    ]
    head = "| | lecture | question | minutes | claims held |\n| :---: | --- | --- | ---: | ---: |\n"
    return head + "".join(rows)


def claims_held(lecture: Lecture) -> str:
    """In how many of all fresh runs the lecture's claims held."""
    records = [read_records()[claim.name] for claim in claims_of(lecture)]
    return f"{sum(r.held for r in records)} of {sum(r.tried for r in records)}" if records else ""


def write_table() -> None:
    """Put the table in the place of the old one."""
    text = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: lecture_table(), text), encoding="utf-8")

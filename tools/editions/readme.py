"""The tables of lectures in README and in lecture 00: `make outputs` writes them from COURSE."""

from __future__ import annotations

import json
import re
from pathlib import Path

from course_utils.lectures import COURSE, Lecture
from course_utils.teaching.claims import read_records
from tools.claims import claims_of

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MAP = ROOT / "notebooks" / f"{COURSE[0].stem}.ipynb"
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


def course_map() -> str:
    """The table of lecture 00: number, title, question, minutes."""
    rows = [
        f"| {lecture.number:02} | {lecture.title} | {lecture.question} | {lecture.minutes} |\n"
        for lecture in COURSE
    ]
    return "| | lecture | question | min |\n| :---: | --- | --- | ---: |\n" + "".join(rows)


def write_tables() -> None:
    """Put the tables in the place of the old ones."""
    text = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: lecture_table(), text), encoding="utf-8")
    notebook = json.loads(MAP.read_text(encoding="utf-8"))
    (cell,) = (cell for cell in notebook["cells"] if cell["id"] == "map")
    source = TABLE.sub(lambda _: course_map(), "".join(cell["source"]))
    cell["source"] = source.splitlines(keepends=True)
    MAP.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

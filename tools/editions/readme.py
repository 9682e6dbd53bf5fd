"""README's cards, lecture 00's table, links to the next lecture: `make outputs` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from course_utils.teaching.claims import read_replications
from lectures import COURSE, Lecture
from tools.claims.measuring import claims_of
from tools.files import write_back

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
MAP = ROOT / "notebooks" / f"{COURSE[0].stem}.ipynb"
A_ROW = 3
BEGIN, END = "<!-- lectures -->", "<!-- end of lectures -->"
CARDS = re.compile(f"{BEGIN}.*{END}", re.DOTALL)
TABLE = re.compile(r"\| \| lecture \| question \|.*\n(?:\|.*\n)+")
TO_MAP = f"[Lecture 00]({MAP.name}) has the map of the course."
ONWARD = re.compile(r"Next lecture: \[.+\]\(.+\)|" + re.escape(TO_MAP))


def lecture_cards() -> str:
    """A card for each lecture: picture, number and title with a link, question, minutes, claims."""
    cards = [_card(lecture) for lecture in COURSE]
    rows = ["\n".join(cards[start : start + A_ROW]) for start in range(0, len(cards), A_ROW)]
    body = "\n".join(f"<tr>\n{row}\n</tr>" for row in rows)
    return f"{BEGIN}\n<table>\n{body}\n</table>\n{END}"


def _card(lecture: Lecture) -> str:
    page, picture = f"notebooks/{lecture.stem}.ipynb", f"docs/images/cards/{lecture.number}"
    held = claims_held(lecture)
    facts = [f"{lecture.minutes} min", *([f"claims held {held}"] if held else [])]
    return (
        f'<td valign="top" width="33%"><a href="{page}"><picture>\n'
        f'<source media="(prefers-color-scheme: dark)" srcset="{picture}-dark.webp">\n'
        f'<img src="{picture}.webp" alt="What you move in lecture {lecture.number}">'
        f"</picture></a>\n"
        f'<a href="{page}"><b>{lecture.number} · {lecture.title}</b></a><br>\n'
        f"{lecture.question}<br><sub>{' · '.join(facts)}</sub></td>"
    )


def claims_held(lecture: Lecture) -> str:
    """In how many of all fresh runs the lecture's claims held."""
    records = [read_replications()[claim.name] for claim in claims_of(lecture)]
    return f"{sum(r.held for r in records)} of {sum(r.tried for r in records)}" if records else ""


def course_map() -> str:
    """The table of lecture 00: number, title, question, minutes."""
    rows = [
        f"| {lecture.number} | {lecture.title} | {lecture.question} | {lecture.minutes} |\n"
        for lecture in COURSE
    ]
    return "| | lecture | question | min |\n| :---: | --- | --- | ---: |\n" + "".join(rows)


def onward(lecture: Lecture) -> str:
    """The link at a lecture's end: to the next lecture, or from the last one to the map.

    >>> onward(COURSE[2])
    'Next lecture: [03 · Why eight heads and not one?](03_heads.ipynb)'
    """
    if lecture == COURSE[-1]:
        return TO_MAP
    following = COURSE[COURSE.index(lecture) + 1]
    return f"Next lecture: [{following.number} · {following.question}]({following.stem}.ipynb)"


def write_tables() -> None:
    """Put cards and table in the place of the old ones.

    Raises:
        SavedMeanwhileError: if somebody has saved one of the two files in between.
    """
    before = README.read_bytes()
    page = CARDS.sub(lambda _: lecture_cards(), before.decode().replace("\r\n", "\n"))
    write_back(README, before, page.encode())
    _replace(MAP, TABLE, course_map)


def write_links() -> None:
    """Put each lecture's link onward in the place of the old one.

    Raises:
        SavedMeanwhileError: if somebody has saved a lecture in between.
    """
    for lecture in COURSE:
        path = MAP.with_name(f"{lecture.stem}.ipynb")
        _replace(path, ONWARD, partial(onward, lecture))


def _replace(path: Path, old: re.Pattern[str], new: Callable[[], str]) -> None:
    """Write what `new` makes for what `old` finds in a notebook's text."""
    before = path.read_bytes()
    notebook = json.loads(before)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = old.sub(lambda _: new(), "".join(cell["source"]))
            cell["source"] = text.splitlines(keepends=True)
    saved = json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"
    write_back(path, before, saved.encode())

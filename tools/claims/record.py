"""The record of what was measured: the file, the page that people read, the marks in the texts."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from course_utils.files import write_whole
from course_utils.teaching.claims import (
    HEADER,
    REPLICATIONS,
    Claim,
    Replication,
    Statement,
    rate,
    read_replications,
)
from lectures import COURSE, Lecture
from tools.claims.measuring import claims_of
from tools.claims.running import KEPT
from tools.editions.notebook_outputs import as_saved, parsed
from tools.files import exclusive, write_back
from tools.notebook_file import LECTURES, read_cells

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "benchmarks" / "results" / "claims.md"
ENOUGH = 0.9
SEEDS = 12  # and fewer are not recorded
# The mark behind a sentence: <sup>[11 of 12](#How-often-this-holds "What it means (claim)")</sup>.
MARK = re.compile(r'<sup>\[[^\]]*\]\(#How-often-this-holds "(?:[^"]*\()?(\w+)\)?"\)</sup>')
# What a lecture says behind a sentence, in a mark; or [[11 of 12; 4 of 6 at 3 × rate]](… "claim").
RATE_IN_TEXT = re.compile(r'\[\[?(\d+ of \d+[^\]]*)\]?\]\(\S+ "(?:[^"]*\()?(\w+)\)?"\)')
TITLE = """\
# What this course claims, and how often it held

Each sentence rests on a trained or random run: on cells of its lecture, where it names them. `make
claims` runs them again on 12 fresh seeds, and no threshold was chosen with them. It also runs the
first six at settings that the author did not choose: a third of the learning rate, three times the
learning rate, more steps, another size. A claim that holds on every seed and fails at another
setting is a claim about that setting.

- The interval covers only the seeds. It says nothing about other settings, data or sizes.
- Claims of one lecture use the same seeds, so their rows are not independent.
- A run that had nothing to lose counts neither way.
- *Without what it is about*: the same cells with the mechanism taken away. There the sentence must
  fail, or it would say nothing of the mechanism.
- The rival is the number that a sceptic would compare the effect with, in the same unit.
"""


def said_rates(lecture: Lecture) -> dict[str, str]:
    """Return what the lecture says of how often each of its claims held."""
    cells = read_cells(LECTURES / f"{lecture.stem}.ipynb")
    prose = "\n".join(cell.source for cell in cells if cell.kind == "markdown")
    return {name: said for said, name in RATE_IN_TEXT.findall(prose)}


def is_right(said: str, found: Replication) -> bool:
    """Whether a lecture says what was measured: ``11 of 12; 4 of 6 at 3 × rate``."""
    held, *elsewhere = said.split("; ")
    parts = [re.split(" at | with ", each, maxsplit=1) for each in elsewhere]
    return held == found.rate and all(
        name in found.settings and part == rate(found.settings[name]) for part, name in parts
    )


def verdict(claim: Statement, found: Replication, said: str) -> str:
    """Return what is wrong with saying so after these runs; "" if nothing."""
    if not said:
        return f"{claim.name}: its lecture does not say how often it held"
    if found.control.count(True) > (1 - ENOUGH) * len(found.control):
        return f"{claim.name} holds in {rate(found.control)} runs without what it is about"
    stated, out_of = map(int, said.partition(";")[0].split(" of "))
    if found.held >= ENOUGH * found.tried or stated < ENOUGH * out_of:
        return ""
    return f"{claim.name} held in {found.rate} runs, and its lecture says {said}"


def record(replications: dict[str, Replication]) -> None:
    """Keep what was measured, in the lectures' order, and write it where people read it.

    What was measured on more seeds stays.
    """
    names = [claim.name for lecture in COURSE for claim in claims_of(lecture)]
    with exclusive(KEPT / ".lock", "Waiting for another run to record its claims ..."):
        read_replications.cache_clear()
        known = dict(read_replications(REPLICATIONS))
        for name, found in replications.items():
            if len(found.seeds) >= max(SEEDS, len(known[name].seeds) if name in known else 0):
                known[name] = found
            else:
                print(f"{name}: {len(found.seeds)} seeds are too few to be recorded")
        known = {name: known[name] for name in names if name in known}
        lines = [f" {json.dumps(name)}: {json.dumps(asdict(known[name]))}" for name in known]
        write_whole(REPLICATIONS, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
        write_whole(TABLE, table(known).encode())
        for lecture in COURSE:
            if any(claim.name in replications for claim in claims_of(lecture)):
                write_marks(LECTURES / f"{lecture.stem}.ipynb", known)
        read_replications.cache_clear()


def write_marks(notebook: Path, known: dict[str, Replication]) -> None:
    """Write what was measured into the marks of a lecture's text."""

    def mark(found: re.Match) -> str:
        name = found[1]
        if name not in known:
            return found[0]
        held = f"Run again with other seeds, it held in {known[name].rate}"
        means = "; ".join(filter(None, (held, known[name].elsewhere)))
        return f'<sup>[{known[name].rate}](#How-often-this-holds "{means} ({name})")</sup>'

    before = notebook.read_bytes()
    content = parsed(before)
    for cell in content.cells:
        if cell.cell_type == "markdown":
            cell.source = MARK.sub(mark, cell.source)
    if (after := as_saved(content)) != before:
        write_back(notebook, before, after)


def table(replications: dict[str, Replication]) -> str:
    """Return the claims of all lectures as a page."""
    parts = [TITLE]
    for lecture in COURSE:
        if claims := [claim for claim in claims_of(lecture) if claim.name in replications]:
            rows = [replications[claim.name].row(claim) for claim in claims]
            title = f"## {lecture.number} · {lecture.title}\n"
            seeds = replications[claims[0].name].seeds
            where = f"Seeds {seeds[0]} to {seeds[-1]}; elsewhere the first six, or fewer.\n"
            reasons = [
                f"- `{claim.name}` has no control: {claim.control}"
                for claim in claims
                if isinstance(claim, Claim) and isinstance(claim.control, str)
            ]
            parts.append(
                "\n".join([title, where, HEADER, *rows, "", *reasons, *([""] * bool(reasons))])
            )
    return "\n".join(parts)

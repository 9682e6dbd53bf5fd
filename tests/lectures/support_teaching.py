"""What a lecture says of itself, for the pages that speak of lectures: minutes, sections, names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.lectures.support_notebooks import NOTEBOOKS
from tools.notebook_file import SOLUTION, read_cells
from tools.presenting.slides import read_slides

EMPHASISED = re.compile(r"(?<!\*)\*(?![*\s])([^*\n]+)(?<!\s)\*(?!\*)")
HEADING = re.compile(r"^(#{1,6}) (.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Lecture:
    """What a lecture says of itself."""

    title: str
    minutes: int  # in class, as its first cell states
    planned: int  # in class, as the presenter's notes add up
    headings: frozenset[str]
    sections: frozenset[int]  # the numbers in its headings
    explorers: frozenset[str]
    exercises: tuple[tuple[str, str, int], ...]  # title with its number, difficulty, minutes


@cache
def lectures() -> dict[str, Lecture]:
    """Return the lectures by number."""
    return {path.stem.partition("_")[0]: _lecture(path) for path in NOTEBOOKS}


def _lecture(path: Path) -> Lecture:
    cells = [cell for cell in read_cells(path) if cell.kind == "markdown"]
    headings = [match[2] for cell in cells for match in HEADING.finditer(cell.source)]
    slides = read_slides(path)
    stated = re.search(r"(\d+) minutes in class", cells[0].source)
    assert stated, path.name
    return Lecture(
        title=headings[0],
        minutes=int(stated[1]),
        planned=sum(slide.minutes or 0 for slide in slides),
        headings=frozenset(headings),
        sections=frozenset(map(int, re.findall(r"^(\d+) · ", "\n".join(headings), re.MULTILINE))),
        explorers=frozenset(name for slide in slides for name in slide.explorers),
        exercises=tuple(_exercises([cell.source for cell in cells])),
    )


def _exercises(sources: list[str]) -> Iterator[tuple[str, str, int]]:
    heading = ""
    for source in sources:
        found = re.search(r"^### (\d+ · .+?) *$", source, re.MULTILINE)
        heading = found[1] if found else heading
        solution = SOLUTION.search(source)
        if solution:
            yield heading, solution[1], int(solution[2])


def tables(text: str) -> list[list[dict[str, str]]]:
    r"""Return the tables of a text: for each its rows, by the words at the head of a column.

    >>> tables("| a | b |\n| --- | --- |\n| 1 | x \\| y |\n")
    [[{'a': '1', 'b': 'x | y'}]]
    """
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text + "\n", re.MULTILINE):
        head, _, *rows = [_cells(line) for line in block.splitlines()]
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def _cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [cell.strip().replace("\\|", "|") for cell in cells]


def numbers(words: str) -> list[int]:
    """Return the section numbers in `1, 2`, `1 and 2` or `1 to 4`.

    >>> numbers("1, 3 to 5"), numbers("2 and 4")
    ([1, 3, 4, 5], [2, 4])
    """
    found: list[int] = []
    for joint, digits in re.findall(r"(to )?(\d+)", words):
        number = int(digits)
        found += range(found[-1] + 1, number + 1) if joint else [number]
    return found

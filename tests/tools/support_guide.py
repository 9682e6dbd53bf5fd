"""The instructor's guide as data, beside what the lectures themselves say.

A check takes the page and returns what is wrong with it, in words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from course_utils.lectures import EXPLORERS
from tests.lectures.support_notebooks import NOTEBOOKS
from tools.notebook_file import Cell, read_cells
from tools.presenting.slides import Slide, read_slides

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "teaching.md"
KEYS = ROOT / "tools/presenting/labextensions" / "course-presenter" / "static" / "keys.js"

EMPHASISED = re.compile(r"(?<!\*)\*(?![*\s])([^*\n]+)(?<!\s)\*(?!\*)")
HEADING = re.compile(r"^(#{1,6}) (.+?) *$", re.MULTILINE)
SOLUTION = re.compile(r"<summary>Solution \((\w+), (\d+) min\)</summary>")
SECTIONS = re.compile(r"(?:[Ll]ecture (\d\d), )?sections? (\d+)((?:(?:, | and | to )\d+)*)")


@dataclass(frozen=True)
class Lecture:
    """What a lecture says of itself."""

    title: str
    minutes: int  # in class, as its first cell states
    planned: int  # in class, as the presenter's notes add up
    headings: frozenset[str]
    sections: dict[int, int]  # number in its heading → minutes of the presenter's notes
    explorers: frozenset[str]
    exercises: tuple[tuple[str, str, int], ...]  # title with its number, difficulty, minutes


@cache
def lectures() -> dict[str, Lecture]:
    """Return the lectures by number."""
    return {path.stem[:2]: _lecture(path) for path in NOTEBOOKS}


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
        sections=_section_minutes(cells, slides),
        explorers=frozenset(name for slide in slides for name in slide.explorers),
        exercises=tuple(_exercises([cell.source for cell in cells])),
    )


def _section_minutes(cells: list[Cell], slides: tuple[Slide, ...]) -> dict[int, int]:
    """Return the minutes of each numbered section: those of the slides that begin in it."""
    starts = [
        (cell.place, int(heading[1] or 0))
        for cell in cells
        if (heading := re.search(r"^## (?:(\d+) · )?", cell.source, re.MULTILINE))
    ]
    minutes = {number: 0 for _, number in starts}
    for slide in slides:
        begun = [number for place, number in starts if place <= slide.cells[0]]
        if begun:
            minutes[begun[-1]] += slide.minutes or 0
    minutes.pop(0, None)  # failure, source notes, summary: they have no number
    return minutes


def _exercises(sources: list[str]) -> Iterator[tuple[str, str, int]]:
    heading = ""
    for source in sources:
        found = re.search(r"^### (\d+ · .+?) *$", source, re.MULTILINE)
        heading = found[1] if found else heading
        solution = SOLUTION.search(source)
        if solution:
            yield heading, solution[1], int(solution[2])


# The page.


def part(page: str, heading: str) -> str:
    """Return what stands under a heading, up to the next of its level or above."""
    level = heading.index(" ")
    begin = re.search(rf"^{re.escape(heading)} *$", page, re.MULTILINE)
    assert begin, f"the page has no heading {heading!r}"
    end = re.compile(rf"^#{{1,{level}}} ", re.MULTILINE).search(page, begin.end())
    return page[begin.end() : end.start() if end else len(page)]


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


# What a part of the page may name.


def parts(page: str) -> dict[str, str]:
    """Return the part about each lecture, by its number."""
    text = part(page, "## Lecture by lecture")
    found = re.findall(r"^### (\d\d) · .+$", text, re.MULTILINE)
    titles = re.findall(r"^### (.+?) *$", text, re.MULTILINE)
    assert len(found) == len(titles)
    return {number: part(page, f"### {title}") for number, title in zip(found, titles, strict=True)}


def wrong_titles(page: str) -> list[str]:
    """The parts are the lectures, in order, each with its title and the minutes it states."""
    titles = re.findall(r"^### (.+?) *$", part(page, "## Lecture by lecture"), re.MULTILINE)
    expected = [lecture.title for lecture in lectures().values()]
    found = [f"the parts are called {titles}"] if titles != expected else []
    for number, text in parts(page).items():
        stated = re.search(r"^(\d+) minutes", text.strip())
        minutes = lectures()[number].minutes
        if not stated or int(stated[1]) != minutes:
            found.append(f"{number}: the part does not begin with {minutes} minutes")
    return found


def wrong_names(page: str) -> list[str]:
    """Each emphasised name is a scene of the explorer before it on the line, or a heading."""
    found = []
    for number, text in parts(page).items():
        lecture = lectures()[number]
        for line in _lines(re.sub(r"\*\*.+?\*\*", "", text)):
            named = re.findall(r"`(explore_\w+)`", line)
            found += [
                f"{number}: no such explorer: {name}"
                for name in named
                if name not in lecture.explorers
            ]
            scenes = {
                scene for name in named if name in EXPLORERS for scene in EXPLORERS[name].scenes
            }
            found += [
                f"{number}: neither scene nor section: {name}"
                for name in EMPHASISED.findall(line)
                if name not in scenes | lecture.headings
            ]
    return found


def _lines(text: str) -> list[str]:
    """Return each row of a table and each paragraph as one line."""
    rows = [line.replace("\\|", "|") for line in text.splitlines() if line.startswith("|")]
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return rows + [" ".join(paragraph.split()) for paragraph in prose.split("\n\n")]


def wrong_sections(page: str) -> list[str]:
    """Each section or exercise that is called by its number exists."""
    found = []
    for number, lines in parts(page).items():
        text = " ".join(lines.split())
        for other, first, rest in SECTIONS.findall(text):
            lecture = lectures()[other or number]
            found += [
                f"{number}: lecture {other or number} has no section {each}"
                for each in numbers(first + rest)
                if each not in lecture.sections
            ]
        count = len(lectures()[number].exercises)
        found += [
            f"{number}: no exercise {each}"
            for each in re.findall(r"[Ee]xercise (\d+)", text)
            if not 1 <= int(each) <= count
        ]
    return found


def unused_explorers(page: str) -> list[str]:
    """Each explorer of a lecture is named in its part."""
    return [
        f"{number}: {name} is not named"
        for number, text in parts(page).items()
        for name in sorted(lectures()[number].explorers)
        if f"`{name}`" not in text
    ]


def wrong_exercises(page: str) -> list[str]:
    """The table of exercises is that of the notebooks, by difficulty, then minutes."""
    (rows,) = tables(part(page, "## Exercises, by difficulty"))
    listed = [(row["lecture"], row["exercise"], row["difficulty"], int(row["min"])) for row in rows]
    real = [
        (number, *exercise)
        for number, lecture in lectures().items()
        for exercise in lecture.exercises
    ]
    found = [f"no such exercise: {each}" for each in listed if each not in real]
    found += [f"not listed: {each}" for each in real if each not in listed]
    order = ["gentle", "moderate", "demanding"]
    keys = [(order.index(row[2]), row[3]) for row in listed if row[2] in order]
    return found + ([] if keys == sorted(keys) else ["not in order"])


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
        file = ROOT / Path(*module.split(".")).with_suffix(".py")
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

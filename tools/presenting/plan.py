"""The plan of a talk: what its slides take, what they wait for, and what is left for later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.notebook_file import Cell, NotebookFileError, read_cells
from tools.presenting.slides import Slide, read_slides

__all__ = [
    "Homework",
    "Plan",
    "Section",
    "heavy_cells",
    "make_plan",
    "stated_minutes",
    "total_minutes",
]

# A shorter wait is no wait for a room.
HEAVY_SECONDS = 1.0

_STATED = re.compile(r"\b(\d+) minutes in class")
_EXERCISE = re.compile(r"^### (\d+ · .+)$", re.MULTILINE)
_SOLUTION = re.compile(r"<summary>Solution \((\w+), (\d+) min\)</summary>")
_OPTIONAL = re.compile(r"^(?:Source notes?|A failure worth seeing)\b")


@dataclass(frozen=True)
class Homework:
    """An exercise for after class."""

    title: str
    difficulty: str
    minutes: int


@dataclass(frozen=True)
class Section:
    """Slides that belong together.

    Attributes:
        title: the heading.
        slides: in order.
        waits: seconds of each heavy cell, by its id.
    """

    title: str
    slides: tuple[Slide, ...]
    waits: Mapping[str, float]

    @property
    def minutes(self) -> int | None:
        """What its notes plan; None where they plan nothing."""
        planned = [slide.minutes for slide in self.slides if slide.minutes is not None]
        return sum(planned) if planned else None

    @property
    def unplanned(self) -> bool:
        """Whether nothing says how long it takes, nor that it is for after class."""
        return self.minutes is None and not any(slide.after_class for slide in self.slides)

    @property
    def too_slow(self) -> bool:
        """Whether its cells compute for longer than it is planned to take."""
        return self.minutes is not None and sum(self.waits.values()) > 60 * self.minutes


@dataclass(frozen=True)
class Plan:
    """A talk.

    Attributes:
        title: of the lecture.
        slot: minutes that there are.
        sections: in order.
        unknown: ids of code cells that have no time, or had another source when measured.
        homework: the exercises.
    """

    title: str
    slot: int
    sections: tuple[Section, ...]
    unknown: tuple[str, ...]
    homework: tuple[Homework, ...]

    @property
    def slides(self) -> tuple[Slide, ...]:
        """All slides."""
        return tuple(slide for section in self.sections for slide in section.slides)

    @property
    def minutes(self) -> int:
        """What all notes plan together."""
        return sum(section.minutes or 0 for section in self.sections)

    @property
    def excess(self) -> int:
        """Minutes by which the plan is longer than the slot, 0 where it fits."""
        return max(0, self.minutes - self.slot)

    @property
    def waits(self) -> dict[str, float]:
        """Seconds of every heavy cell."""
        return {name: s for section in self.sections for name, s in section.waits.items()}

    @property
    def optional(self) -> list[Slide]:
        """Slides that a talk can do without: the notebook keeps them for whoever asks."""
        return [s for s in self.slides if s.minutes and _OPTIONAL.match(s.section)]

    @property
    def longest(self) -> list[Slide]:
        """The longest of the others: enough to save the rest of the excess, and at least three."""
        others = [s for s in self.slides if s.minutes and s not in self.optional]
        ranked = sorted(others, key=lambda slide: -(slide.minutes or 0))
        rest = self.excess - total_minutes(self.optional)
        enough = next((n for n in range(len(ranked)) if total_minutes(ranked[:n]) >= rest), None)
        return ranked[: max(3, len(ranked) if enough is None else enough)]


def total_minutes(slides: Iterable[Slide]) -> int:
    """The minutes planned for these slides.

    >>> slide = Slide(1, "Why?", "Why?", 1, "slide", 1, (0,), ("a",), minutes=2)
    >>> total_minutes([slide, slide])
    4
    """
    return sum(slide.minutes or 0 for slide in slides)


def make_plan(path: Path, seconds: Mapping[str, float | None], slot: int | None = None) -> Plan:
    """Read a lecture's plan.

    Args:
        path: its notebook.
        seconds: of each code cell by its id, None where it is not known.
        slot: minutes that there are; those that the title cell states where None.

    Raises:
        NotebookFileError: for what is no lecture, or one that states no minutes and gets no slot.

    >>> from tools.notebook_file import find_lecture
    >>> plan = make_plan(find_lecture("01"), {"proof-draw": 90.0})
    >>> plan.slot, plan.waits, plan.homework[0].difficulty
    (35, {'proof-draw': 90.0}, 'gentle')
    """
    cells, slides = read_cells(path), read_slides(path)
    if not slides:
        raise NotebookFileError(f"a lecture must have slides, found none in {path}")
    slot = stated_minutes(cells) if slot is None else slot
    if slot is None:
        raise NotebookFileError(
            f"the first cell of {path} must say for example '35 minutes in class', "
            "or a slot must be given: --slot 35"
        )
    return Plan(
        title=slides[0].title,
        slot=slot,
        sections=_sections(slides, seconds),
        unknown=tuple(name for name, s in seconds.items() if s is None),
        homework=_homework(cells),
    )


def stated_minutes(cells: tuple[Cell, ...]) -> int | None:
    """The minutes in class that a lecture's first cell states.

    >>> stated_minutes((Cell(0, "markdown", "title", "35 minutes in class; more.", "slide", ()),))
    35
    """
    found = _STATED.search(cells[0].source) if cells else None
    return int(found[1]) if found else None


def _sections(
    slides: tuple[Slide, ...], seconds: Mapping[str, float | None]
) -> tuple[Section, ...]:
    found = []
    for number in sorted({slide.section_number for slide in slides}):
        own = tuple(slide for slide in slides if slide.section_number == number)
        waits = {name: s for slide in own for name, s in heavy_cells(slide, seconds).items()}
        found.append(Section(own[0].title, own, waits))
    return tuple(found)


def heavy_cells(slide: Slide, seconds: Mapping[str, float | None]) -> dict[str, float]:
    """Seconds of the cells that a room waits for, shown or not.

    >>> slide = Slide(1, "Why?", "Why?", 1, "slide", 1, (0,), ("a", "b"), skipped=("c",))
    >>> heavy_cells(slide, {"a": 0.9, "b": 2.0, "c": 1.5})
    {'b': 2.0, 'c': 1.5}
    """
    every = {name: seconds.get(name) for name in (*slide.ids, *slide.skipped)}
    return {name: s for name, s in every.items() if s is not None and s >= HEAVY_SECONDS}


def _homework(cells: tuple[Cell, ...]) -> tuple[Homework, ...]:
    """Each exercise's heading with the difficulty and minutes of the solution after it."""
    found, title = [], ""
    for cell in cells:
        heading, solution = _EXERCISE.search(cell.source), _SOLUTION.search(cell.source)
        title = heading[1] if heading else title
        if solution and title:
            found.append(Homework(title, solution[1], int(solution[2])))
    return tuple(found)

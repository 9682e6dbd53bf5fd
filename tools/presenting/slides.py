"""The slides of a lecture, read from its cells: what is shown together, and for how long.

The slide type of a cell says how it is shown. ``slide`` begins a section, ``subslide`` another
slide of it; ``-`` joins the slide before; ``fragment`` joins it too, uncovered by the next key
press. ``skip`` runs and is never shown. ``notes`` is for the presenter alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

from tools.notebook_file import Cell, NotebookFileError, calls, read_cells

BEGINS = ("slide", "subslide")
JOINS = ("-", "fragment")
HIDDEN = ("skip", "notes")

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NOTES = re.compile(
    r"<details>\n<summary>For the presenter, (?:(\d+) min|after class)</summary>\n\n"
    r"(?:.*)\n\n</details>",
    re.DOTALL,
)


@dataclass
class Slide:
    """What is on the screen at once.

    Attributes:
        number: its place among the slides, from 1.
        kind: ``"slide"``, which begins a section, or ``"subslide"``.
        section: the heading of its section.
        title: its first heading, else that of its section with "(continued)".
        cells: the places in the notebook, from 0, of the cells that are shown.
        ids: their identifiers.
        skipped: identifiers of cells that run after them and are not shown.
        minutes: for the presenter, None where nothing is planned.
        after_class: whether the notes say that it is for after class.
        in_class: whether it is on the short path, the slides that the notes plan for class.
        explorers: the explorers on it, such as ``"explore_softmax"``.
    """

    number: int
    kind: str
    section: str
    title: str = ""
    cells: list[int] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    minutes: int | None = None
    after_class: bool = False
    in_class: bool = False
    explorers: list[str] = field(default_factory=list)


def read_slides(path: str | Path) -> tuple[Slide, ...]:
    """Read the slides of a lecture; refuse cells that no slide can show.

    >>> from tools.notebook_file import lecture_file
    >>> first, *_ = read_slides(lecture_file("01"))
    >>> first.title, first.ids[0], first.kind
    ('01 · Why divide by √d_k?', 'title', 'slide')
    """
    slides: list[Slide] = []
    for cell in read_cells(path):
        if cell.slide_type not in (*BEGINS, *JOINS, *HIDDEN):
            raise NotebookFileError(f"no slide type {cell.slide_type!r}: {cell.name} of {path}")
        if cell.slide_type in BEGINS:
            section = slides[-1].section if slides else ""
            slides.append(Slide(len(slides) + 1, cell.slide_type, section))
        if slides:
            _put(slides[-1], cell)
        elif cell.slide_type != "skip":
            raise NotebookFileError(f"the first cell shown must begin a slide: {cell.name}")
    for place, slide in enumerate(slides):
        slide.title = slide.title or f"{slide.section} (continued)"
        slide.in_class = _is_in_class(slides, place)
    return tuple(slides)


def _is_in_class(slides: list[Slide], place: int) -> bool:
    """A slide without notes goes with the one before; the first of a section with the next."""
    slide = slides[place]
    if slide.after_class or slide.minutes is not None:
        return not slide.after_class
    if slide.kind == "subslide" and place:
        return slides[place - 1].in_class
    rest = takewhile(lambda each: each.kind == "subslide", slides[place + 1 :])
    return next((not e.after_class for e in rest if e.after_class or e.minutes is not None), False)


def _put(slide: Slide, cell: Cell) -> None:
    """Put a cell on its slide, or take from its notes what is planned."""
    if cell.slide_type == "notes":
        found = _NOTES.fullmatch(cell.source.strip())
        if found is None or slide.after_class or slide.minutes is not None:
            raise NotebookFileError(
                "a slide has one cell of notes, with a summary such as "
                f"'For the presenter, 3 min' or 'after class': {cell.name}"
            )
        slide.after_class = found[1] is None
        slide.minutes = None if slide.after_class else int(found[1])
        return
    if cell.slide_type == "skip":
        slide.skipped.append(cell.id)
        return
    slide.title = slide.title or _heading(cell)
    if slide.title and (slide.kind == "slide" or not slide.section):
        slide.section = slide.title
    slide.ids.append(cell.id)
    slide.cells.append(cell.place)
    if cell.kind == "code":
        slide.explorers += [n for n, _ in calls(cell.source) if n.startswith("explore_")]


def _heading(cell: Cell) -> str:
    """The words of a text cell's first heading; a comment in code is none."""
    if cell.kind != "markdown":
        return ""
    found = _HEADING.search(_FENCE.sub("", cell.source))
    return found[2].replace("**", "") if found else ""

"""The slides of a lecture, read from its cells: what is shown together, and for how long.

The slide type of a cell says how it is shown. ``slide`` begins a section, ``subslide`` another
slide of it; ``-`` joins the slide before; ``fragment`` joins it too, uncovered by the next key
press. ``skip`` runs and is never shown. ``notes`` is for the presenter alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tools.notebook_file import Cell, NotebookFileError, calls, read_cells

__all__ = ["Slide", "read_slides"]

BEGINS = ("slide", "subslide")
TYPES = (*BEGINS, "-", "fragment", "skip", "notes")
AFTER_CLASS = "after class"

_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NOTES = re.compile(
    r"<details>\n<summary>For the presenter, (\d+ min|after class)</summary>\n\n(.*)\n\n</details>",
    re.DOTALL,
)
_NOTES_FORM = "'<details>' and '<summary>For the presenter, 3 min</summary>' (or 'after class')"


@dataclass(frozen=True)
class Slide:
    """What is on the screen at once.

    Attributes:
        number: its place among the slides, from 1.
        title: its first heading, else that of its section with "(continued)".
        section: the heading of its section.
        section_number: its section's place, from 1.
        kind: ``"slide"``, which begins a section, or ``"subslide"``.
        level: of its heading, 2 for a part of the lecture; 0 where it has none of its own.
        cells: the places in the notebook, from 0, of the cells that are shown.
        ids: their identifiers.
        fragments: how many of them wait for a key press.
        skipped: identifiers of cells that run after them and are not shown.
        minutes: for the presenter, None where nothing is planned.
        after_class: whether the notes say that it is for after class.
        notes: what the presenter reads, empty where there is nothing.
        explorers: the explorers on it, such as ``"explore_softmax"``.
    """

    number: int
    title: str
    section: str
    section_number: int
    kind: str
    level: int
    cells: tuple[int, ...]
    ids: tuple[str, ...]
    fragments: int = 0
    skipped: tuple[str, ...] = ()
    minutes: int | None = None
    after_class: bool = False
    notes: str = ""
    explorers: tuple[str, ...] = ()


def read_slides(path: str | Path) -> tuple[Slide, ...]:
    """Read the slides of a lecture.

    Raises:
        NotebookFileError: for what is no notebook (see :func:`read_cells`), a slide type that
            does not exist, a cell that joins no slide, and notes that are not in the agreed form,
            belong to no slide, or are the second of one.

    >>> from tools.notebook_file import find_lecture
    >>> first, *_ = read_slides(find_lecture("01"))
    >>> first.title, first.ids[0], first.kind
    ('01 · Why divide by √d_k?', 'title', 'slide')
    """
    slides: list[Slide] = []
    for cell in read_cells(path):
        try:
            _take(slides, cell)
        except NotebookFileError as error:
            raise NotebookFileError(f"{error} ({path})") from None
    return tuple(slides)


def _take(slides: list[Slide], cell: Cell) -> None:
    """Put one cell where it belongs: on a new slide, on the last one, or in its notes."""
    if cell.slide_type not in TYPES:
        raise NotebookFileError(
            f"a slide type must be one of {', '.join(TYPES)}; {cell.name} has {cell.slide_type!r}"
        )
    if cell.slide_type in BEGINS:
        slides.append(_with_cell(_begun(slides, cell), cell))
    elif not slides:
        if cell.slide_type == "skip":
            return
        if cell.slide_type == "notes":
            raise NotebookFileError(f"notes must follow their slide; {cell.name} follows none")
        raise NotebookFileError(
            f"the first cell that is shown must begin a slide; {cell.name} has the type "
            f"{cell.slide_type!r}"
        )
    elif cell.slide_type == "skip":
        slides[-1] = replace(slides[-1], skipped=(*slides[-1].skipped, cell.id))
    elif cell.slide_type == "notes":
        slides[-1] = _with_notes(slides[-1], cell)
    else:
        slides[-1] = _with_cell(slides[-1], cell)


def _begun(slides: list[Slide], cell: Cell) -> Slide:
    """A slide without cells, in its section; the title follows with the first heading."""
    last = slides[-1] if slides else None
    section_number = last.section_number if last else 0
    # A lecture that begins with a subslide has a section all the same.
    if cell.slide_type == "slide" or last is None:
        section_number += 1
    section = last.section if last else ""
    return Slide(
        number=len(slides) + 1,
        title="",
        section=section,
        section_number=section_number,
        kind=cell.slide_type,
        level=0,
        cells=(),
        ids=(),
    )


def _with_cell(slide: Slide, cell: Cell) -> Slide:
    """The slide with one more cell on it."""
    title, section, level = slide.title, slide.section, slide.level
    heading = _heading(cell)
    if heading is not None and not level:
        level, title = len(heading[1]), heading[2].replace("**", "")
        section = title if slide.kind == "slide" else section or title
    return replace(
        slide,
        title=title or _continued(section) or f"Slide {slide.number}",
        section=section,
        level=level,
        cells=(*slide.cells, cell.place),
        ids=(*slide.ids, cell.id),
        fragments=slide.fragments + (cell.slide_type == "fragment"),
        explorers=(*slide.explorers, *_explorers(cell)),
    )


def _continued(section: str) -> str:
    return f"{section} (continued)" if section else ""


def _heading(cell: Cell) -> re.Match[str] | None:
    """The marks and the words of a text cell's first heading; a comment in code is none."""
    return _HEADING.search(_FENCE.sub("", cell.source)) if cell.kind == "markdown" else None


def _explorers(cell: Cell) -> tuple[str, ...]:
    if cell.kind != "code":
        return ()
    return tuple(name for name, _ in calls(cell.source) if name.startswith("explore_"))


def _with_notes(slide: Slide, cell: Cell) -> Slide:
    """The slide with its presenter's notes."""
    if slide.notes:
        raise NotebookFileError(f"a slide must have one cell of notes; {cell.name} is the second")
    found = _NOTES.fullmatch(cell.source.strip())
    if found is None:
        raise NotebookFileError(
            f"notes must begin with the lines {_NOTES_FORM}, an empty line, and end with "
            f"'</details>' after an empty line; {cell.name} does not"
        )
    after_class = found[1] == AFTER_CLASS
    minutes = None if after_class else int(found[1].removesuffix(" min"))
    return replace(slide, minutes=minutes, after_class=after_class, notes=found[2].strip())

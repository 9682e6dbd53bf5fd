"""The plan of a talk: its slides with their minutes, presets and waits, and whether it fits.

    python -m tools.presenting.timing 04                against the minutes that the lecture states
    python -m tools.presenting.timing 04 --slot 30      against half an hour
    python -m tools.presenting.timing 04 --measure      run it here first, for this machine's waits

The exit status is 0 where the plan fits the slot, 1 where it does not, 2 for bad input.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from tools.notebook_file import SOLUTION, Cell, NotebookFileError, lecture_file, read_cells
from tools.presenting.slides import Slide, read_slides
from tools.setup.place import CommandError

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "lectures.json"
HEAVY_SECONDS = 1.0  # a shorter wait is no wait for a room
WIDTH, TITLE_WIDTH = 100, 80

_STATED = re.compile(r"\b(\d+) minutes in class")
_EXERCISE = re.compile(r"^### (\d+ · .+)$", re.MULTILINE)
_OPTIONAL = re.compile(r"^A failure worth seeing\b")


def main(arguments: list[str]) -> int:
    """Print the plan of the lecture named; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        path = lecture_file(options.lecture)
        cells, slides = read_cells(path), read_slides(path)
        slot = options.slot or stated_minutes(cells)
        number, _, _ = path.name.partition("_")
        seconds = measure_cells(path) if options.measure else _written_down(number)
    except (CommandError, NotebookFileError) as error:
        print(error)
        return 2
    planned = sum(slide.minutes or 0 for slide in slides)
    print(f"{slides[0].title}: {len(slides)} slides, slot {slot} min\n")
    parts = (_table(slides, seconds), _verdict(slides, slot, seconds), _path(slides), _later(cells))
    for part in parts:
        print("\n".join(part), end="\n\n")
    return int(planned > slot)


def stated_minutes(cells: tuple[Cell, ...]) -> int:
    """The minutes in class that a lecture's first cell states."""
    found = _STATED.search(cells[0].source)
    if found is None:
        raise NotebookFileError("the first cell must say 'NN minutes in class'; or give --slot")
    return int(found[1])


def measure_cells(path: Path) -> dict[str, float]:
    """Run a lecture in a fresh kernel; the seconds of each code cell by its id."""
    import nbformat
    from nbclient import NotebookClient

    print(f"Running {path.name} …", file=sys.stderr, flush=True)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": path.parent}}).execute()
    times = {}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            stamps = cell.metadata.get("execution", {})
            start, end = stamps["iopub.execute_input"], stamps["shell.execute_reply"]
            times[cell.id] = (_moment(end) - _moment(start)).total_seconds()
    return times


def _moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp.replace("Z", "+00:00"))


def _written_down(lecture: str) -> dict[str, float]:
    """The seconds that ``python -m benchmarks.lectures --json`` has written down."""
    if not RESULTS.is_file():
        return {}
    measured = json.loads(RESULTS.read_text(encoding="utf-8"))["lectures"]
    return measured.get(lecture, {}).get("cells", {})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.presenting.timing",
        description="List a lecture's slides with minutes, presets and waits; say whether it fits.",
    )
    parser.add_argument("lecture", metavar="LECTURE", help="04, 04_positions, or a notebook")
    parser.add_argument("--slot", type=int, metavar="MIN", help="minutes that there are")
    parser.add_argument("--measure", action="store_true", help="run the lecture here (minutes)")
    return parser


def _waits(slide: Slide, seconds: Mapping[str, float]) -> dict[str, float]:
    every = (*slide.ids, *slide.skipped)
    return {name: seconds[name] for name in every if seconds.get(name, 0.0) >= HEAVY_SECONDS}


def _table(slides: tuple[Slide, ...], seconds: Mapping[str, float]) -> Iterator[str]:
    """A line for each slide, with its presets and its waits below it."""
    from lectures import EXPLORERS

    yield " no   min  total  slide"
    total = 0
    for slide in slides:
        total += slide.minutes or 0
        planned = "later" if slide.after_class else str(slide.minutes or "")
        so_far = str(total) if slide.minutes is not None else ""
        indent = "  " if slide.kind == "subslide" else ""
        title = textwrap.shorten(slide.title, TITLE_WIDTH, placeholder=" …")
        yield f"{slide.number:3} {planned:>5}  {so_far:>5}  {indent}{title}"
        for name in slide.explorers:
            made = EXPLORERS[name]
            keys = [f"[{key}] {label}" for key, label in enumerate(made.presets, start=1)]
            yield from _indented(f"presets: {'  '.join(keys)}")
        waits = [f"{name} {s:.1f} s" for name, s in _waits(slide, seconds).items()]
        if waits:
            yield from _indented(f"waits:  {', '.join(waits)}")


def _indented(text: str) -> list[str]:
    indent = " " * 20
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + " " * 8,
        break_on_hyphens=False,
    )  # fmt: skip


def _verdict(slides: tuple[Slide, ...], slot: int, seconds: Mapping[str, float]) -> Iterator[str]:
    """Whether the plan fits, what could go, and how long the room waits."""
    planned = sum(slide.minutes or 0 for slide in slides)
    if planned <= slot:
        yield f"It fits: the plan takes {planned} of {slot} minutes."
    else:
        yield f"Too long: the plan takes {planned} minutes, {planned - slot} more than the slot."
        timed = [slide for slide in slides if slide.minutes]
        optional = [slide for slide in timed if _OPTIONAL.match(slide.section)]
        longest = sorted(timed, key=lambda slide: -(slide.minutes or 0))[:3]
        if optional:
            yield f"The notebook keeps what class can do without: slides {_named(optional)}."
        yield f"The longest slides: {_named(longest)}."
    waits = [s for slide in slides for s in _waits(slide, seconds).values()]
    yield f"{len(waits)} cells take a second or more: {sum(waits):.0f} s in all."


def _path(slides: tuple[Slide, ...]) -> Iterator[str]:
    """The slides of the short path, as ranges: those that the notes plan for class."""
    ranges: list[list[int]] = []
    for number in (slide.number for slide in slides if slide.in_class):
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    words = [f"{r[0]} to {r[-1]}" if len(r) > 1 else str(r[0]) for r in ranges]
    yield f"The short path in class (key s) has slides {', '.join(words)}."


def _named(slides: list[Slide]) -> str:
    return ", ".join(f"{each.number} ({each.minutes} min)" for each in slides)


def _later(cells: tuple[Cell, ...]) -> Iterator[str]:
    """Each exercise's heading with the difficulty and minutes of the solution after it."""
    yield "After class, beside the quiz:"
    title = ""
    for cell in cells:
        heading, solution = _EXERCISE.search(cell.source), SOLUTION.search(cell.source)
        title = heading[1] if heading else title
        if solution:
            yield f"  {title} ({solution[1]}, {solution[2]} min)"


if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −.
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))

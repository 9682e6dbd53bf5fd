"""Rehearse a lecture: its slides with their minutes, scenes and waits, and whether it fits.

    python -m tools.presenting.timing 04                against the minutes that the lecture states
    python -m tools.presenting.timing 04 --slot 30      against half an hour
    python -m tools.presenting.timing 04 --measure      run it here first, for this machine's waits

The exit status is 0 where the plan fits the slot, 1 where it does not, 2 for bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from tools.notebook_file import NotebookFileError, find_lecture, read_cells
from tools.presenting.cell_times import RESULTS, measure_cells, read_times, seconds_of
from tools.presenting.plan import Plan, Section, heavy_cells, make_plan, total_minutes
from tools.presenting.slides import Slide

__all__ = ["main"]

WIDTH = 100
TITLE_WIDTH = 80
# So many names of cells are read; more are counted.
SOME = 6

Scenes = dict[str, tuple[str, ...]]


def main(arguments: list[str]) -> int:
    """Print the plan of the lecture named; return the exit status.

    >>> main(["99"])  # doctest: +ELLIPSIS
    the lecture must be one of 00_start_here, 01_scaling, ...; got '99'
    2
    """
    options = _parser().parse_args(arguments)
    try:
        path = find_lecture(options.lecture)
        seconds = _seconds(path, options.measure)
        plan = make_plan(path, seconds, options.slot)
    except NotebookFileError as error:
        print(error)
        return 2
    scenes = _scenes_of(plan)
    if options.json:
        print(json.dumps(_as_data(plan, scenes, seconds), ensure_ascii=False, indent=1))
    else:
        print("\n".join([*_table(plan, scenes, seconds), "", *_verdict(plan), "", *_later(plan)]))
    return 1 if plan.excess else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.presenting.timing",
        description="List a lecture's slides with minutes, scenes and waits; say whether it fits.",
    )
    parser.add_argument("lecture", metavar="LECTURE", help="04, 04_positions, or a notebook")
    parser.add_argument(
        "--slot",
        type=_minutes,
        metavar="MIN",
        help="minutes that there are (default: those that the lecture's title cell states)",
    )
    parser.add_argument(
        "--measure", action="store_true", help="run the lecture here to time its cells (minutes)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _minutes(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be a whole number of minutes, got {text!r}")
    return int(text)


def _seconds(path: Path, measure: bool) -> dict[str, float | None]:
    """Seconds of each code cell: measured now, or as the benchmark has written them down."""
    cells = read_cells(path)
    if measure:
        print(f"Running {path.name} …", file=sys.stderr, flush=True)
    here = path.name[:2]
    times = measure_cells(cells, path.parent) if measure else read_times(here, RESULTS)
    return seconds_of(cells, times)


def _scenes_of(plan: Plan) -> Scenes:
    """The buttons of each explorer on the slides, in order: number keys press them."""
    names = {name for slide in plan.slides for name in slide.explorers}
    if not names:
        return {}
    # Pictures need half the course: only where there are some.
    from course_utils.lectures import EXPLORERS

    return {name: tuple(getattr(EXPLORERS.get(name), "scenes", ())) for name in sorted(names)}


def _table(plan: Plan, scenes: Scenes, seconds: Mapping[str, float | None]) -> Iterator[str]:
    """A line for each slide, with its scenes and its waits below it."""
    yield f"{plan.title}: {len(plan.slides)} slides, slot {plan.slot} min"
    yield ""
    yield " no   min  total  slide"
    total = 0
    for section in plan.sections:
        for slide in section.slides:
            total += slide.minutes or 0
            so_far = str(total) if slide.minutes is not None else ""
            title = ("  " if slide.kind == "subslide" else "") + slide.title
            if len(title) > TITLE_WIDTH:
                title = title[: TITLE_WIDTH - 1] + "…"
            yield f"{slide.number:3} {_planned(slide, section):>5}  {so_far:>5}  {title}"
            yield from _below(slide, scenes, seconds)


def _planned(slide: Slide, section: Section) -> str:
    """The minutes; a question mark once where a section says nothing."""
    if slide.minutes is not None:
        return str(slide.minutes)
    if slide.after_class:
        return "later"
    return "?" if section.unplanned and slide is section.slides[0] else ""


def _below(slide: Slide, scenes: Scenes, seconds: Mapping[str, float | None]) -> Iterator[str]:
    for name in slide.explorers:
        keys = [f"[{key}] {label}" for key, label in enumerate(scenes[name], start=1)]
        yield from _wrapped(f"scenes: {'  '.join(keys) or 'none'}")
    waits = heavy_cells(slide, seconds)
    if waits:
        yield from _wrapped(
            f"waits:  {', '.join(f'{name} {s:.1f} s' for name, s in waits.items())}"
        )


def _wrapped(text: str) -> list[str]:
    indent = " " * 20
    more = indent + " " * 8
    return textwrap.wrap(
        text, WIDTH, initial_indent=indent, subsequent_indent=more, break_on_hyphens=False
    )


def _verdict(plan: Plan) -> Iterator[str]:
    """Whether the plan fits, what could go, what is waited for, what is not known."""
    for sentence in (*_fit(plan), *_waiting(plan)):
        yield textwrap.fill(sentence, WIDTH, break_on_hyphens=False)


def _fit(plan: Plan) -> Iterator[str]:
    unplanned = [section for section in plan.sections if section.unplanned]
    at_least = "at least " if unplanned else ""
    if plan.excess:
        yield (
            f"Too long: the plan takes {at_least}{plan.minutes} minutes, {plan.excess} more than "
            f"the slot of {plan.slot}."
        )
        if plan.optional:
            yield (
                f"To leave out first, since the notebook keeps it: slides {_named(plan.optional)}, "
                f"{_count(total_minutes(plan.optional), 'minute')} in all."
            )
        yield f"The longest slides: {_named(plan.longest)}."
    else:
        yield f"It fits: the plan takes {at_least}{plan.minutes} of {plan.slot} minutes."
    if unplanned:
        numbers = ", ".join(str(section.slides[0].number) for section in unplanned)
        yield f"No minutes are planned for the sections that begin at slide {numbers} (marked ?)."


def _waiting(plan: Plan) -> Iterator[str]:
    if plan.unknown:
        some = ", ".join(plan.unknown[:SOME]) + (" …" if len(plan.unknown) > SOME else "")
        yield (
            f"{_count(len(plan.unknown), 'code cell')} not measured, or changed since: {some}. "
            "How long they compute is not known; --measure runs the lecture here."
        )
    if not plan.waits:
        return
    slow = [section for section in plan.sections if section.too_slow]
    within = "" if slow else ", everywhere less than the section's minutes"
    yield (
        f"{_count(len(plan.waits), 'cell')} of a second and more: "
        f"{sum(plan.waits.values()):.0f} s in all{within}."
    )
    for section in slow:
        yield (
            f"Not within its {section.minutes} min: {section.title} computes for "
            f"{sum(section.waits.values()):.0f} s. Run it before class."
        )


def _named(slides: Iterable[Slide]) -> str:
    return ", ".join(f"{each.number} ({each.minutes} min)" for each in slides)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _later(plan: Plan) -> Iterator[str]:
    total = sum(each.minutes for each in plan.homework)
    yield f"After class: {_count(len(plan.homework), 'exercise')}, {total} min, and the quiz"
    for each in plan.homework:
        yield f"  {each.title} ({each.difficulty}, {each.minutes} min)"


def _as_data(plan: Plan, scenes: Scenes, seconds: Mapping[str, float | None]) -> dict[str, object]:
    """The same for a machine; minutes are null where nothing is planned."""
    return {
        "lecture": plan.title,
        "slot": plan.slot,
        "minutes": plan.minutes,
        "excess": plan.excess,
        "optional": [slide.number for slide in plan.optional],
        "longest": [slide.number for slide in plan.longest],
        "unplanned": [section.title for section in plan.sections if section.unplanned],
        "too_slow": [section.title for section in plan.sections if section.too_slow],
        "unknown_cells": list(plan.unknown),
        "slides": [
            {
                "number": slide.number,
                "title": slide.title,
                "section": slide.section,
                "minutes": slide.minutes,
                "after_class": slide.after_class,
                "fragments": slide.fragments,
                "scenes": {name: list(scenes[name]) for name in slide.explorers},
                "waits": heavy_cells(slide, seconds),
            }
            for slide in plan.slides
        ],
        "after_class": [asdict(each) for each in plan.homework],
    }


if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −.
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.exit(main(sys.argv[1:]))

"""How long each cell of each lecture computes; `python -m tools.presenting.timing` reads it.

    python -m benchmarks.lectures             a table of the lectures
    python -m benchmarks.lectures --json      every cell, as benchmarks/results/lectures.json holds
    python -m benchmarks.lectures --only 04   one lecture
    python -m benchmarks.lectures --busy      each quiet, then beside a program that takes a core

A lecture runs in a fresh kernel from the first cell to the last, as when it is presented. Seconds
of one machine; which cells are the heavy ones travels better than their seconds.
"""

from __future__ import annotations

import argparse
import os
import sys

from benchmarks._busy import core_taken
from benchmarks._tables import conditions, lines_of, table
from lectures import COURSE
from tools.notebook_file import lecture_file
from tools.presenting.timing import HEAVY_SECONDS, measure_cells

PACKAGES = ("torch", "numpy", "matplotlib", "ipykernel")


def report(measured: dict[str, dict[str, float]]) -> list[str]:
    rows = []
    for number, times in measured.items():
        heavy = [f"{name} {s:.1f}" for name, s in times.items() if s >= HEAVY_SECONDS]
        rows.append([number, f"{sum(times.values()):.1f}", ", ".join(heavy)])
    return table(["lecture", "seconds", "cells of a second and more"], rows)


def quiet_and_busy(number: str) -> tuple[float, float]:
    """Seconds of a lecture, first alone, then with one core taken."""
    path = lecture_file(number)
    quiet = sum(measure_cells(path).values())
    with core_taken():
        return quiet, sum(measure_cells(path).values())


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--busy", action="store_true", help="a table of ratios")
    known = [lecture.number for lecture in COURSE]
    parser.add_argument("--only", choices=known, action="append", help="measure this one")
    options = parser.parse_args(arguments)
    numbers = options.only or known
    if options.busy:
        both = {number: quiet_and_busy(number) for number in numbers}
        rows = [[n, f"{q:.1f}", f"{b:.1f}", f"{b / q:.2f}"] for n, (q, b) in both.items()]
        print("\n".join(table(["lecture", "quiet", "busy", "ratio"], rows)))
        return 0
    measured = {number: measure_cells(lecture_file(number)) for number in numbers}
    where = conditions("lectures", arguments, PACKAGES)
    where["threads"] = f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}"
    if options.json:
        lectures = {
            number: {
                "seconds": round(sum(times.values()), 3),
                "cells": {name: round(seconds, 3) for name, seconds in times.items()},
            }
            for number, times in measured.items()
        }
        print(lines_of({"conditions": where, "lectures": lectures}))
    else:
        lines = [f"{name}: {value}" for name, value in where.items()]
        print("\n".join([*lines, "", *report(measured)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

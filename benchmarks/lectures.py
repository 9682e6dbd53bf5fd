"""How long each cell of each lecture computes; the rehearsal command reads it.

    python -m benchmarks.lectures             a table of the lectures
    python -m benchmarks.lectures --json      every cell, as benchmarks/results/lectures.json holds
    python -m benchmarks.lectures --only 04   one lecture

A lecture runs in a fresh kernel from the first cell to the last, as when it is presented. Seconds
of one machine; which cells are the heavy ones travels better than their seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import version
from statistics import median

from tools.notebook_file import known_lectures, read_cells
from tools.presenting.cell_times import CellTime, measure_cells
from tools.presenting.plan import HEAVY_SECONDS

PACKAGES = ("torch", "numpy", "matplotlib", "ipykernel")


def conditions(arguments: list[str]) -> dict[str, str]:
    """Where and with what this was measured."""
    return {
        "command": " ".join(["python -m benchmarks.lectures", *arguments]),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def measure(number: str) -> dict[str, CellTime]:
    path = known_lectures()[number]
    print(f"{path.name} …", file=sys.stderr, flush=True)
    return measure_cells(read_cells(path), path.parent)


def report(measured: dict[str, dict[str, CellTime]], conditions: dict[str, str]) -> str:
    lines = [f"{name}: {value}" for name, value in conditions.items()]
    lines += ["", f"{'lecture':8}{'seconds':>9}{'median cell':>13}  cells of a second and more"]
    for number, times in measured.items():
        seconds = [each.seconds for each in times.values()]
        heavy = [(n, t.seconds) for n, t in times.items() if t.seconds >= HEAVY_SECONDS]
        named = ", ".join(f"{name} {s:.1f}" for name, s in heavy)
        lines.append(f"{number:8}{sum(seconds):9.1f}{median(seconds):13.3f}  {named}")
    return "\n".join(lines)


def as_json(measured: dict[str, dict[str, CellTime]], conditions: dict[str, str]) -> str:
    lectures = {
        number: {
            "seconds": round(sum(each.seconds for each in times.values()), 3),
            "cells": {
                name: asdict(CellTime(round(each.seconds, 3), each.source))
                for name, each in times.items()
            },
        }
        for number, times in measured.items()
    }
    return json.dumps({"conditions": conditions, "lectures": lectures}, indent=1)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    known = known_lectures()
    parser.add_argument("--only", choices=known, action="append", help="measure this one")
    options = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # as the committed outputs are made
    measured = {number: measure(number) for number in options.only or known}
    write = as_json if options.json else report
    print(write(measured, conditions(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

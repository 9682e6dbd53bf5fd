"""How long each cell of a lecture computes: measured in a fresh kernel, kept with its source.

A time belongs to the source that was measured. A digest of it stands beside the time, so that a
cell that has changed since is known to be unknown.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.notebook_file import Cell, NotebookFileError
from tools.progress.kernel import CourseKernel

__all__ = ["RESULTS", "CellTime", "digest", "measure_cells", "read_times", "seconds_of"]

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "lectures.json"
LIMIT = 600.0


@dataclass(frozen=True)
class CellTime:
    """Seconds that a code cell took, and the digest of its source."""

    seconds: float
    source: str


def digest(source: str) -> str:
    r"""Sixteen hexadecimal digits that change with the source.

    >>> digest("x = 1") == digest("x = 1\n"), digest("x = 1") == digest("x = 2")
    (True, False)
    """
    return hashlib.sha256(source.strip().encode()).hexdigest()[:16]


def measure_cells(cells: Iterable[Cell], folder: Path) -> dict[str, CellTime]:
    """Run the code cells in order in a fresh kernel; return the time of each by its id.

    Args:
        cells: those of a lecture.
        folder: where the kernel starts.

    Raises:
        NotebookFileError: for a cell that stops with an error and is not tagged for it.

    >>> cell = Cell(0, "code", "sum", "sum(range(9))", "-", ())
    >>> list(measure_cells([cell], Path.cwd()))  # doctest: +SKIP
    ['sum']
    """
    times = {}
    with CourseKernel(limit=LIMIT, folder=folder) as kernel:
        for cell in cells:
            if cell.kind != "code":
                continue
            start = time.perf_counter()
            problem = kernel.run(cell.source)
            times[cell.id] = CellTime(time.perf_counter() - start, digest(cell.source))
            if problem and "raises-exception" not in cell.tags:
                raise NotebookFileError(f"a lecture must run; {cell.name} stops: {problem}")
    return times


def read_times(lecture: str, path: Path = RESULTS) -> dict[str, CellTime]:
    """The times of a lecture that ``python -m benchmarks.lectures --json`` has written.

    Nothing where the lecture, or the file, is not there.

    Raises:
        NotebookFileError: for a file of another form.

    >>> read_times("01", Path("nowhere.json"))
    {}
    """
    try:
        measured = json.loads(path.read_text(encoding="utf-8"))
        found = measured["lectures"].get(lecture, {"cells": {}})
        return {name: CellTime(**each) for name, each in found["cells"].items()}
    except FileNotFoundError:
        return {}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NotebookFileError(
            f"{path} must be what `python -m benchmarks.lectures --json` writes: {error!r}"
        ) from None


def seconds_of(cells: Iterable[Cell], times: Mapping[str, CellTime]) -> dict[str, float | None]:
    """Seconds of each code cell by its id; None where its source is not the one measured.

    >>> cells = [Cell(n, "code", f"c{n}", "x = 1", "-", ()) for n in range(3)]
    >>> times = {"c0": CellTime(2.5, digest("x = 1")), "c1": CellTime(9.0, digest("x = 2"))}
    >>> seconds_of(cells, times)
    {'c0': 2.5, 'c1': None, 'c2': None}
    """
    known = {
        cell.id: times[cell.id].seconds
        for cell in cells
        if cell.id in times and times[cell.id].source == digest(cell.source)
    }
    return {cell.id: known.get(cell.id) for cell in cells if cell.kind == "code"}

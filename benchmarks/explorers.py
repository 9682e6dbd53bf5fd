"""How long one slider event takes in each explorer, on the kernel's side.

    python -m benchmarks.explorers            a table, and exit status 1 when over budget
    python -m benchmarks.explorers --json     the same as JSON

An event is one control set to a random value: compute, caption, redraw, PNG, widget. Everything
that is kept between events is filled first, as a minute of use does. Beside it stands what it takes
without the engine, in the same run: making the figure anew and saving it. Ratios travel between
machines; milliseconds do not.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from random import Random
from statistics import median

import numpy as np

from benchmarks._report import conditions
from course_utils.explorers.drawn import DrawnExplorer
from course_utils.explorers.style import course_style, new_figure
from course_utils.lectures import EXPLORERS

EVENTS = 300
WARM_UP = 150
REPEATS = 15
BUDGET = {"median": 10.0, "p95": 25.0}
PACKAGES = ("torch", "matplotlib", "numpy", "pillow", "ipywidgets")


@dataclass(frozen=True)
class Timing:
    """Milliseconds per event; bytes of a picture; how many times as long it takes to draw anew."""

    explorer: str
    first: float
    median: float
    p95: float
    max: float
    png_bytes: int
    new_figure_ratio: float

    @property
    def within_budget(self) -> bool:
        """Whether a hand on the slider does not notice."""
        return self.median <= BUDGET["median"] and self.p95 <= BUDGET["p95"]


def milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)


def typical(call: Callable[[], object]) -> float:
    return median(milliseconds(call) for _ in range(REPEATS))


def random_event(explorer: DrawnExplorer, random: Random) -> Callable[[], None]:
    """One control and a value for it that it does not stand at already."""
    name = random.choice(list(explorer.inputs))
    control, value = explorer.controls[name], explorer.inputs[name].sample(random)
    while value == control.value:
        value = explorer.inputs[name].sample(random)
    return lambda: setattr(control, "value", value)


def warm_up(explorer: DrawnExplorer, random: Random) -> None:
    for name, each in explorer.inputs.items():
        for value in each.sweep():
            explorer.controls[name].value = value
    for _ in range(WARM_UP):
        random_event(explorer, random)()


def draw_anew(explorer: DrawnExplorer) -> None:
    """Compute, draw and save the figure without the engine: nothing is kept, nothing blitted."""
    state = explorer.compute(**explorer.values)
    figure = new_figure(*explorer.size)
    with course_style():
        explorer.draw(figure, state)
        explorer.draw_backdrop(state)
        explorer.update(state)
        figure.savefig(io.BytesIO(), format="png")


def measure(name: str) -> Timing:
    random, explorer = Random(0), EXPLORERS[name]()
    first = milliseconds(explorer.widget)
    warm_up(explorer, random)
    times, sizes = [], []
    for _ in range(EVENTS):
        times.append(milliseconds(random_event(explorer, random)))
        sizes.append(len(explorer.png()))
    middle = median(times)
    bare = type(explorer)(**explorer.values)  # the engine's own artists would stay unsaved
    bare.png()
    return Timing(
        explorer=name,
        first=first,
        median=middle,
        p95=float(np.percentile(times, 95)),
        max=max(times),
        png_bytes=int(median(sizes)),
        new_figure_ratio=typical(lambda: draw_anew(bare)) / middle,
    )


def report(timings: list[Timing], where: dict[str, str]) -> str:
    lines = [f"{name}: {value}" for name, value in where.items()]
    lines += [
        "",
        f"Kernel-side milliseconds per event, {EVENTS} random events after warm-up. Budget: "
        f"median {BUDGET['median']:.0f}, p95 {BUDGET['p95']:.0f}.",
        "The last column says how many times as long it takes to make the figure anew.",
        "",
        f"{'explorer':28}{'median':>8}{'p95':>8}{'max':>8}{'first':>8}{'PNG kB':>8}{'anew':>7}",
    ]
    for t in timings:
        lines.append(
            f"{t.explorer:28}{t.median:8.1f}{t.p95:8.1f}{t.max:8.1f}{t.first:8.0f}"
            f"{t.png_bytes / 1e3:8.0f}{t.new_figure_ratio:7.1f}"
            + ("" if t.within_budget else "  over budget")
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", choices=EXPLORERS, action="append", help="measure this one")
    options = parser.parse_args(arguments)
    # The others move in the browser: tests/browser/test_browser_explorers.py times them.
    drawn = [name for name, made in EXPLORERS.items() if hasattr(made, "draw")]
    timings = [measure(name) for name in options.only or drawn]
    where = conditions("explorers", arguments, PACKAGES)
    where["threads"] = f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}"
    if options.json:
        print(json.dumps({"conditions": where, "timings": [asdict(t) for t in timings]}))
    else:
        print(report(timings, where))
    return 0 if all(timing.within_budget for timing in timings) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""How long one slider event takes in each explorer, on the kernel's side.

    python -m benchmarks.explorers            a table, and exit status 1 when over budget
    python -m benchmarks.explorers --json     the same as JSON

An event is one control set to a random value: compute, caption, redraw, PNG, widget. Everything
that is kept between events is filled first, as a minute of use does. Beside it stand two ways of
doing without the engine, for the same figure in the same run: making it anew, and moving its
artists but saving it whole. Ratios travel between machines; milliseconds do not.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from random import Random
from statistics import median

import numpy as np
from matplotlib.figure import Figure
from PIL import Image

from course_utils.explorers import Explorer
from course_utils.explorers.png import encode_png
from course_utils.explorers.style import course_style, new_figure
from course_utils.lectures import EXPLORERS

EVENTS = 300
WARM_UP = 150
REPEATS = 15
BUDGET = {"median": 10.0, "p95": 25.0}
PACKAGES = ("torch", "matplotlib", "numpy", "pillow", "ipywidgets")


@dataclass(frozen=True)
class Timing:
    """Milliseconds per event; bytes of a picture; how many times as long the other ways take."""

    explorer: str
    first: float
    median: float
    p95: float
    max: float
    png_bytes: int
    pillow_ratio: float
    new_figure_ratio: float
    savefig_ratio: float

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


def random_event(explorer: Explorer, random: Random) -> Callable[[], None]:
    """One control and a value for it that it does not stand at already."""
    name = random.choice(list(explorer.inputs))
    control, value = explorer.controls[name], explorer.inputs[name].sample(random)
    while value == control.value:
        value = explorer.inputs[name].sample(random)
    return lambda: setattr(control, "value", value)


def warm_up(explorer: Explorer, random: Random) -> None:
    for name, each in explorer.inputs.items():
        for value in each.sweep():
            explorer.controls[name].value = value
    for _ in range(WARM_UP):
        random_event(explorer, random)()


def whole_figure(explorer: Explorer) -> Figure:
    """The figure that the author draws, without the engine: nothing is kept, nothing blitted."""
    figure = new_figure(*explorer.size)
    with course_style():
        explorer.draw(figure, explorer.state)
        explorer.draw_backdrop(explorer.state)
    return figure


def move_and_save(explorer: Explorer, figure: Figure) -> None:
    state = explorer.compute(**explorer.values)
    explorer.update(state)
    with course_style():
        figure.savefig(io.BytesIO(), format="png")


def pillow_png(pixels: np.ndarray) -> None:
    Image.fromarray(pixels).save(io.BytesIO(), format="png", compress_level=1)


def measure(name: str) -> Timing:
    random, explorer = Random(0), EXPLORERS[name]()
    first = milliseconds(explorer.widget)
    warm_up(explorer, random)
    times, sizes = [], []
    for _ in range(EVENTS):
        times.append(milliseconds(random_event(explorer, random)))
        sizes.append(len(explorer.png()))
    middle = median(times)
    pixels = np.asarray(Image.open(io.BytesIO(explorer.png())).convert("RGBA"))
    bare = type(explorer)(**explorer.values)  # the engine's own artists would stay unsaved
    bare.png()
    figure = whole_figure(bare)
    return Timing(
        explorer=name,
        first=first,
        median=middle,
        p95=float(np.percentile(times, 95)),
        max=max(times),
        png_bytes=int(median(sizes)),
        pillow_ratio=typical(lambda: pillow_png(pixels)) / typical(lambda: encode_png(pixels)),
        new_figure_ratio=typical(lambda: move_and_save(bare, whole_figure(bare))) / middle,
        savefig_ratio=typical(lambda: move_and_save(bare, figure)) / middle,
    )


def conditions(arguments: list[str]) -> dict[str, str]:
    """Where and with what this was measured."""
    module = "-m benchmarks.explorers" if __spec__ else "benchmarks/explorers.py"
    return {
        "command": " ".join(["python", module, *arguments]),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": f"OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS', 'unset')}",
        "python": platform.python_version(),
        **{package: version(package) for package in PACKAGES},
    }


def report(timings: list[Timing], conditions: dict[str, str]) -> str:
    lines = [f"{name}: {value}" for name, value in conditions.items()]
    lines += [
        "",
        f"Kernel-side milliseconds per event, {EVENTS} random events after warm-up. Budget: "
        f"median {BUDGET['median']:.0f}, p95 {BUDGET['p95']:.0f}.",
        "The last three columns say how many times as long it takes to encode with Pillow (of the "
        "PNG alone), to make the figure anew, and to move the artists and save the figure.",
        "",
        f"{'explorer':28}{'median':>8}{'p95':>8}{'max':>8}{'first':>8}{'PNG kB':>8}"
        f"{'Pillow':>8}{'anew':>7}{'savefig':>9}",
    ]
    for t in timings:
        lines.append(
            f"{t.explorer:28}{t.median:8.1f}{t.p95:8.1f}{t.max:8.1f}{t.first:8.0f}"
            f"{t.png_bytes / 1e3:8.0f}{t.pillow_ratio:8.1f}{t.new_figure_ratio:7.1f}"
            f"{t.savefig_ratio:9.1f}" + ("" if t.within_budget else "  over budget")
        )
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--only", choices=EXPLORERS, action="append", help="measure this one")
    options = parser.parse_args(arguments)
    timings = [measure(name) for name in options.only or EXPLORERS]
    where = conditions(arguments)
    if options.json:
        print(json.dumps({"conditions": where, "timings": [asdict(t) for t in timings]}))
    else:
        print(report(timings, where))
    return 0 if all(timing.within_budget for timing in timings) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

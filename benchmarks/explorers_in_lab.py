"""How long an explorer takes from a key to painted pixels in JupyterLab, and with its kernel busy.

    python -m benchmarks.explorers_in_lab [--rounds N] [--only NAME …]

As `benchmarks.explorers` measures a page. JupyterLab costs an explorer twice: its page is larger,
and a busy kernel takes a core. Exit status 1 when over budget.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks._tables import table
from benchmarks.explorers import EVENTS, HANDLE, ROUNDS, TIMED, best_of, chromium, verdict
from lectures import EXPLORERS
from tests.browser.support_lab import Lab, running_lab
from tests.browser.support_page import LecturePage
from tests.browser.support_scratch import write_notebook

# The pictures that the lectures open with.
OPENING = ["explore_real_heads", "explore_plane", "explore_score_width", "explore_two_places",
           "explore_rope", "explore_masks", "explore_tile_by_tile"]  # fmt: skip
NOTEBOOK = "explorer.ipynb"
SIZE = {"width": 1280, "height": 900}
RUN = "from lectures import EXPLORERS\nEXPLORERS[{!r}]()"
STILL_MS = 2000  # until JupyterLab has done what it does after a cell has run


def measure(browser: Any, lab: Lab, name: str, rounds: int) -> list[float]:
    """Median and late milliseconds with an idle kernel, then the same with a busy one."""
    write_notebook(lab.folder / NOTEBOOK, RUN.format(name), "while True: pass")
    tab = browser.new_page(viewport=SIZE)
    page = LecturePage(tab, lab, NOTEBOOK).open()
    page.run_cell(0)
    tab.locator(".ce").first.wait_for()
    handle = tab.evaluate_handle(HANDLE).as_element()
    idle = timed(tab, handle, rounds)
    page.run_cell(1, wait=False)
    handle.scroll_into_view_if_needed()
    busy = timed(tab, handle, rounds)
    if not page.is_busy():
        raise RuntimeError("the kernel was to be busy")
    page.close()
    tab.close()
    return [*idle, *busy]


def timed(tab: Any, handle: Any, rounds: int) -> list[float]:
    """The best of several rounds, once the page is still."""
    tab.wait_for_timeout(STILL_MS)
    return best_of([handle.evaluate(TIMED, EVENTS) for _ in range(rounds)])


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and say whether all are within the budget."""
    parser = argparse.ArgumentParser(description="From a key to painted pixels in JupyterLab.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"the best of these ({ROUNDS})")
    parser.add_argument("--only", nargs="+", choices=EXPLORERS, default=OPENING, metavar="NAME")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        served = Path(folder) / "served"
        served.mkdir()
        with running_lab(served, Path(folder)) as lab:
            times = {name: measure(browser, lab, name, options.rounds) for name in options.only}
    rows = [[name, *(f"{each:.1f}" for each in found)] for name, found in times.items()]
    print("\n".join(table(["explorer", "idle ms", "p95", "kernel busy ms", "p95"], rows)))
    return verdict(times)


if __name__ == "__main__":
    sys.exit(main())

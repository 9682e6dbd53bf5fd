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

from benchmarks._report import table
from benchmarks.explorers import EVENTS, HANDLE, LATE, MEDIAN, ROUNDS, TIMED
from lectures import EXPLORERS
from tests.browser.support_lab import Lab, running_lab
from tests.browser.support_page import LecturePage
from tests.browser.support_scratch import write_notebook
from tools.chromium import find_chromium

# The pictures that the lectures open with.
OPENING = ["explore_real_heads", "explore_plane", "explore_score_width", "explore_two_places",
           "explore_rope", "explore_masks", "explore_tile_by_tile"]  # fmt: skip
NOTEBOOK = "explorer.ipynb"
SIZE = {"width": 1280, "height": 900}
RUN = "from lectures import EXPLORERS\nEXPLORERS[{!r}]()"
STILL_MS = 2000  # until JupyterLab has done what it does after a cell has run


def measure(browser: Any, lab: Lab, name: str, rounds: int) -> tuple[list[float], list[float]]:
    """Script, median and late milliseconds with an idle and with a busy kernel."""
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
    return idle, busy


def timed(tab: Any, handle: Any, rounds: int) -> list[float]:
    """The best of several rounds, once the page is still."""
    tab.wait_for_timeout(STILL_MS)
    times = [handle.evaluate(TIMED, EVENTS) for _ in range(rounds)]
    return [min(each) for each in zip(*times, strict=True)]


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and say whether all are within the budget."""
    parser = argparse.ArgumentParser(description="From a key to painted pixels in JupyterLab.")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"the best of these ({ROUNDS})")
    parser.add_argument("--only", nargs="+", choices=EXPLORERS, default=OPENING, metavar="NAME")
    options = parser.parse_args(arguments)
    from playwright.sync_api import sync_playwright

    rows, over = [], []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        served = Path(folder) / "served"
        served.mkdir()
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        with running_lab(served, Path(folder)) as lab:
            for name in options.only:
                kernels = measure(browser, lab, name, options.rounds)
                figures = [time for times in kernels for time in times[1:]]
                rows.append([name, *(f"{each:.1f}" for each in figures)])
                if max(figures[::2]) > MEDIAN or max(figures[1::2]) > LATE:
                    over.append(name)
        browser.close()
    print("\n".join(table(["explorer", "idle ms", "p95", "kernel busy ms", "p95"], rows)))
    print(f"over {MEDIAN:g} ms in the median or {LATE:g} at p95: {', '.join(over) or 'none'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

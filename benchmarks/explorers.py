"""How long an explorer takes from a key to painted pixels, on a page in Chromium.

    python -m benchmarks.explorers [--busy] [--only NAME …]

An event is a key on one of the explorer's own handles. The clock runs from the event to the end of
the work for the frame that it is drawn in: numbers, marks, layout, paint. Exit status 1 when over
budget.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._busy import core_taken
from benchmarks._report import table
from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tools.chromium import find_chromium

MEDIAN, LATE = 12.0, 30.0  # milliseconds
EVENTS = 200
SIZE = {"width": 940, "height": 700}
# Keys that go back and forth, so that no end is reached and each event changes something.
TIMED = """async events => {
  const handles = document.querySelectorAll('.ce :is([role=slider][tabindex], input[type=range])');
  const handle = [...handles].find(each => each.checkVisibility());
  const times = [];
  for (let i = 0; i < events; i += 1) {
    await new Promise(done => requestAnimationFrame(() => {
      const key = i % 8 < 4 ? 'ArrowRight' : 'ArrowLeft';
      const start = performance.now();
      handle.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      const handled = performance.now() - start;
      requestAnimationFrame(frame => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
          times.push(handled + performance.now() - frame);
          done();
        };
        channel.port2.postMessage(0);
      });
    }));
  }
  return times.sort((one, other) => one - other);
}"""


@dataclass(frozen=True)
class Timing:
    """Of one explorer: kilobytes of its module and of its data, compressed; milliseconds."""

    name: str
    module: float
    data: float
    median: float
    late: float

    @property
    def within_budget(self) -> bool:
        """Whether a hand does not notice."""
        return self.median <= MEDIAN and self.late <= LATE


def measure(tab: Any, name: str, folder: Path) -> Timing:
    """Open an explorer's page and move its first handle."""
    explorer = EXPLORERS[name]()
    page = standalone_page(explorer)
    path = folder / f"{name}.html"
    path.write_text(page, encoding="utf-8")
    tab.goto(path.as_uri())
    times = tab.evaluate(TIMED, EVENTS)
    module = compressed(explorer.module())
    return Timing(
        name,
        module=module,
        data=compressed(page) - module,
        median=times[EVENTS // 2],
        late=times[EVENTS * 95 // 100],
    )


def compressed(text: str) -> float:
    """Kilobytes that a server sends for a text."""
    return len(gzip.compress(text.encode())) / 1e3


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and say whether all are within the budget."""
    parser = argparse.ArgumentParser(description="From a key to painted pixels, each explorer.")
    parser.add_argument("--busy", action="store_true", help="with one core at work")
    parser.add_argument("--only", nargs="+", default=list(EXPLORERS), help="these explorers")
    options = parser.parse_args(arguments)
    from playwright.sync_api import sync_playwright

    with (
        sync_playwright() as playwright,
        tempfile.TemporaryDirectory() as folder,
        core_taken() if options.busy else nullcontext(),
    ):
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport=SIZE)
        timings = [measure(tab, name, Path(folder)) for name in options.only]
        browser.close()
    head = ["explorer", "module kB", "data kB", "median ms", "p95 ms"]
    rows = [
        [each.name, f"{each.module:.1f}", f"{each.data:.0f}", f"{each.median:.1f}",
         f"{each.late:.1f}"]
        for each in timings
    ]  # fmt: skip
    print("\n".join(table(head, rows)))
    over = [each.name for each in timings if not each.within_budget]
    print(f"over {MEDIAN:g} ms in the median or {LATE:g} at p95: {', '.join(over) or 'none'}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())

"""How long an explorer takes from a key to painted pixels, on a page in Chromium.

    python -m benchmarks.explorers [--busy] [--rounds N] [--only NAME …]

An event is a key on the first handle that changes something. The clock runs from the event to the
end of the work for the frame that it is drawn in: numbers, marks, layout, paint; "script" is the
part of numbers and marks. Of several rounds the quickest counts, since whatever else a machine does
only adds. "× plane" compares with `explore_plane` in the same rounds: it depends less on the
machine. Exit status 1 when over budget.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._busy import core_taken
from benchmarks._report import table
from course_utils.explorers.data import as_json
from course_utils.explorers.page import standalone_page
from course_utils.explorers.widget import SharedKit
from lectures import EXPLORERS
from tools.chromium import find_chromium

MEDIAN, LATE = 12.0, 30.0  # milliseconds
EVENTS, ROUNDS = 100, 3
LIKE = "explore_plane"
SIZE = {"width": 940, "height": 700}
# The first handle whose keys change something.
HANDLE = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  const explorer = document.querySelector('.ce');
  // A page draws a moment after it is built.
  while (!explorer.checkVisibility({ visibilityProperty: true })) await frame();
  const named = '[role=slider], input[type=range], [role=radio], [role=gridcell], [role=switch]';
  for (const each of explorer.querySelectorAll(`:is(${named}, button):not([tabindex="-1"])`)) {
    if (!each.checkVisibility() || each.closest('.ce-presets')) continue;
    const press = key => each.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
    press('Shift'); // the explorer marks what a key came to
    const before = explorer.innerHTML;
    for (const key of ['ArrowRight', 'ArrowLeft']) { // one may stand at its end
      press(key);
      await frame();
      await frame();
      if (explorer.innerHTML !== before) return each;
    }
  }
}"""
# Keys that go back and forth, so that no end is reached and each event changes something.
TIMED = """async (handle, events) => {
  const [script, times] = [[], []];
  const now = () => performance.now();
  for (let i = 0; i < events; i += 1) {
    await new Promise(done => requestAnimationFrame(() => {
      const key = i % 8 < 4 ? 'ArrowLeft' : 'ArrowRight';
      let begin;
      requestAnimationFrame(() => { begin = now(); });
      const start = now();
      handle.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
      const handled = now() - start;
      requestAnimationFrame(() => {
        script.push(handled + now() - begin);
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
          times.push(handled + now() - begin);
          done();
        };
        channel.port2.postMessage(0);
      });
    }));
  }
  const at = (all, share) => all.sort((one, other) => one - other)[Math.floor(share * all.length)];
  return [at(script, 0.5), at(times, 0.5), at(times, 0.95)];
}"""


@dataclass(frozen=True)
class Timing:
    """Of one explorer: kilobytes, compressed, and milliseconds.

    Attributes:
        module: its module, as a notebook gets it. The kit is sent once for all.
        data: what it shows.
    """

    name: str
    module: float
    data: float
    script: float
    median: float
    late: float

    @property
    def within_budget(self) -> bool:
        """Whether a hand does not notice."""
        return self.median <= MEDIAN and self.late <= LATE


def measure(browser: Any, pages: dict[str, Path], rounds: int) -> dict[str, list[float]]:
    """Script, median and late milliseconds of each page; rounds go over all of them in turn."""
    best: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, page in pages.items():
            tab = browser.new_page(viewport=SIZE)
            tab.goto(page.as_uri())
            handle = tab.evaluate_handle(HANDLE).as_element()
            if handle is None:
                raise RuntimeError(f"no key changes anything in {name}")
            times = handle.evaluate(TIMED, EVENTS)
            before = best.get(name) or times
            best[name] = [min(pair) for pair in zip(times, before, strict=True)]
            tab.close()
    return best


def written(names: list[str], folder: Path) -> dict[str, Path]:
    """The page of each explorer, in a folder."""
    pages = {name: folder / f"{name}.html" for name in names}
    for name, path in pages.items():
        path.write_text(standalone_page(EXPLORERS[name]()), encoding="utf-8")
    return pages


def compressed(text: str) -> float:
    """Kilobytes that a server sends for a text."""
    return len(gzip.compress(text.encode())) / 1e3


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and say whether all are within the budget."""
    parser = argparse.ArgumentParser(description="From a key to painted pixels, each explorer.")
    parser.add_argument("--busy", action="store_true", help="with one core at work")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"the best of these ({ROUNDS})")
    parser.add_argument("--only", nargs="+", default=list(EXPLORERS), help="these explorers")
    options = parser.parse_args(arguments)
    from playwright.sync_api import sync_playwright

    names = list(dict.fromkeys([LIKE, *options.only]))
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        pages = written(names, Path(folder))
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        with core_taken() if options.busy else nullcontext():
            best = measure(browser, pages, options.rounds)
        browser.close()
    timings = [timing(name, best[name]) for name in names]
    print("\n".join(lines(timings)))
    print(f"the kit, once for all: {compressed(SharedKit.now().module):.1f} kB")
    over = [each.name for each in timings if not each.within_budget]
    print(f"over {MEDIAN:g} ms in the median or {LATE:g} at p95: {', '.join(over) or 'none'}")
    return 1 if over else 0


def timing(name: str, times: list[float]) -> Timing:
    """What was measured of an explorer, with its sizes."""
    widget = EXPLORERS[name]().widget()
    return Timing(
        name, compressed(widget._esm), compressed(json.dumps(as_json(widget.given))), *times
    )


def lines(timings: list[Timing]) -> list[str]:
    """A table, the first row of which the others are compared with."""
    first = timings[0].median
    head = ["explorer", "module kB", "data kB", "script ms", "median ms", "p95 ms", "× plane"]
    rows = [
        [each.name, f"{each.module:.1f}", f"{each.data:.0f}", f"{each.script:.1f}",
         f"{each.median:.1f}", f"{each.late:.1f}", f"{each.median / first:.1f}"]
        for each in timings
    ]  # fmt: skip
    return table(head, rows)


if __name__ == "__main__":
    sys.exit(main())

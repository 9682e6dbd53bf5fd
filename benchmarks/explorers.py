"""How long an explorer takes from a key to painted pixels, on a page in Chromium.

    python -m benchmarks.explorers [--busy] [--rounds N] [--only NAME …]

An event is a key on the first handle that changes something. The clock runs from the event to the
end of the work for the frame that it is drawn in: numbers, marks, layout, paint. Of several rounds
the quickest counts, since whatever else a machine does only adds. Exit status 1 when over budget.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks._busy import core_taken
from benchmarks._tables import table
from course_utils.explorers.page import standalone_page
from course_utils.explorers.widget import SharedKit
from lectures import EXPLORERS
from tools.chromium import find_chromium

MEDIAN, LATE = 12.0, 30.0  # milliseconds that a hand does not notice
EVENTS, ROUNDS = 100, 3
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
  const times = [];
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
        const channel = new MessageChannel();
        channel.port1.onmessage = () => {
          times.push(handled + now() - begin);
          done();
        };
        channel.port2.postMessage(0);
      });
    }));
  }
  times.sort((one, other) => one - other);
  return [0.5, 0.95].map(share => times[Math.floor(share * times.length)]);
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that draws without a GPU."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def best_of(rounds: list[list[float]]) -> list[float]:
    """The quickest median and the quickest 95th percentile."""
    return [min(each) for each in zip(*rounds, strict=True)]


def measure(browser: Any, pages: dict[str, Path], rounds: int) -> dict[str, list[float]]:
    """Median and late milliseconds of each page; rounds go over all of them in turn."""
    times: dict[str, list[list[float]]] = {name: [] for name in pages}
    for _ in range(rounds):
        for name, page in pages.items():
            tab = browser.new_page(viewport=SIZE)
            tab.goto(page.as_uri())
            handle = tab.evaluate_handle(HANDLE).as_element()
            if handle is None:
                raise RuntimeError(f"no key changes anything in {name}")
            times[name].append(handle.evaluate(TIMED, EVENTS))
            tab.close()
    return {name: best_of(found) for name, found in times.items()}


def compressed(text: str) -> str:
    """Kilobytes that a server sends for a text."""
    return f"{len(gzip.compress(text.encode())) / 1e3:.1f}"


def verdict(times: dict[str, list[float]]) -> int:
    """Say who is over the budget; return the exit status. Of each, medians, then late times."""
    over = [
        name for name, found in times.items() if max(found[::2]) > MEDIAN or max(found[1::2]) > LATE
    ]
    print(f"over {MEDIAN:g} ms in the median or {LATE:g} at p95: {', '.join(over) or 'none'}")
    return 1 if over else 0


def main(arguments: list[str] | None = None) -> int:
    """Measure, print a table, and say whether all are within the budget."""
    parser = argparse.ArgumentParser(description="From a key to painted pixels, each explorer.")
    parser.add_argument("--busy", action="store_true", help="with one core at work")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"the best of these ({ROUNDS})")
    parser.add_argument("--only", nargs="+", default=list(EXPLORERS), help="these explorers")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        pages = {name: Path(folder) / f"{name}.html" for name in options.only}
        for name, path in pages.items():
            path.write_text(standalone_page(EXPLORERS[name]()), encoding="utf-8")
        with core_taken() if options.busy else nullcontext():
            times = measure(browser, pages, options.rounds)
    rows = [
        [name, compressed(EXPLORERS[name]().widget()._esm), *(f"{each:.1f}" for each in found)]
        for name, found in times.items()
    ]
    print("\n".join(table(["explorer", "module kB", "median ms", "p95 ms"], rows)))
    print(f"the kit, once for all: {compressed(SharedKit.now().module)} kB")
    return verdict(times)


if __name__ == "__main__":
    sys.exit(main())

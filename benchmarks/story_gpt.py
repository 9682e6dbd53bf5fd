"""How long the story GPT takes for a word, and to read all again without a head, in Chromium.

    python -m benchmarks.story_gpt [--busy] [--rounds N]

The clock runs as in `benchmarks.explorers`: from the event to the end of the work for the frame
that it is drawn in. A phone is a window of 390 pixels and a processor four times as slow.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from benchmarks._busy import core_taken
from benchmarks._tables import table
from benchmarks.explorers import ROUNDS, chromium
from course_utils.explorers.gpt.story import StoryGPT
from course_utils.explorers.page import standalone_page

LENGTHS = (40, 185)
FULL = "Ben was in the park. " * 32
SLOWER = 4
WINDOWS = {"page": (940, 700, 1), "phone": (390, 844, SLOWER)}
TIMED = """(element, act) => new Promise(done => requestAnimationFrame(() => {
  let begin;
  requestAnimationFrame(() => { begin = performance.now(); });
  const start = performance.now();
  if (act === 'click') element.click();
  else element.dispatchEvent(new KeyboardEvent('keydown', { key: act, bubbles: true }));
  const handled = performance.now() - start;
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => done(handled + performance.now() - begin);
    channel.port2.postMessage(0);
  });
}))"""


def measure(browser: Any, page: Path, window: tuple[int, int, int], rounds: int) -> list[float]:
    """Median milliseconds for a word at each length, and for a switch of each head when full."""
    width, height, slower = window
    tab = browser.new_page(viewport={"width": width, "height": height})
    tab.goto(page.as_uri())
    typed = tab.locator(".story-typed")
    if slower > 1:
        tab.context.new_cdp_session(tab).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    found = []
    for length in LENGTHS:
        tell(tab, FULL.replace(".", " .").split()[:length])
        keys = ["Enter", "Backspace"] * 20
        times = [[typed.evaluate(TIMED, key) for key in keys][::2] for _ in range(rounds)]
        found.append(min(map(median, times)))
    tell(tab, FULL.split())
    knobs = tab.locator(".story-switch").all()
    # Every second time a head comes back, and nothing is read again.
    times = [
        [knob.evaluate(TIMED, "click") for knob in knobs for _ in "01"][::2] for _ in range(rounds)
    ]
    tab.close()
    return [*found, min(map(median, times))]


def tell(tab: Any, words: list[str]) -> None:
    """A new story that begins with some words."""
    tab.locator(".ce-presets button").first.click()
    tab.locator(".story-typed").fill(" ".join(words) + " ")
    tab.wait_for_timeout(500)


def median(times: list[float]) -> float:
    """The middle one."""
    return sorted(times)[len(times) // 2]


def main(arguments: list[str] | None = None) -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description="From a key to the next word painted.")
    parser.add_argument("--busy", action="store_true", help="with one core at work")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"the best of these ({ROUNDS})")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        page = Path(folder) / "story.html"
        page.write_text(standalone_page(StoryGPT()), encoding="utf-8")
        with core_taken() if options.busy else nullcontext():
            rows = [
                [name, *(f"{each:.1f}" for each in measure(browser, page, window, options.rounds))]
                for name, window in WINDOWS.items()
            ]
    heads = [*(f"a word after {length}" for length in LENGTHS), "a head off at 191"]
    print("\n".join(table(["median ms", *heads], rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Build the site once, serve it on loopback, and read what a page shows."""

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("SITE_OUT") or ROOT / "build" / "site")
BUILD_SECONDS = 1200
PAGE_MS = 30_000


def build_site() -> tuple[Path, str]:
    """Build as `make site` does; return where the pages are, and what the build said.

    Raises:
        RuntimeError: when the build fails, with what it wrote.
    """
    command = [sys.executable, "-m", "tools.site.build", "--out", str(OUT)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_SECONDS)
    if built.returncode:
        raise RuntimeError(f"the site does not build:\n{built.stdout}\n{built.stderr}")
    return OUT / "html", built.stdout


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser hangs up on a picture that it no longer needs."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback until the context ends; gives its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def pages(folder: Path) -> list[str]:
    """Return every page of the site, by its path."""
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.html"))]


def visit(tab: Any, address: str) -> None:
    """Open a page and wait until its scripts have run."""
    tab.goto(address, timeout=PAGE_MS)
    tab.wait_for_load_state("load", timeout=PAGE_MS)


def serious(violations: list[dict]) -> list[str]:
    """Return what is serious among what axe found, with the first element of each."""
    return [
        f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]


# Whether all that is to be drawn near the screen has been drawn.
SETTLED = """() => [...document.querySelectorAll('[data-view]')].every(box => {
  const { top, bottom } = box.getBoundingClientRect();
  const shown = box.querySelector('.ce');
  return bottom < -690 || top > innerHeight + 690 || (shown && !shown.style.visibility);
})"""
# How far a heading is from where its link should bring it: 0 also where the page ends before.
MISSED = """id => {
  const heading = document.getElementById(id);
  const margin = parseFloat(getComputedStyle(heading).scrollMarginTop);
  const missed = heading.getBoundingClientRect().top - margin;
  const rest = document.documentElement.scrollHeight - innerHeight - scrollY;
  return missed > 0 && rest < 2 ? 0 : missed;
}"""
# Where each heading is: at once, and before a script has drawn anything.
FIRST_TOPS = """globalThis.tops = () => Object.fromEntries(
  [...document.querySelectorAll(".toc-tree a[href^='#']")].filter(({ hash }) => hash.length > 1)
    .map(({ hash }) => [hash.slice(1), scrollY +
      document.getElementById(hash.slice(1)).getBoundingClientRect().top]));
addEventListener('DOMContentLoaded', () => { globalThis.firstTops = tops(); });"""
# How far the box of a picture went beyond its room, at any moment since the page opened.
ROOM = """globalThis.grown = [];
addEventListener('DOMContentLoaded', () => {
  const first = new Map();
  const watch = new ResizeObserver(all => all.forEach(({ target, contentRect: { height } }) => {
    if (first.has(target)) grown.push([target.dataset.view, Math.abs(height - first.get(target))]);
    else first.set(target, height);
  }));
  document.querySelectorAll('[data-view]').forEach(box => watch.observe(box));
});"""
AT_THE_END = "document.documentElement.scrollHeight - innerHeight - scrollY < 2"
OPEN_FOLDS = "document.querySelectorAll('article details[open]:not(.ce *)').length"
# What does not fit in the window: the page, and what has no box to scroll in.
BEYOND = """() => {
  const width = document.documentElement.clientWidth;
  const found = [];
  const page = document.documentElement.scrollWidth;
  if (page > width) found.push(`the page: ${page}`);
  const contents = [...document.querySelectorAll('.toc-overlay-icon')];
  const drawer = document.querySelector('.toc-drawer');
  const isColumn = getComputedStyle(drawer).position !== 'fixed';
  if (!isColumn && !contents.some(each => each.checkVisibility())) found.push('no contents');
  const parts = [...document.querySelectorAll(
    '.content, article, article section > *, .theme-toggle, .brand, .course-room')];
  for (const each of [...parts, ...contents, ...(isColumn ? [drawer] : [])]) {
    if (!each.checkVisibility() || each.closest('.sidebar-drawer, .toc-drawer:not(:scope)') &&
      each !== drawer) continue;
    const { left, right } = each.getBoundingClientRect();
    if (left < -0.5 || right > width + 0.5) {
      found.push(`${each.className || each.tagName}: ${Math.round(left)} to ${Math.round(right)}`);
    }
  }
  return found;
}"""
SHIFTS = """globalThis.shifts = [];
new PerformanceObserver(list => list.getEntries().forEach(entry => shifts.push(
  [entry.value, entry.sources.map(({ node }) => node?.className || node?.nodeName).join(', ')],
))).observe({ type: 'layout-shift', buffered: true });"""
SLOW_NETWORK = {"latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 90_000}
SLOWER = 4


def settle(tab: Any) -> None:
    """Wait until all that is near the screen has been drawn, and laid out."""
    tab.wait_for_function(SETTLED, timeout=PAGE_MS)
    tab.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")


def headings(tab: Any) -> list[str]:
    """The anchors of all headings of a page, as *On this page* links them."""
    links = ".toc-tree a[href^='#']"
    found = tab.locator(links).evaluate_all("all => all.map(each => each.hash.slice(1))")
    return [name for name in found if name]


def missed(tab: Any, anchor: str) -> float:
    """How many pixels a link to a heading missed it by, once the page has settled."""
    settle(tab)
    return tab.evaluate(MISSED, anchor)


def click_in_contents(tab: Any, anchor: str) -> None:
    """Follow a link of *On this page*, which is behind a button where the window is narrow."""
    link = tab.locator(f".toc-tree a[href='#{anchor}']")
    if tab.evaluate("getComputedStyle(document.querySelector('.toc-drawer')).position") == "fixed":
        tab.locator(".toc-overlay-icon:visible").click()
    link.click()


def slow_down(tab: Any) -> None:
    """A network of the third generation, and a processor that is four times slower."""
    session = tab.context.new_cdp_session(tab)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", {"offline": False, **SLOW_NETWORK})
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})


def read_to_the_end(tab: Any) -> None:
    """Scroll down by less than a screen at a time, and let everything be drawn."""
    settle(tab)
    while not tab.evaluate(AT_THE_END):
        tab.evaluate("scrollBy(0, 0.8 * innerHeight)")
        settle(tab)


def shifts(tab: Any, address: str, screens: int) -> list[tuple[float, str]]:
    """Open a page, read on through some screens, and return all that moved, and by how much."""
    tab.add_init_script(SHIFTS)
    visit(tab, address)
    for _ in range(screens):
        settle(tab)
        tab.evaluate("scrollBy(0, 0.8 * innerHeight)")
    settle(tab)
    return tab.evaluate("shifts")

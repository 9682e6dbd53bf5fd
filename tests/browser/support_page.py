"""A lecture open in JupyterLab, driven as a reader drives it: keyboard, eyes on the picture.

JupyterLab's own application object is asked for two things only: to bring a cell into view (the
notebook is windowed), and for the outputs it holds.
"""

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.browser.support_lab import Lab

OPEN_MS = 60_000
RUN_SECONDS = 600
QUIET_SECONDS = 5
CHANGE_MS = 8_000

PANEL = "window.jupyterapp.shell.currentWidget"
# What ipywidgets and JupyterLab say in the place of a widget that cannot be shown.
BROKEN = (
    "Error displaying widget",
    "Error creating widget",
    "model not found",
    "Click to show javascript error",
)

# What the reader sees of an explorer: the picture's marks and canvases, its words.
SEEN = """async box => {
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const canvases = [...box.querySelectorAll('canvas')].map(each => each.toDataURL());
    const problem = box.querySelector('.ce-problem');
    return {
        picture: box.querySelector('.ce-stage').innerHTML + canvases,
        caption: box.querySelector('.ce-caption').innerText.trim(),
        error: problem.hidden ? '' : problem.innerText.trim(),
    };
}"""


def is_home(url: str) -> bool:
    """Return whether a request stays on this machine (or carries its data in itself)."""
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob", "file") or parts.hostname in ("127.0.0.1", "localhost")


class LecturePage:
    """One notebook in one tab."""

    def __init__(self, page: Any, lab: Lab, notebook: str) -> None:
        self.page = page
        self.lab = lab
        self.notebook = notebook

    def open(self) -> "LecturePage":
        """Open the notebook and wait until its cells are there and its kernel is idle."""
        self.page.goto(self.lab.link(self.notebook), timeout=OPEN_MS)
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=OPEN_MS)
        self.page.wait_for_function(
            f"{PANEL}?.context?.isReady && {PANEL}.content.widgets.length"
            f" === {PANEL}.content.model.cells.length",
            timeout=OPEN_MS,
        )
        self.wait_until_idle()
        return self

    def wait_until_idle(self, seconds: float = 60) -> None:
        """Wait until the kernel has nothing more to do."""
        self.page.wait_for_function(
            f"{PANEL}.sessionContext.session?.kernel?.status === 'idle'", timeout=seconds * 1000
        )

    def is_trusted(self) -> bool:
        """Return whether JupyterLab trusts every code cell: only then it runs their HTML."""
        code = f"{PANEL}.content.widgets.filter(cell => cell.model.type === 'code')"
        return self.page.evaluate(f"{code}.every(cell => cell.model.trusted)")

    def is_busy(self) -> bool:
        """Return whether the kernel is at work."""
        return self.page.evaluate(f"{PANEL}.sessionContext.session.kernel.status") == "busy"

    def run_all(self) -> None:
        """Run → Run All Cells, and wait until all have run, or an exception has ended it."""
        self.page.evaluate(
            "() => { window.courseRan = false;"
            " window.jupyterapp.commands.execute('notebook:run-all-cells')"
            ".finally(() => { window.courseRan = true; }); }"
        )
        self.page.wait_for_function("window.courseRan", timeout=RUN_SECONDS * 1000)
        # After a tagged exception the command is over while cells are still running.
        deadline = time.monotonic() + RUN_SECONDS
        idle_since = time.monotonic()
        while not self._all_ran() and time.monotonic() < deadline:
            if self.is_busy():
                idle_since = time.monotonic()
            if time.monotonic() - idle_since > QUIET_SECONDS:
                return
            time.sleep(0.1)
        self.wait_until_idle()

    def _all_ran(self) -> bool:
        code = f"{PANEL}.content.widgets.filter(cell => cell.model.type === 'code')"
        done = "cell => cell.model.executionCount && cell.model.executionState === 'idle'"
        return self.page.evaluate(f"{code}.every({done})")

    def type_into(self, number: int, source: str) -> None:
        """Replace the source of a code cell by typing, and leave the cursor in it."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+A")
        self.page.keyboard.insert_text(source)

    def run_selected(self, seconds: float = RUN_SECONDS) -> None:
        """Run the selected cell by keyboard, and select the next one."""
        self.page.keyboard.press("Shift+Enter")
        self.wait_until_idle(seconds)

    def run_cell(self, number: int, *, wait: bool = True) -> None:
        """Run a cell wherever the reader is."""
        self.page.evaluate(
            f"([number, wait]) => {{ {PANEL}.content.activeCellIndex = number;"
            " const ran = window.jupyterapp.commands.execute('notebook:run-cell');"
            " return wait ? ran.then(() => null) : null; }",
            [number, wait],
        )
        if wait:
            self.wait_until_idle()

    def close(self) -> None:
        """End the kernel; the tab goes with its fixture."""
        self.page.evaluate(f"{PANEL}.sessionContext.shutdown()")

    def cells(self) -> list[dict]:
        """Return the cells as JupyterLab holds them now, outputs included."""
        return self.page.evaluate(f"{PANEL}.content.model.toJSON().cells")

    def cell(self, number: int) -> Any:
        """Bring a cell (counted from 0) into view and return its element."""
        element = self.page.locator(f".jp-Notebook [data-windowed-list-index='{number}']")

        def has_text() -> bool:
            # A cell out of view is not laid out, and then has no text.
            self.page.evaluate(f"number => {PANEL}.content.scrollToItem(number, 'start')", number)
            return element.count() == 1 and element.inner_text().strip() != ""

        wait_for(has_text, lambda: f"cell {number} does not come into view")
        return element

    def find(self, css: str, among: list[int]) -> dict[int, Any]:
        """Return those of the cells that contain an element, with that element."""
        found = {}
        for number in among:
            element = self.cell(number).locator(css)
            if element.count():
                found[number] = element.first
        return found

    def code_cells(self) -> list[int]:
        """Return the places of the code cells among all."""
        return [i for i, cell in enumerate(self.cells()) if cell["cell_type"] == "code"]

    def broken_words(self) -> list[str]:
        """Return what a reader would see of a widget that cannot be shown, in any cell."""
        found = []
        for number in self.code_cells():
            text = self.cell(number).inner_text()
            found += [f"cell {number}: {words}" for words in BROKEN if words in text]
        return found


def seen(explorer: Any) -> dict:
    """Return what the reader sees of an explorer, once the next frame has been drawn."""
    return explorer.evaluate(SEEN)


def changed(explorer: Any, before: dict, act: str) -> dict:
    """Wait until picture and caption both differ from before; return what is seen then."""

    def same() -> list[str]:
        now = seen(explorer)
        return [part for part in ("picture", "caption") if now[part] == before[part]]

    wait_for(lambda: not same(), lambda: f"{act}: no new {' and '.join(same())}")
    return seen(explorer)


def wait_for(
    condition: Callable[[], bool], otherwise: Callable[[], str], milliseconds: int = CHANGE_MS
) -> None:
    """Poll until the condition holds; fail with these words when it never does."""
    deadline = time.monotonic() + milliseconds / 1000
    while not condition():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.02)

"""A lecture presented in Chromium: its slides, driven and measured as a room would see them."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.browser.support_lab import ROOT, Lab
from tests.browser.support_page import OPEN_MS, RUN_SECONDS, changed, is_home, seen, wait_for

FIRST = next((ROOT / "notebooks").glob("01_*.ipynb"))
PROJECTOR = {"width": 1280, "height": 720}
PRESENTER = "window.coursePresenter"
# What is on the stage now, in its own words and in pixels of the window.
MEASURED = """() => {
    const presenter = window.coursePresenter, stage = presenter.stage;
    const frame = stage.getBoundingClientRect();
    const on = [...stage.querySelectorAll('.cp-on')];
    const sizes = [];
    for (const cell of on) {
        const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) {
            const { data, parentElement: part } = texts.currentNode;
            // Of a picture, a formula and a long table the letters are another matter.
            if (data.trim() && part.checkVisibility() && part.getBoundingClientRect().width > 2
                && !part.closest('.ce, mjx-container, sub, sup, .cp-scrolls .cp-figure'))
                sizes.push(parseFloat(getComputedStyle(part).fontSize) * part.currentCSSZoom);
        }
    }
    const beyond = [];
    for (const cell of on)
        for (const part of cell.querySelectorAll('p, li, td, pre, img, button, label, .cm-line')) {
            const box = part.getBoundingClientRect();
            // Folded, a table is not on the slide; the rest of one with a box may be scrolled to.
            if (!part.checkVisibility() || part.closest('.cp-scrolls .cp-figure'))
                continue;
            if (box.bottom > frame.bottom + 1 || box.right > frame.right + 1
                || box.top < frame.top - 1 || box.left < frame.left - 1)
                beyond.push((part.innerText || part.tagName).slice(0, 60));
        }
    return {
        zoom: presenter.zoom,
        smallest: Math.min(...sizes),
        scrolls: stage.scrollHeight > stage.clientHeight + 1
            || stage.scrollWidth > stage.clientWidth + 1,
        beyond,
        cells: on.filter(cell => !cell.classList.contains('cp-about')).length,
        tableScrolls: presenter.panel.node.classList.contains('cp-scrolls'),
    };
}"""
SLIDES = """() => window.coursePresenter.slides.map(slide => ({
    title: slide.title,
    section: slide.section,
    ids: slide.cells.map(cell => window.coursePresenter.notebook.widgets[cell.place].model.id),
    fragments: slide.cells.filter(cell => cell.fragment).length,
    notes: slide.notes.length,
    inClass: slide.inClass,
}))"""
# Lets output that has just come settle: two frames after it, its size has been looked at.
SETTLED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


class Deck:
    """The slides of one lecture in one tab."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.asked: list[str] = []
        self.failures: list[str] = []
        page.on("request", lambda sent: self.asked.append(sent.url))
        page.on("pageerror", lambda error: self.failures.append(str(error)))

    def open(self, lab: Lab, notebook: str) -> "Deck":
        """Open the lecture as `make present` does, and wait for its first slide."""
        self.page.goto(f"{lab.url}doc/tree/{notebook}?token={lab.token}", timeout=OPEN_MS)
        self.page.wait_for_function(f"{PRESENTER}?.active", timeout=OPEN_MS)
        return self

    def wait_until_run(self) -> "Deck":
        """Wait until every cell has run; presenting starts that by itself."""
        codes = f"{PRESENTER}.notebook.widgets.filter(cell => cell.model.type === 'code').length"
        self.page.wait_for_function(
            f"{PRESENTER}.runner.problem || {PRESENTER}.runner.done >= {codes}",
            timeout=RUN_SECONDS * 1000,
        )
        assert self.ask("runner.problem") == ""
        return self

    def ask(self, what: str) -> Any:
        """Return a value of the presenter."""
        return self.page.evaluate(f"{PRESENTER}.{what}")

    def slides(self) -> list[dict]:
        """Return every slide: title, section, ids of its cells, fragments, cells of notes."""
        return self.page.evaluate(SLIDES)

    def show(self, place: int, *, step: int = 99) -> None:
        """Show a slide, with everything uncovered unless a step is named."""
        self.page.evaluate(f"([place, step]) => {PRESENTER}.show(place, step)", [place, step])
        self.settle()

    def settle(self) -> None:
        """Wait until pictures are decoded and the slide has found its size."""
        self.page.wait_for_function(
            "[...document.querySelectorAll('.cp-on img')].every(image => image.complete)"
        )
        self.page.evaluate(SETTLED)

    def measured(self) -> dict:
        """Return the zoom, whether anything scrolls, and what lies beyond the stage."""
        return self.page.evaluate(MEASURED)

    def explorers(self) -> list[tuple[int, int]]:
        """Return the place of each slide with explorers, and how many it has."""
        own = f"""() => {PRESENTER}.slides.map(({{ cells }}, place) => [place, cells.reduce(
            (count, cell) => count + {PRESENTER}.notebook.widgets[cell.place].node
                .querySelectorAll('.course-explorer').length, 0)]).filter(([, count]) => count)"""
        return [(place, count) for place, count in self.page.evaluate(own)]

    def about_pictures(self) -> list[int]:
        """Return the place of each slide whose words are about a picture of another one."""
        own = f"""() => {PRESENTER}.slides.flatMap(({{ about }}, place) =>
            {PRESENTER}.notebook.widgets[about]?.node.querySelector('.ce, .jp-RenderedImage')
                ? [place] : [])"""
        return self.page.evaluate(own)

    def press(self, key: str) -> None:
        """Press a key with the focus where it is."""
        self.page.keyboard.press(key)
        self.settle()

    def wait(self, condition: Callable[[], bool], words: str) -> None:
        """Wait for a condition; fail with these words."""
        wait_for(condition, lambda: words)

    def play_presets(self, explorer: Any, where: str) -> None:
        """Press every preset's key, the first one first; each shows something else.

        In this order: a preset may set only a part, which a later one sets to the same value.
        """
        count = explorer.locator(".ce-presets button").count()
        for number in range(1, count + 1):
            before = seen(explorer)
            self.press(str(number))
            name = f"{where}, preset {number}"
            if number > 1:  # most pictures open at their first preset
                before = changed(explorer, before, name)
            assert seen(explorer)["error"] == "", name

    def elsewhere(self) -> list[str]:
        """Return what was asked of other machines."""
        return [url for url in self.asked if not is_home(url)]


@contextlib.contextmanager
def projected(browser: Any, lab: Lab, notebook: str) -> Iterator[Deck]:
    """Open a lecture on the projector; its kernel ends with the context."""
    context = browser.new_context(viewport=PROJECTOR)
    deck = Deck(context.new_page()).open(lab, notebook)
    yield deck
    deck.page.evaluate(f"{PRESENTER}.panel.sessionContext.shutdown()")
    context.close()

"""One Chromium for all browser tests, and a JupyterLab to work in and one to present in."""

import os
import sys
from pathlib import Path

import pytest

from tests.browser.support_lab import ROOT, chromium, copy_lectures, running_lab
from tests.browser.support_page import LecturePage, is_home
from tests.browser.support_present import FIRST, PROJECTOR, Deck

# Chromium's own traffic off, and what a container does not allow.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]


@pytest.fixture(scope="session")
def private(tmp_path_factory):
    """Where JupyterLab keeps its settings, signatures and log during the tests."""
    return tmp_path_factory.mktemp("private")


@pytest.fixture(scope="session")
def lab(tmp_path_factory, private):
    """A running JupyterLab over a copy of the lectures."""
    folder = tmp_path_factory.mktemp("notebooks")
    copy_lectures(folder)
    with running_lab(folder, private) as running:
        yield running


@pytest.fixture(scope="session")
def browser():
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium(), args=FLAGS)


@pytest.fixture
def tab(browser, request):
    """A tab as wide as a small laptop; it fails a test that asks another machine for anything."""
    width, height = getattr(request, "param", (1280, 900))
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda sent: asked.append(sent.url))
    yield page
    context.close()
    elsewhere = [url for url in asked if not is_home(url)]
    assert elsewhere == [], f"the page asked other machines: {elsewhere}"


@pytest.fixture
def open_notebook(tab, lab):
    """Return a function that opens a notebook of the served folder in the tab."""
    return lambda notebook: LecturePage(tab, lab, notebook).open()


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    """A running JupyterLab as `make present` starts it, over a copy of the lectures."""
    sys.path.insert(0, str(ROOT))
    from tools.setup.lab import present_options

    folder = tmp_path_factory.mktemp("presented")
    private = tmp_path_factory.mktemp("presenter")
    copy_lectures(folder)
    with running_lab(folder, private, present_options(private / "presenting")) as running:
        yield running


@pytest.fixture
def deck(browser, stage):
    """Lecture 01 on the projector, just opened."""
    context = browser.new_context(viewport=PROJECTOR)
    deck = Deck(context.new_page()).open(stage, FIRST.name)
    yield deck
    deck.page.evaluate("window.coursePresenter.panel.sessionContext.shutdown()")
    context.close()


@pytest.fixture
def keep_picture():
    """Return a function that saves an element's picture for people to look at, where asked to."""
    folder = os.environ.get("SCREENSHOTS")

    def keep(element, name: str) -> None:
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            element.screenshot(path=str(Path(folder) / f"{name}.png"))

    return keep

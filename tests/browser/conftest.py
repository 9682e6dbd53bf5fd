"""One Chromium for all browser tests, explorers' pages, a JupyterLab to work in and to present."""

import functools
import shutil
import sys

import pytest

from course_utils.explorers.page import standalone_page
from lectures import EXPLORERS
from tests.browser.support_explorer import opening, paint, words
from tests.browser.support_lab import ROOT, chromium, copy_lectures, running_lab
from tests.browser.support_page import LecturePage, is_home
from tools.chromium import FLAGS

EXTENSION = ROOT / "tools" / "setup" / "lab-extension"


@pytest.fixture(scope="session")
def private(tmp_path_factory):
    """Where JupyterLab keeps its settings, signatures and log during the tests."""
    return tmp_path_factory.mktemp("private")


@pytest.fixture(scope="session")
def lab(tmp_path_factory, private):
    """A running JupyterLab over a copy of the lectures."""
    folder, extensions = map(tmp_path_factory.mktemp, ("notebooks", "extensions"))
    copy_lectures(folder)
    # The extension of this tree, not the one that was installed.
    shutil.copytree(EXTENSION, extensions / "attention-course")
    options = [f"--LabApp.extra_labextensions_path={extensions}"]
    with running_lab(folder, private, options) as running:
        yield running


@pytest.fixture(scope="session")
def browser():
    """Chromium, without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=chromium(), args=[*FLAGS])


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
def open_page(browser):
    """Return a function that opens pages in tabs of their own; their errors fail the test."""
    with opening(browser) as opened:
        yield opened


@pytest.fixture(scope="session")
def explorer_page(tmp_path_factory):
    """Return a function that writes an explorer's page and gives its address; once for each."""
    folder = tmp_path_factory.mktemp("explorers")

    @functools.cache
    def written(name):
        path = folder / f"{name}.html"
        path.write_text(standalone_page(EXPLORERS[name]()), encoding="utf-8")
        return path.as_uri()

    return written


@pytest.fixture
def open_explorer(open_page, explorer_page):
    """Return a function that opens an explorer's page and waits until it is drawn."""

    def opened(name, width=940, dark=False, **options):
        tab = open_page(explorer_page(name), width, **options)
        if options.get("java_script_enabled", True):
            words(tab)
        if dark:
            paint(tab, dark)
        return tab

    return opened


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

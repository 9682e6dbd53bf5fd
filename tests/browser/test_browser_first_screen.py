"""The first screen of a reader's copy in JupyterLab, nothing run: question, picture, how to run."""

import io

import numpy as np
import pytest
from PIL import Image

from lectures import COURSE
from tests.browser.support_lab import ROOT
from tests.browser.support_page import LecturePage, wait_for
from tools.editions.my_course import update_copies

pytestmark = pytest.mark.browser

SMALL = (1280, 720)  # the screen of a small laptop
IN_SIGHT = 240  # pixels of the picture, at least: its title, its presets, and what they change
QUICK = "01"
LECTURES = [
    pytest.param(each, marks=[] if each.number == QUICK else pytest.mark.slow, id=each.stem)
    for each in COURSE
]


@pytest.fixture(scope="module")
def copies(lab):
    """The folder of the readers' copies, as JupyterLab names it."""
    assert update_copies(ROOT / "notebooks", lab.folder / "first_screen") == []
    return "first_screen"


def brightness(image, theme):
    """How bright the picture's ground is in a theme, once it has faded in; 0 is black."""
    page = image.page
    page.evaluate(
        "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
        f"JupyterLab {theme}",
    )
    is_light = str(theme == "Light").lower()
    page.wait_for_function(f"document.body.dataset.jpThemeLight === '{is_light}'")
    page.wait_for_timeout(300)
    box = image.bounding_box()
    clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": 60}
    with Image.open(io.BytesIO(page.screenshot(clip=clip))) as shot:
        return float(np.median(np.asarray(shot.convert("L"))))


@pytest.mark.parametrize("tab", [SMALL], indirect=True)
@pytest.mark.parametrize("lecture", LECTURES)
def test_the_picture_is_in_sight_before_anything_runs(lecture, tab, lab, copies):
    opened = LecturePage(tab, lab, f"{copies}/{lecture.stem}.ipynb").open()
    panel = tab.locator(".jp-NotebookPanel-notebook:visible")
    picture = panel.locator(".jp-RenderedImage img").first
    picture.wait_for()
    wait_for(lambda: picture.evaluate("image => image.complete && image.naturalWidth > 0"), str)

    edge = panel.bounding_box()["y"] + panel.bounding_box()["height"]
    assert edge - picture.bounding_box()["y"] >= IN_SIGHT
    words = panel.inner_text()
    assert lecture.question in words and "Shift+Enter" in words
    assert opened.cell(1).locator(".jp-InputPlaceholder").is_visible(), "the set-up is folded"
    assert all(cell.get("execution_count") is None for cell in opened.cells())

    # The light theme last: the lab keeps it.
    assert brightness(picture, "Dark") < 40 and brightness(picture, "Light") > 240

    panel.locator(".jp-MarkdownCell").first.click()
    for _ in range(3):
        opened.run_selected()
    panel.locator(".ce").first.wait_for()
    assert panel.locator(".jp-RenderedImage").count() == 0, "the picture has become alive"
    opened.close()

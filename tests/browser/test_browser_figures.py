"""Plain figures in a real JupyterLab: dark in a dark theme, white in a light one."""

import io
import shutil

import numpy as np
import pytest
from PIL import Image

from tests.browser.support_lab import ROOT, running_lab
from tests.browser.support_scratch import write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EXTENSION = ROOT / "tools" / "setup" / "lab-extension"
FIGURE = """
from course_utils.explorers.show import AnnotatedFigure, show
from course_utils.explorers.style import BLUE, course_style, new_figure

figure = new_figure(4, 2)
with course_style():
    axes = figure.add_axes((0.2, 0.2, 0.6, 0.6))
    axes.plot([0, 1], [0, 0], color=BLUE, linewidth=20)
    axes.set_axis_off()
show(AnnotatedFigure(figure, "A blue line from 0 to 1."))
"""
SNAPSHOT = """
import base64, io
from IPython.display import display
from PIL import Image

held = io.BytesIO()
Image.new("RGB", (60, 40), (200, 30, 30)).save(held, "png")
display({"image/png": base64.b64encode(held.getvalue()).decode()}, raw=True)
"""


@pytest.fixture(scope="module")
def pixels(browser, tmp_path_factory):
    """Theme → the figure, another picture, and the page's background, as they are seen."""
    folder, private, extensions = map(tmp_path_factory.mktemp, ("nb", "private", "extensions"))
    # The one of this tree, not the one that was installed.
    shutil.copytree(EXTENSION, extensions / "attention-course")
    name = write_notebook(folder / "figure.ipynb", FIGURE, SNAPSHOT)
    found = {}
    options = [f"--LabApp.extra_labextensions_path={extensions}"]
    with running_lab(folder, private, options) as lab:
        page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto(lab.link(name))
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.wait_for_function("window.jupyterapp.shell.currentWidget?.sessionContext?.isReady")
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        images = page.locator(".jp-RenderedImage img")
        images.nth(1).wait_for(timeout=60_000)
        for theme in ("Dark", "Light"):
            change = {"theme": f"JupyterLab {theme}"}
            page.evaluate(
                "args => window.jupyterapp.commands.execute('apputils:change-theme', args)", change
            )
            is_light = str(theme == "Light").lower()
            page.wait_for_function(f"document.body.dataset.jpThemeLight === '{is_light}'")
            background = page.evaluate(
                "getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor"
            )
            shots = [Image.open(io.BytesIO(images.nth(i).screenshot())) for i in (0, 1)]
            found[theme] = [np.asarray(shot.convert("RGB"), int) for shot in shots], background
        page.context.close()
    return found


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_a_figure_has_the_ground_of_its_page(pixels, theme):
    (figure, _), background = pixels[theme]
    page = [int(each) for each in background.removeprefix("rgb(").rstrip(")").split(",")]
    assert np.abs(figure[3, 3] - page).max() <= 1


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_blue_stays_blue_and_can_be_seen(pixels, theme):
    (figure, _), _ = pixels[theme]
    red, green, blue = figure[figure.shape[0] // 2, figure.shape[1] // 2]
    assert red < green < blue
    assert (green > 150) == (theme == "Dark"), "lighter on a dark page"


def test_other_pictures_are_left_alone(pixels):
    for theme in ("Dark", "Light"):
        (_, other), _ = pixels[theme]
        assert other[20, 30].tolist() == [200, 30, 30]

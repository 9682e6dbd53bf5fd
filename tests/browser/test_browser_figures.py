"""Plain figures in a real JupyterLab: dark in a dark theme, white in a light one."""

import io

import numpy as np
import pytest
from PIL import Image

from tests.browser.support_page import LecturePage
from tests.browser.support_scratch import write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

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
PRINTED = """
print("She found a small pink cushion. What colour is the cushion? It is pink. " * 9)
print("0123456789" * 40)
"""
# Words of the first line that lie in two lines, and how far the second reaches beyond the page.
BROKEN = """pre => {
  const text = pre.firstChild, long = text.data.indexOf('0123'), found = [];
  for (const { 0: word, index } of text.data.slice(0, long).matchAll(/\\S+/g)) {
    const range = document.createRange();
    range.setStart(text, index);
    range.setEnd(text, index + word.length);
    if (range.getClientRects().length > 1) found.push(word);
  }
  return [found, pre.scrollWidth - pre.clientWidth];
}"""
SNAPSHOT = """
import base64, io
from IPython.display import display
from PIL import Image

held = io.BytesIO()
Image.new("RGB", (60, 40), (200, 30, 30)).save(held, "png")
display({"image/png": base64.b64encode(held.getvalue()).decode()}, raw=True)
"""


@pytest.fixture(scope="module")
def pixels(browser, lab):
    """Theme → the figure, another picture, and the page's background, as they are seen."""
    name = write_notebook(lab.folder / "figure.ipynb", FIGURE, SNAPSHOT)
    page, found = browser.new_page(viewport={"width": 1280, "height": 900}), {}
    opened = LecturePage(page, lab, name).open()
    opened.run_all()
    images = page.locator(".jp-RenderedImage img")
    images.nth(1).wait_for()
    for theme in ("Dark", "Light"):  # the light one last: the lab keeps it
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })",
            f"JupyterLab {theme}",
        )
        is_light = str(theme == "Light").lower()
        page.wait_for_function(f"document.body.dataset.jpThemeLight === '{is_light}'")
        background = page.evaluate(
            "getComputedStyle(document.querySelector('.jp-Notebook')).backgroundColor"
        )
        found[theme] = [settled(images.nth(i)) for i in (0, 1)], background
    opened.close()
    page.close()
    return found


def settled(image):
    """Pixels of an image, once a change of theme has faded out."""
    before = None
    while True:
        shot = Image.open(io.BytesIO(image.screenshot())).convert("RGB")
        pixels = np.asarray(shot, int)
        if before is not None and np.array_equal(before, pixels):
            return pixels
        before = pixels
        image.page.wait_for_timeout(200)


@pytest.mark.parametrize("theme", ["Dark", "Light"])
def test_a_figure_has_its_page_s_ground_and_its_own_colours(pixels, theme):
    (figure, other), background = pixels[theme]
    page = [int(each) for each in background.removeprefix("rgb(").rstrip(")").split(",")]
    assert np.abs(figure[3, 3] - page).max() <= 1
    red, green, blue = figure[figure.shape[0] // 2, figure.shape[1] // 2]
    assert red < green < blue
    assert (green > 150) == (theme == "Dark"), "lighter on a dark page"
    assert other[20, 30].tolist() == [200, 30, 30], "other pictures are left alone"


def test_printed_lines_wrap_between_words(browser, lab):
    name = write_notebook(lab.folder / "printed.ipynb", PRINTED)
    page = browser.new_page(viewport={"width": 900, "height": 900})
    opened = LecturePage(page, lab, name).open()
    opened.run_all()
    printed = page.locator(".jp-RenderedText pre")
    printed.wait_for()
    broken, beyond = printed.evaluate(BROKEN)
    opened.close()
    page.close()
    assert broken == [] and beyond <= 0

"""From a key press to new pixels, beside `interact`; and sliders moved while a cell is drawing."""

import base64
import io
from statistics import median

import numpy as np
import pytest
from PIL import Image

from tests.browser.support_controls import SLIDER, press
from tests.browser.support_page import seen, wait_for
from tests.browser.support_scratch import (
    DRAWS_FOR_A_WHILE,
    EXPLORER,
    FIGURES_DRAWN,
    INTERACT,
    write_notebook,
)

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PRESSES = 30
# A busy machine delays single presses, so a round may be unlucky; five in a row are not.
ROUNDS = 5
LARGEST_RATIO = 1 / 3

# Starts a clock at the next key press; it stops at the first frame that has new, decoded pixels.
ARM = """picture => {
    const before = document.querySelector(picture).src;
    window.courseLatency = new Promise(resolve => {
        document.addEventListener('keydown', () => {
            const start = performance.now();
            const poll = () => {
                const image = document.querySelector(picture);
                if (image && image.src !== before && image.complete && image.naturalWidth)
                    resolve(performance.now() - start);
                else
                    requestAnimationFrame(poll);
            };
            requestAnimationFrame(poll);
        }, { capture: true, once: true });
    });
}"""


class Slider:
    """A slider and the picture that follows it."""

    def __init__(self, lecture, place, picture):
        self.lecture = lecture
        self.handle = lecture.cell(place).locator(SLIDER)
        self.picture = f".jp-Notebook [data-windowed-list-index='{place}'] {picture}"
        lecture.page.wait_for_selector(self.picture)

    def milliseconds(self) -> float:
        """Press a key once and return the time to new pixels."""
        page = self.lecture.page
        self.handle.focus()
        page.evaluate(ARM, self.picture)
        page.keyboard.press("ArrowRight")
        elapsed = page.evaluate("() => window.courseLatency")
        # Let the kernel finish what a press set off, so that it is not counted with the next.
        page.wait_for_timeout(120)
        return elapsed


@pytest.mark.parametrize("tab", [(1280, 1400)], indirect=True)
def test_an_explorer_answers_in_a_third_of_the_time_of_interact(lab, open_notebook, capsys):
    # The sharp picture comes when the hand rests; here it would come into `interact`'s turn.
    moving = "import course_utils.explorers.drawn as engine\nengine.REST = 60\n" + EXPLORER
    name = write_notebook(lab.folder / "speed.ipynb", INTERACT, moving)
    lecture = open_notebook(name)
    lecture.run_all()
    usual = Slider(lecture, 0, ".jp-OutputArea-output img")
    ours = Slider(lecture, 1, "img.course-picture")
    for slider in (usual, ours):
        slider.milliseconds()

    ratios = []
    while len(ratios) < ROUNDS and not (ratios and ratios[-1] <= LARGEST_RATIO):
        pairs = [(usual.milliseconds(), ours.milliseconds()) for _ in range(PRESSES)]
        theirs, own = (median(times) for times in zip(*pairs, strict=True))
        ratios.append(own / theirs)
        with capsys.disabled():
            print(
                f"\nkey press to new pixels, median of {PRESSES}: interact {theirs:.0f} ms, "
                f"explorer {own:.0f} ms, ratio {own / theirs:.2f}"
            )
    lecture.close()
    assert min(ratios) <= LARGEST_RATIO


def contrast(png: str) -> int:
    """Return the range of grey levels in a picture: a blank one has none."""
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(png))).convert("L"))
    return int(pixels.max()) - int(pixels.min())


def test_a_slider_moved_while_a_cell_draws_spoils_no_figure(lab, open_notebook):
    name = write_notebook(lab.folder / "busy.ipynb", EXPLORER, DRAWS_FOR_A_WHILE)
    lecture = open_notebook(name)
    lecture.run_all()
    explorer = lecture.cell(0).locator(".course-explorer")
    before = seen(explorer)
    handle = explorer.locator(SLIDER)

    lecture.page.evaluate(
        "() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1;"
        " window.jupyterapp.commands.execute('notebook:run-cell'); }"
    )
    wait_for(lecture.is_busy, lambda: "the cell did not start")
    moved = 0
    while lecture.is_busy():
        press(lecture, handle, "ArrowRight")
        moved += 1
        lecture.page.wait_for_timeout(30)
    assert moved > 10, "the cell was over before the slider had moved"

    # The last position is drawn once the kernel is free, and no step in between is lost on it.
    wait_for(
        lambda: f"sine of {5 + moved} x" in seen(explorer)["caption"],
        lambda: f"after {moved} steps the caption says {seen(explorer)['caption']!r}",
    )
    assert seen(explorer)["pixels"] != before["pixels"]
    outputs = lecture.cells()[1]["outputs"]
    pictures = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == FIGURES_DRAWN
    assert min(contrast(picture) for picture in pictures) > 100
    assert len(set(pictures)) == FIGURES_DRAWN
    shown = lecture.cell(1).locator(".jp-OutputArea img")
    assert shown.count() == FIGURES_DRAWN
    lecture.close()

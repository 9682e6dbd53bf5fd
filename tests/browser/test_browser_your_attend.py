"""The plane of lecture 00 on the reader's own function, in JupyterLab: the kernel is asked."""

import pytest

from tests.browser.support_page import wait_for
from tests.browser.support_scratch import write_notebook

pytestmark = pytest.mark.browser

SHOWS = "from lectures.l00_start_here import explorers\nexplorers.explore_your_attend(attend)"
NO_SCALE = """
def attend(q, k, v, may_attend=None):
    weights = (q @ k.mT).softmax(dim=-1)
    return weights @ v, weights
"""
SLOW = """
import time
asked = []
def attend(q, k, v, may_attend=None):
    asked.append(q)
    time.sleep(0.7)
    weights = (q @ k.mT).softmax(dim=-1)
    return weights @ v, weights
"""
STUB, SHOWN, COUNT = range(3)


@pytest.fixture
def opened(lab, open_notebook):
    cells = ("def attend(q, k, v, may_attend=None): ...", SHOWS, "len(asked)")
    opened = open_notebook(write_notebook(lab.folder / "your_attend.ipynb", *cells))
    yield opened
    opened.close()


def show(opened, source=None):
    """Run the cell of the exercise, with an answer or as it is; return the picture below it."""
    if source:
        opened.type_into(STUB, source.strip())
    opened.run_cell(STUB)
    opened.run_cell(SHOWN)
    return opened.cell(SHOWN).locator(".ce")


def press(opened, picture, *keys):
    picture.locator(".plane-query[tabindex]").focus()
    for key in keys:
        opened.page.keyboard.press(key)


def says(box, words):
    wait_for(lambda: words in box.inner_text(), box.inner_text)


def test_a_key_is_answered_by_the_readers_own_function(opened):
    picture = show(opened)
    who, caption = picture.locator(".plane-says"), picture.locator(".ce-caption")
    says(who, "The page computes: your attend is not written yet.")
    press(opened, picture, "Shift+ArrowLeft")
    says(caption, "milk has the highest score")

    # Wrong by the scale: the numbers are its own, and the formula's are beside them.
    picture = show(opened, NO_SCALE)
    says(who, "This runs on your attend: Python calls it at each move. “cat” gets 0.74;")
    says(caption, "Your attend gives cat the largest weight, 0.74")
    press(opened, picture, "Shift+ArrowRight")
    says(caption, "0.90")
    says(who, "by the formula, 0.82")
    assert picture.locator(".plane-bar text").first.text_content() == "0.90"


def test_the_hand_does_not_wait_and_only_the_newest_question_is_asked(opened):
    picture = show(opened, SLOW)
    query, caption = picture.locator(".plane-query[tabindex]"), picture.locator(".ce-caption")
    says(caption, "0.74")
    press(opened, picture, "ArrowLeft", "ArrowLeft", "ArrowLeft", "Shift+ArrowLeft")
    wait_for(lambda: query.get_attribute("aria-valuetext") == "0.0, 0.4", lambda: "the hand waits")
    assert "0.74" in caption.inner_text()
    says(caption, "cat the largest weight, 0.69")  # the answer to the first key
    assert picture.locator(".plane[data-trails]").count() == 1
    says(caption, "milk the largest weight, 0.58")  # and to the last
    assert picture.locator(".plane[data-trails]").count() == 0
    opened.run_cell(COUNT)
    (output,) = opened.cells()[COUNT]["outputs"]
    assert output["data"]["text/plain"] == "3", "when shown, the first key, the last key"

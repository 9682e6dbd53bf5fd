"""Words of a text that set the picture above them."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from course_utils.explorers.page import fragment, page_of
from lectures import EXPLORERS
from tests.browser.support_page import wait_for

pytestmark = pytest.mark.browser

WORD = '<span class="course-sets" title="{0}">{0}</span>'
NEAR, FAR = "three times as long", "short query"


@pytest.fixture
def page(open_page, tmp_path):
    """Words above any picture, between two that have the preset, below both, and of none."""
    plane = EXPLORERS["explore_plane"]
    words = [f"<p>{WORD.format(name)}</p>" for name in (NEAR, NEAR, FAR, "no preset")]
    first, second = (f"<div>{fragment(plane(**plane.presets[FAR]))}</div>" for _ in "ab")
    path = tmp_path / "sets.html"
    content = words[0] + first + words[1] + second + words[2] + words[3]
    path.write_text(page_of(content), encoding="utf-8")
    return open_page(path.as_uri())


def pressed(page):
    shown = page.locator(".ce-presets button[aria-pressed=true]")
    return shown.all_inner_texts()


def test_a_word_sets_the_picture_above_it(page):
    word = page.locator(".course-sets").nth(1)
    word.click()
    wait_for(lambda: pressed(page) == [NEAR, FAR], lambda: str(pressed(page)))


def test_a_word_is_pressed_by_key(page):
    page.locator(".ce-presets").nth(1).locator("button").nth(1).click()
    wait_for(lambda: pressed(page) == [FAR, NEAR], lambda: str(pressed(page)))
    page.locator(".course-sets").nth(2).focus()
    page.keyboard.press("Enter")
    wait_for(lambda: pressed(page) == [FAR, FAR], lambda: str(pressed(page)))


def test_without_a_picture_words_are_text(page):
    page.locator(".ce").last.wait_for()
    roles = [word.get_attribute("role") for word in page.locator(".course-sets").all()]
    assert roles == [None, "button", "button", None]
    page.locator(".ce").last.evaluate("shown => shown.remove()")
    wait_for(lambda: page.locator(".course-sets[role]").count() == 2, lambda: "still buttons")

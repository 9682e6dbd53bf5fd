"""Real heads in a browser: each gesture, what lights up together, long words."""

import pytest

from course_utils.explorers.page import standalone_page
from lectures import EXPLORERS
from tests.browser.support_explorer import CUT_OFF, press, words

pytestmark = pytest.mark.browser

NAME = "explore_real_heads"
ASKS = ".heads-word[aria-checked=true] .heads-text"


def word(tab, token):
    return tab.locator(".heads-word:visible", has_text=token).first


def row_middle(tab, row, column):
    """The middle of a cell of the large map of 16 tokens."""
    box = tab.locator(".heads-map canvas").bounding_box()
    cell = box["width"] / 16
    return box["x"] + (column + 0.5) * cell, box["y"] + (row + 0.5) * cell


def test_a_click_on_a_word_lets_it_ask(open_explorer):
    tab = open_explorer(NAME)
    assert "“it” attends most to “animal”, 0.68" in words(tab)
    word(tab, "cross").click()
    assert "“cross” attends most to “street”" in words(tab)
    assert tab.locator(ASKS).inner_text() == "cross"
    assert tab.locator("text.heads-asks", has_text="cross").count() == 1


def test_pointing_shows_and_leaving_brings_back(open_explorer):
    tab = open_explorer(NAME)
    before = words(tab)
    for place in (word(tab, "street"), tab.get_by_role("radio", name="layer 0, head 2")):
        place.hover()
        assert words(tab) != before
        tab.mouse.move(500, 10)
        assert words(tab) == before


def test_a_row_of_the_map_lights_up_with_the_sentence(open_explorer):
    tab = open_explorer(NAME)
    x, y = row_middle(tab, 8, 2)  # "street" asks "animal"
    tab.mouse.move(x, y)
    words(tab)
    assert tab.locator(ASKS).inner_text() == "street"
    assert tab.locator(".heads-pointed .heads-text").inner_text() == "animal"
    assert tab.locator(".heads-pointed .heads-share").inner_text()
    tab.mouse.click(x, y)
    tab.mouse.move(500, 10)
    assert "“street” attends" in words(tab)
    assert tab.locator(".heads-pointed").count() == 0


def test_arrow_keys_move_word_and_head_with_one_tab_stop_each(open_explorer):
    tab = open_explorer(NAME)
    for group in (".heads-words", ".heads-grid"):
        assert tab.locator(f"{group} [tabindex='0']").count() == 1
    asks = ".heads-word[aria-checked=true]"
    assert "“too” attends" in press(tab, asks, "ArrowRight", "ArrowRight")
    assert "“[SEP]” attends" in press(tab, asks, "End", "ArrowRight")
    tab.keyboard.press("Tab")
    for key, place in {
        "ArrowLeft": "3, head 0", "ArrowUp": "2, head 0", "ArrowRight": "2, head 1",
    }.items():  # fmt: skip
        tab.keyboard.press(key)
        assert f"Layer {place}:" in words(tab)
    assert tab.evaluate("document.activeElement.ariaLabel") == "layer 2, head 1"


def test_a_tap_chooses_a_head(open_explorer):
    tab = open_explorer(NAME, width=360, has_touch=True, is_mobile=True)
    box = tab.locator(".heads-grid").bounding_box()
    pitch = box["width"] / 12
    y = box["y"] + 1.5 * pitch
    tab.touchscreen.tap(box["x"] + 8.5 * pitch, y)
    assert "Layer 1, head 8:" in words(tab)
    tab.touchscreen.tap(box["x"] + 5.5 * pitch, y)
    assert "Layer 1, head 5:" in words(tab)


def test_a_shorter_sentence_has_its_last_word_ask(open_explorer):
    tab = open_explorer(NAME)
    tab.locator(".ce select").select_option("I love Transformers")
    assert "“[SEP]” attends" in words(tab)  # there is no eighth word
    assert tab.locator(".heads-word:visible").count() == 5


@pytest.mark.parametrize("width", [360, 940])
def test_many_long_words_are_not_cut_off(open_page, tmp_path, width):
    path = tmp_path / "long.html"
    explorer = EXPLORERS[NAME](own_text="antidisestablishmentarianism " * 6)
    path.write_text(standalone_page(explorer), encoding="utf-8")
    tab = open_page(path.as_uri(), width)
    words(tab)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(CUT_OFF) == []
    grid, controls = (tab.locator(css).bounding_box() for css in (".heads-grid", ".ce-controls"))
    assert width < 900 or grid["y"] + grid["height"] <= controls["y"]

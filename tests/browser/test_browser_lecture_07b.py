"""Lecture 07b in a browser: what is dragged and chosen, by pointer and key."""

import pytest

from tests.browser.support_explorer import drag, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_square_of_keys_and_values_is_dragged(open_explorer):
    tab = open_explorer("explore_shared_heads")
    assert "on 4 key" in drag(tab, ".gqa-row .gqa-pair:nth-child(2)", (55, 0))
    assert "own keys and values" in drag(tab, ".gqa-knob", (800, 0))
    assert "on 16 key" in press(tab, ".gqa-row", "ArrowLeft")
    assert "on 1 key" in press(tab, ".gqa-edge", "Home")
    assert len([each for each in tab.locator(".gqa-pair").all() if each.is_visible()]) == 1


def test_a_rank_is_dragged_in_three_places(open_explorer):
    tab = open_explorer("explore_ranks", width=1000)
    rank, cut = "[aria-label=rank]", "[aria-label='rank of the cut']"
    for css, by, taken in (
        (f"{rank} .lora-knob", (-2, 0), 2),  # it follows the hand from the first pixel
        (f"{rank} .lora-knob", (12, 0), 16),
        (".lora-edge:not([role]) .lora-knob", (0, 40), 64),
        (f"{cut} .lora-knob", (-900, 0), 1),
    ):
        assert drag(tab, css, by).startswith(f"Rank {taken} ")
    assert press(tab, rank, "ArrowRight").startswith("Rank 2 ")
    tab.locator(".lora-grid button").nth(8).click()
    assert "(value, block 1)" in words(tab)
    tab.keyboard.press("ArrowDown")
    assert "(value, block 2)" in words(tab)


def test_the_words_follow_the_capacity(open_explorer):
    tab = open_explorer("explore_depths")
    for key, taken in (("ArrowLeft", 10), ("Home", 5), ("End", 40)):
        press(tab, ".mod-ring", key)
        assert tab.locator(".mod-token .mod-on").count() == 3 * taken
    drag(tab, ".mod-ring .mod-room", (-900, 0))
    assert tab.locator(".mod-token .mod-on").count() == 3 * 5
    tab.get_by_role("radio", name="predictor").click()
    assert "0 of 40 tokens; 40 skip" in words(tab)
    tab.locator(".mod-token").nth(3).hover()
    told = tab.locator(".mod-told").inner_text()
    assert told == tab.locator(".mod-token").nth(3).get_attribute("aria-label")

"""Lecture 03's two pictures in a browser: weights, letters, cuts; numbers, heads, merges."""

import pytest

from tests.browser.support_explorer import drag, middle, preset, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PLACES, SPLIT = "explore_two_places", "explore_split"
FIRST, SECOND = ".places-side >> nth=0", ".places-side >> nth=1"


def weights(tab, head=FIRST):
    words(tab)
    bars = tab.locator(f"{head} >> [role=slider]").all()
    return [int(each.get_attribute("aria-valuenow")) for each in bars]


def test_a_bar_is_dragged_and_the_others_share_the_rest(open_explorer):
    tab = open_explorer(PLACES)
    assert weights(tab) == [25, 25, 25, 25]
    bar = f"{FIRST} >> .places-knob >> nth=3"
    drag(tab, bar, (0, -200))
    assert weights(tab) == [0, 0, 0, 100]
    drag(tab, bar, (0, 54))
    assert weights(tab) == [0, 50, 0, 50], "what one of the two places loses the other gets"
    assert words(tab).endswith("a tie, a tie.")


def test_both_answers_are_within_the_picture_next_to_the_heads(open_explorer):
    """In the narrowest picture that has them there, too."""
    tab = open_explorer(PLACES, width=790)
    assert tab.locator(".places-wide.places-plain").count() == 1
    stage = tab.locator(".ce-stage").bounding_box()
    for answer in tab.locator(".places-mixture").all():
        box = answer.bounding_box()
        assert box["x"] + box["width"] <= stage["x"] + stage["width"] + 1


def test_a_bar_by_keys(open_explorer):
    tab = open_explorer(PLACES)
    bar = f"{FIRST} >> [role=slider] >> nth=1"
    press(tab, bar, "ArrowUp")
    assert weights(tab)[1] == 26 and sum(weights(tab)) == 100
    assert "100 %" in press(tab, bar, "End")
    assert weights(tab) == [0, 100, 0, 0]


def test_a_second_head(open_explorer):
    tab = open_explorer(PLACES)
    assert not tab.locator(SECOND).is_visible()
    preset(tab, "all on one back")
    tab.locator(".places-more").click()
    assert "both in 100 %" in words(tab) and tab.locator(SECOND).is_visible()
    assert weights(tab, SECOND) == [0, 100, 0, 0]
    drag(tab, f"{SECOND} >> .places-knob >> nth=3", (0, 200))
    assert weights(tab, SECOND) == [0, 0, 0, 100] and "both in 33 %" in words(tab)
    tab.locator(".places-more").click()
    tab.locator(SECOND).wait_for(state="hidden")


def test_the_triangles_come_when_asked_for(open_explorer):
    tab = open_explorer(PLACES)
    board, mixture = (
        f".places-answer >> nth=1 >> {css}" for css in (".places-board", ".places-mixture")
    )
    assert tab.locator(mixture).is_visible() and not tab.locator(board).is_visible()
    tab.locator(".places-turn").click()
    words(tab)
    assert tab.locator(board).is_visible() and not tab.locator(mixture).is_visible()
    tab.locator(".places-turn").click()
    words(tab)
    assert not tab.locator(board).is_visible()


def test_the_purple_bar_is_what_the_head_brings_back(open_explorer):
    tab = open_explorer(PLACES)
    preset(tab, "half and half")
    parts = tab.locator(".places-answer >> nth=0 >> .places-bar-of-letters > span")
    assert parts.all_inner_texts() == ["A 50 %", "", "C 50 %"]  # of C A B C, three and one back
    wide = [each.bounding_box() for each in parts.all()]
    assert wide[1] is None and abs(wide[0]["width"] - wide[2]["width"]) < 1
    preset(tab, "two heads")
    told = tab.locator(".places-mixture").all_inner_texts()
    assert [each.split("\n") for each in told] == [
        ["head 1 brings back", "C 100 %"],
        ["head 2 brings back", "A 100 %"],
    ]


def test_letters_and_circles_write_the_text(open_explorer):
    tab = open_explorer(PLACES)
    preset(tab, "70 %")
    letters = tab.locator(".places-letter")
    assert letters.all_text_contents() == list("CABC")
    tab.locator(".places-tile >> nth=1").click()
    press(tab, ".places-tile >> nth=3", "ArrowLeft")
    assert letters.all_text_contents() == list("CBBB")
    tab.locator(".places-answer >> nth=0 >> .places-pair >> nth=6").click()  # C, then A
    words(tab)
    assert letters.all_text_contents() == list("CCBA")
    assert words(tab).endswith("A (right), A (wrong).")


def test_the_cuts_are_moved(open_explorer):
    tab = open_explorer(PLACES)
    before = preset(tab, "70 %")
    shown = drag(tab, ".places-meet >> nth=0", (0, 90))
    assert press(tab, ".places-meet >> nth=1", *["Shift+ArrowUp"] * 6) != shown != before
    assert "both in 67 %" in preset(tab, "cuts moved")


def test_a_number_is_pointed_at(open_explorer):
    tab = open_explorer(SPLIT)
    tab.locator(".split-panel >> nth=0 >> [data-n='50'] >> nth=0").hover()
    assert words(tab).startswith("Number 2 of token 4: head 0, row 4. Wrong view: head 1, row 2;")
    memory = ".split-memory [role=slider]"
    assert press(tab, memory, "ArrowRight").startswith("Number 3 of token 4")
    assert press(tab, memory, "ArrowUp").startswith("Number 3 of token 3")
    tab.mouse.click(*middle(tab, memory))
    assert words(tab).startswith(("Number 0 of token 3", "Number 11 of token 2"))


def test_the_cut_sets_the_heads(open_explorer):
    tab = open_explorer(SPLIT)
    drag(tab, ".split-knob", (-66, 0))
    assert "x.view(6, 4, 3).transpose(0, 1)" in tab.locator(".split-code >> nth=0").inner_text()
    press(tab, ".split-knob", "ArrowUp")
    assert "x.view(6, 6, 2)" in tab.locator(".split-code >> nth=1").inner_text()
    tab.keyboard.press("Home")
    assert words(tab).startswith("With one head")
    assert tab.locator(".split-back [role=radio]").first.is_disabled()


def test_the_merge_is_chosen(open_explorer):
    tab = open_explorer(SPLIT)
    assert "tokens 0, 1, 3, 4." in words(tab)
    assert tab.locator(".split-future >> nth=1").is_visible()
    assert "tokens 0 to 2." in press(tab, ".split-back [aria-checked=true]", "ArrowRight")
    assert not tab.locator(".split-future >> nth=1").is_visible()
    tab.locator(".split-back [role=radio]").first.click()
    assert "tokens 0, 1, 3, 4." in words(tab)

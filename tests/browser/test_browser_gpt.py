"""Lecture 06's explorers in a browser: layers uncovered, bars and lines dragged, a budget moved."""

import pytest

from tests.browser.support_explorer import drag, middle, preset, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LENS, NEXT, LAWS = "explore_logit_lens", "explore_next_token", "explore_scaling_laws"


def test_layers_are_covered_until_one_asks(open_explorer):
    tab = open_explorer(LENS)
    first = words(tab)
    assert tab.locator(".lens-cell:visible").count() == 9
    tab.locator(".lens-cover").click()
    assert tab.locator(".lens-cell:visible").count() == 36
    assert "“␣and”" in words(tab) != first


def test_cells_answer_to_pointer_and_keys(open_explorer):
    tab = open_explorer(LENS)
    preset(tab, "queries, keys and")
    tab.mouse.move(*middle(tab, "[data-cell='5 0']"))
    assert "up to “␣queries”, the embedding" in words(tab)
    assert "up to “␣queries”, block 0" in press(tab, "[data-cell='5 0']", "ArrowRight")
    tab.keyboard.press("ArrowUp")
    assert "up to “␣own”, block 0" in words(tab)
    assert tab.locator(".lens-grid [tabindex='0']").count() == 1


def test_the_sentence_is_dragged(open_explorer):
    tab = open_explorer(LENS)
    here, there = (middle(tab, f".lens-word >> nth={n}") for n in (8, 3))
    by = (there[0] - here[0], there[1] - here[1])
    assert "4 of 9 tokens, up to “␣its”" in drag(tab, ".lens-word >> nth=8", by)
    tab.keyboard.press("ArrowLeft")
    assert "3 of 9 tokens, up to “␣has”" in words(tab)
    assert tab.locator(".lens-next:visible").inner_text() == "␣its"


def test_bars_and_lines_are_dragged(open_explorer):
    tab = open_explorer(NEXT)
    said = drag(tab, ".next-grip-temperature .next-line", (150, 0))
    assert float(said.split()[2].rstrip(",")) < 0.7, said
    preset(tab, "as the model says")
    assert "1 of 1,024 tokens" in drag(tab, ".next-grip-k rect", (0, -400))
    preset(tab, "as the model says")
    assert "1,024 of" not in drag(tab, ".next-grip-p rect", (-350, 0))
    assert tab.locator(".next-piece.next-kept").count() < 20
    assert "0.000 gives “␣the”" in drag(tab, ".next-grip-chance rect", (-700, 0))


def test_bars_and_lines_answer_to_keys(open_explorer):
    tab = open_explorer(NEXT)
    for grip in ("temperature", "k", "p", "chance"):
        before, css = words(tab), f".next-grip-{grip}"
        said = tab.locator(css).get_attribute("aria-valuetext")
        key = "ArrowRight" if grip == "chance" else "ArrowLeft"
        assert press(tab, css, *[key] * 4) != before, grip
        assert tab.locator(css).get_attribute("aria-valuetext") != said, grip


def test_the_point_and_the_budget_are_dragged(open_explorer):
    tab = open_explorer(LAWS)
    first = words(tab)
    assert drag(tab, ".laws-point >> nth=0", (-60, -60)) != first
    preset(tab, "GPT-3")
    assert "3.2 × 10²³" not in drag(tab, ".laws-grip rect", (-60, 40))
    preset(tab, "GPT-3")
    assert "3.2 × 10²³" in drag(tab, ".laws-point >> nth=1", (-80, 0)) != first
    tab.keyboard.press("ArrowRight")
    assert "3.5 × 10²³" in press(tab, ".laws-grip", "ArrowUp")

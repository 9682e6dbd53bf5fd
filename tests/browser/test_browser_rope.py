"""RoPE in the browser: each gesture by pointer; what is told to who listens."""

import pytest

from tests.browser.support_explorer import drag, middle, words
from tests.browser.support_page import wait_for

pytestmark = pytest.mark.browser

NAME = "explore_rope"


@pytest.mark.parametrize(
    ("css", "by", "start", "stays"),
    [
        (".rope-q .rope-knob", (20, -80), (0, 0), "the key at 12,"),
        (".rope-k .rope-knob", (20, 60), (0, 0), "the query at 17 "),
        (".rope-face", (-10, 90), (-75, -45), "the score is 0.734 of"),
        (".rope-dot", (60, 0), (0, 0), "In pair 4,"),
    ],
    ids=["query", "key", "face", "dot"],
)
def test_each_gesture_by_pointer(open_explorer, css, by, start, stays):
    tab = open_explorer(NAME)
    before = words(tab)
    drag(tab, css, by, start)
    assert words(tab) != before and stays in words(tab)
    assert tab.locator("[aria-pressed=true]").count() == 0


def test_a_press_on_the_curve_moves_the_key(open_explorer):
    tab = open_explorer(NAME)
    x, y = middle(tab, ".rope-dot")
    tab.mouse.click(x - 120, y + 60)
    assert "the query at 17 " in words(tab) and "the key at 12," not in words(tab)
    said = words(tab)
    tab.mouse.click(*middle(tab, ".rope-dot"))
    assert words(tab) == said


def test_a_reader_is_told_once_at_rest(open_explorer):
    tab = open_explorer(NAME)
    tab.locator(".ce input").first.focus()
    for _ in range(5):
        tab.keyboard.press("ArrowRight")
    heard = tab.locator(".ce [aria-live]")
    assert heard.count() == 1
    wait_for(lambda: "the query at 22 " in heard.inner_text(), lambda: heard.inner_text())

"""A prediction that is drawn, in a browser: by mouse and key, with what came out over it, kept."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import fragment, page_of
from course_utils.teaching.predict import Axis, Curve, Prediction, Predictions
from tests.browser.support_page import wait_for

pytestmark = pytest.mark.browser

CURVE = Curve(
    Axis("d", (4, 256), (4, 16, 64, 256), log=True),
    Axis("largest weight", (0, 1), (0, 0.5, 1), digits=2),
    at=(4, 16, 64, 256),
    truth=(0.25, 0.5, 0.75, 1.0),
)
PREDICTIONS = Predictions(
    "l09_sums", {"w": Prediction("w", "How large?", "It grows.", curve=CURVE)}
)
DONE = ".draw-done"
KEPT = "JSON.stringify({...localStorage})"


@pytest.fixture
def page(open_page, tmp_path):
    path = tmp_path / "drawn.html"
    content = fragment(PREDICTIONS.ask("w")) + fragment(PREDICTIONS.guesses())
    path.write_text(page_of(content), encoding="utf-8")
    return open_page(path.as_uri())


def said(page):
    return page.locator(".predict .ce-caption").inner_text()


def kept(page):
    return page.locator(".guesses tbody td").first.inner_text()


def drawn_points(page):
    return (page.locator(".draw-dots").get_attribute("d") or "").count("M")


def draw(page, heights):
    """Move the mouse along the picture, through these shares of its height."""
    box = page.locator(".draw-ground").bounding_box()
    for i, share in enumerate(heights):
        x = box["x"] + 1 + (box["width"] - 2) * i / (len(heights) - 1)
        page.mouse.move(x, box["y"] + (1 - share) * box["height"], steps=10)
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def test_the_first_prediction_of_a_page_looks_like_every_other(page):
    """Nothing else has brought the style: its title is only heard, its line has a bar."""
    assert page.locator(".predict .ce-title").bounding_box()["width"] == 1
    bar = "line => getComputedStyle(line).borderLeftWidth"
    assert page.locator(".predict .ce-caption").evaluate(bar) == "3px"


def test_before_it_is_drawn_nothing_is_told(page):
    assert drawn_points(page) == 0 and page.locator(DONE).is_disabled()
    assert said(page).startswith("Draw your guess") and kept(page) == "no guess"


def test_a_curve_by_mouse_is_compared_and_kept(page):
    draw(page, [0.15, 0.9])  # 0.1 too low all along
    assert kept(page) == "no guess"
    page.locator(DONE).click()
    wait_for(lambda: drawn_points(page) == 4, lambda: said(page))
    assert "off by 0.10 on average" in said(page) and said(page).endswith("It grows.")
    assert kept(page) == "off by 0.10"
    draw(page, [0.9, 0.1])
    assert "off by 0.10" in said(page), "a guess is a guess"
    page.wait_for_timeout(1000)  # the browser writes down what a page keeps in its own time
    page.reload()
    wait_for(lambda: drawn_points(page) == 4, lambda: f"{said(page)} {page.evaluate(KEPT)}")
    page.get_by_role("button", name="Forget my guesses").click()
    wait_for(lambda: drawn_points(page) == 0, lambda: said(page))
    assert kept(page) == "no guess" and page.locator(DONE).is_visible()


def test_a_stroke_that_begins_on_a_handle_draws_on(page):
    """Whoever draws from left to right begins on the first one."""
    handles = page.get_by_role("slider")
    first, ground = (each.bounding_box() for each in (handles.first, page.locator(".draw-ground")))
    left, middle = (first[a] + first[b] / 2 for a, b in (("x", "width"), ("y", "height")))
    page.mouse.move(left, middle)
    page.mouse.down()
    page.mouse.move(left, ground["y"] + 0.9 * ground["height"], steps=5)  # straight: it moves it
    page.mouse.move(left + ground["width"], ground["y"] + 0.1 * ground["height"], steps=20)
    page.mouse.up()
    heights = [float(each.get_attribute("aria-valuetext")) for each in handles.all()]
    assert abs(heights[0] - 0.1) < 0.06 and heights == sorted(heights) and heights[3] > 0.6


def test_a_guess_can_be_drawn_again(page):
    draw(page, [0.15, 0.9])
    page.locator(DONE).click()
    page.get_by_role("button", name="Draw again").click()
    wait_for(lambda: drawn_points(page) == 0, lambda: said(page))
    draw(page, [0.25, 1])
    page.locator(DONE).click()
    wait_for(lambda: "off by 0.00" in said(page), lambda: said(page))


def test_a_curve_by_key(page):
    handles = page.get_by_role("slider")
    assert handles.count() == 5
    for i, key in enumerate(("Home", "End", "ArrowDown")):
        handles.nth(i).focus()
        page.keyboard.press(key)
    heights = [each.get_attribute("aria-valuetext") for each in handles.all()]
    assert heights == ["0", "1", "0.48", "0.50", "0.50"]
    assert handles.nth(2).get_attribute("aria-label") == "largest weight at d = 32"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait_for(lambda: drawn_points(page) == 4, lambda: said(page))


def test_nothing_keeps_anyone_out(page):
    draw(page, [0.3, 0.6])
    page.locator(DONE).click()
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert found.response["violations"] == []

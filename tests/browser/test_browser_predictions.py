"""Predictions in a browser: chosen by mouse and key, kept, opened on the site, told at the end."""

import json

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import fragment, page_of
from course_utils.teaching.predict import Prediction, Predictions
from tests.browser.support_page import wait_for
from tests.browser.support_present import projected
from tests.browser.support_scratch import write_notebook

pytestmark = pytest.mark.browser

SCORE = Prediction("score", "How large is it?", "A score is 8.", "8", ("1", "8", "64"))
NUMBER = Prediction("bytes", "How many?", "It is 128 GB.", 128, within=8, unit="GB", at_once=True)
PREDICTIONS = Predictions("l09_sums", {"score": SCORE, "bytes": NUMBER})
FOLD = "<details class='{0}'><summary>What came out</summary><p>{0} tells</p></details>"
PRINTED = "<details class='first'><summary>Output</summary><pre>first tells</pre></details>"
PICTURE = "<figure class='ce'><h3>What a picture asks</h3></figure>"


def buttons(place, text):
    return place.locator(".ce-choices button", has_text=text)


def said(place):
    return place.locator(".predict .ce-caption").first.inner_text()


@pytest.fixture
def page(open_page, tmp_path):
    """A page as the site has it: two predictions, folded answers, and all guesses at the end."""
    return open_page(write_page(tmp_path))


def write_page(folder):
    asked = {name: f'<div class="course-asked">{fragment(PREDICTIONS.ask(name))}</div>'
             for name in PREDICTIONS}  # fmt: skip
    content = (
        f"<h2>One</h2>{asked['score']}{PRINTED}{PICTURE}<p>Code.</p>{FOLD.format('second')}"
        f"<p><strong>Predict.</strong> And?</p>{FOLD.format('other')}"
        f"<h2>Two</h2>{asked['bytes']}{FOLD.format('third')}<h2>End</h2>{FOLD.format('last')}"
        + fragment(PREDICTIONS.guesses())
    )
    path = folder / "predictions.html"
    path.write_text(page_of(content), encoding="utf-8")
    return path.as_uri()


def opened_folds(page):
    return page.evaluate("[...document.querySelectorAll('details[open]')].map(e => e.className)")


def guesses(page):
    return [row.split("\t")[1] for row in page.locator(".guesses tbody tr").all_inner_texts()]


def test_before_a_guess_nothing_is_told(page):
    assert page.locator(".predict .ce-caption:visible").count() == 0
    assert opened_folds(page) == [] and guesses(page) == ["no guess", "no guess"]
    group = page.get_by_role("region", name="How large is it?").get_by_role("group")
    assert group.get_by_role("button").all_inner_texts() == ["1", "8", "64"]


def test_a_choice_by_mouse_opens_its_answer_and_is_kept(page):
    buttons(page, "64").click()
    wait_for(lambda: "You chose 64." in said(page), lambda: said(page))
    assert opened_folds(page) == ["first", "second"]
    assert guesses(page) == ["64", "no guess"]
    page.reload()
    assert buttons(page, "64").get_attribute("aria-pressed") == "true"
    assert guesses(page) == ["64", "no guess"]
    assert opened_folds(page) == [] and page.locator(".predict .ce-caption:visible").count() == 0, (
        "nothing moves for whoever comes back"
    )


def test_a_guess_leads_to_its_answer_and_is_judged_there(page):
    told, way = page.locator(".course-told"), page.get_by_role("link", name="To the answer")
    assert told.count() == way.count() == 0
    buttons(page, "64").click()
    way.click()
    answer = page.locator("details.second")
    wait_for(lambda: told.count() == 1, lambda: "not told")
    assert page.evaluate("document.querySelector(':target').className") == "second"
    assert answer.locator(".course-told").inner_text() == "You chose 64. What came out: 8."
    page.reload()
    assert told.inner_text() == "" and told.text_content(), "told, in a fold that is closed"
    assert way.count() == 0, "nothing moves for whoever comes back"
    buttons(page, "8").click()
    wait_for(lambda: told.inner_text() == "You chose 8, and that is right.", told.inner_text)
    page.get_by_role("button", name="Forget my guesses").click()
    wait_for(lambda: told.count() == 0, told.inner_text)


def test_keys_choose(page):
    buttons(page, "1").first.focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.textContent") == "8"
    assert guesses(page)[0] == "no guess"  # moving is not choosing
    page.keyboard.press("Enter")
    wait_for(lambda: guesses(page)[0] == "8 ✓", lambda: guesses(page)[0])
    page.keyboard.press("3")
    wait_for(lambda: guesses(page)[0] == "64", lambda: guesses(page)[0])
    page.keyboard.press("4")
    assert page.evaluate("document.activeElement.textContent") == "64"


def test_a_number_is_guessed(page):
    page.get_by_role("textbox", name="your guess, GB").fill("130")
    page.keyboard.press("Enter")
    line = page.locator(".predict .ce-caption").last
    wait_for(lambda: "It is 128 GB." in line.inner_text(), line.inner_text)
    assert guesses(page) == ["no guess", "130 GB ✓"] and opened_folds(page) == ["third"]
    page.reload()
    number = page.get_by_role("textbox")
    wait_for(lambda: number.input_value() == "130", number.input_value)


def test_a_number_with_a_comma_is_meant_as_typed(page):
    number = page.get_by_role("textbox")
    number.press_sequentially("132,5")
    page.keyboard.press("Enter")
    wait_for(lambda: guesses(page)[1] == "132.5 GB ✓", lambda: guesses(page)[1])
    assert "You guessed 132.5 GB" in page.locator(".predict .ce-caption").last.inner_text()


def test_what_is_no_number_or_too_long_is_refused_when_typed(page):
    number = page.get_by_role("textbox")
    number.press_sequentially("about ten")
    page.keyboard.press("Enter")
    assert number.evaluate("box => box.validationMessage").startswith("Your guess must be a number")
    number.fill("")
    number.press_sequentially("1" * 23)
    assert number.input_value() == "1" * 20
    page.keyboard.press("Enter")
    wait_for(lambda: guesses(page)[1].startswith("1" * 20 + " GB"), lambda: guesses(page)[1])
    assert page.locator(".ce-problem:visible").count() == 0


def test_a_guess_that_an_earlier_page_kept_and_that_is_too_long_is_no_guess(page):
    page.evaluate("localStorage.setItem('course-guess/l09_sums/bytes', '1'.repeat(25))")
    page.reload()
    assert page.get_by_role("textbox").input_value() == ""


def test_all_guesses_are_forgotten_together(page):
    buttons(page, "8").click()
    page.get_by_role("button", name="Forget my guesses").click()
    wait_for(lambda: guesses(page)[0] == "no guess", lambda: guesses(page)[0])
    assert buttons(page, "8").get_attribute("aria-pressed") == "false"
    assert page.evaluate("localStorage.length") == 0


def test_without_storage_the_page_still_asks(page):
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw 1; }})")
    page.reload()
    buttons(page, "8").click()
    wait_for(lambda: guesses(page)[0] == "8 ✓", lambda: guesses(page)[0])


def test_without_javascript_the_answer_is_folded(open_page, tmp_path):
    page = open_page(write_page(tmp_path), java_script_enabled=False)
    assert "1, 8 or 64?" in page.locator("body").inner_text()
    assert not page.get_by_text("first tells").is_visible()
    page.locator("summary").first.click()
    assert page.get_by_text("first tells").is_visible()


@pytest.mark.parametrize("width", [940, 360])
def test_everybody_can_read_it(page, width):
    page.set_viewport_size({"width": width, "height": 700})
    buttons(page, "8").click()
    for context in (".predict", ".guesses"):
        found = Axe().run(page, context=context).response["violations"]
        assert [each["id"] for each in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(box.bounding_box()["height"] >= 34 for box in buttons(page, "").all())


ASK = 'from lectures._template import exercises\nexercises.predict("hotter")'


def test_in_the_lab(lab, open_notebook):
    write_notebook(lab.folder / "asked.ipynb", ASK, "exercises.guesses()")
    opened = open_notebook("asked.ipynb")
    opened.run_all()
    buttons(opened.cell(0), "it grows").focus()
    opened.page.keyboard.press("3")
    wait_for(lambda: "You chose it shrinks." in said(opened.cell(0)), lambda: said(opened.cell(0)))
    wait_for(lambda: guesses(opened.cell(1))[0] == "it shrinks ✓", lambda: "not at the end")
    assert "The end of the lecture lists your guesses" in opened.cell(0).inner_text()
    assert len(opened.cells()) == 2  # a key for a button was none for the lab
    # The kernel knows it as well: where each output has a page of its own, it tells the end.
    opened.page.evaluate("localStorage.clear()")

    def told_again():  # a guess is on its way for a moment
        opened.run_cell(1)
        return guesses(opened.cell(1))[:1] == ["it shrinks ✓"]

    wait_for(told_again, lambda: "forgotten")
    opened.close()


def test_on_a_slide_a_digit_chooses_until_the_explorer_is_uncovered(browser, stage):
    show = "from lectures._template import explorers\n"
    show += "explorers.explore_softmax_temperature()"
    path = stage.folder / "00_asked.ipynb"
    write_notebook(path, ASK, show)
    told = json.loads(path.read_text(encoding="utf-8"))
    for cell, kind in zip(told["cells"], ("slide", "fragment"), strict=True):
        cell["metadata"]["slideshow"] = {"slide_type": kind}
    path.write_text(json.dumps(told), encoding="utf-8")
    with projected(browser, stage, path.name) as deck:
        choose_by_digits(deck.wait_until_run())


def choose_by_digits(deck):
    deck.show(0, step=0)
    deck.press("3")
    wait_for(lambda: "You chose it shrinks." in said(deck.page), lambda: said(deck.page))
    scene = deck.page.locator(".ce-presets button", has_text="nearly even")
    assert scene.get_attribute("aria-pressed") == "false"
    assert deck.page.locator(".predict-way:visible").count() == 0  # it is for who reads
    assert deck.page.locator(".cp-on .cm-content:visible").count() == 0  # the code is left out
    deck.press("ArrowRight")
    deck.press("3")
    wait_for(lambda: scene.get_attribute("aria-pressed") == "true", lambda: "no scene")
    assert "You chose it shrinks." in said(deck.page)
    assert deck.measured()["beyond"] == [] and deck.failures == []

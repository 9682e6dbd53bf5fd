"""The story GPT in a browser: fed, asked, taken apart, by mouse, by key and by finger."""

import re

import pytest

from tests.browser.support_explorer import PAINTED, opening, preset, press, touch, words
from tests.browser.support_page import wait_for

pytestmark = pytest.mark.browser

NAME = "explore_story_gpt"
TYPED, NEXT, OFFER = ".story-typed", ".story-next", ".story-offer"


@pytest.fixture(scope="module")
def tab(browser, explorer_page):
    with opening(browser) as open_page:
        yield open_page(explorer_page(NAME))


def told(tab):
    """The words of the story, from the end of the line before."""
    tab.evaluate(PAINTED)
    return tab.locator(".story-said").all_inner_texts()


def click(tab, name):
    tab.get_by_role("button", name=name, exact=True).click()


def at_rest(tab):
    """The story once nothing more is written."""
    tab.evaluate(PAINTED)
    stop = tab.get_by_role("button", name="stop")
    wait_for(lambda: not stop.is_visible(), lambda: str(told(tab)), 40_000)
    return told(tab)


def write_new(tab, text):
    preset(tab, "a new story")
    tab.locator(TYPED).fill(text)
    return told(tab)


def test_a_word_play_and_back(tab):
    preset(tab, "who has the hat?")
    asked = told(tab)
    click(tab, "a word")
    assert told(tab) == [*asked, "Ben"]
    tab.locator(NEXT).click()
    assert told(tab) == [*asked, "Ben", "has"]
    click(tab, "play")
    wait_for(lambda: len(told(tab)) > len(asked) + 6, lambda: told(tab))
    click(tab, "stop")
    stopped = told(tab)
    tab.wait_for_timeout(400)
    assert told(tab) == stopped
    for expected in ([*asked, "Ben", "has"], [*asked, "Ben"], asked):
        click(tab, "undo")
        assert told(tab) == expected
    assert tab.get_by_role("button", name="undo").is_disabled()


def test_the_same_dice_write_the_same_and_others_another_story(tab):
    stories = []
    for again in (False, True, False):
        if again:
            click(tab, "again, other dice")
        else:
            preset(tab, "a new story")
            click(tab, "play")
        wait_for(lambda: len(told(tab)) > 6, lambda: str(told(tab)))
        click(tab, "stop")
        stories.append(told(tab)[:6])
    assert stories[0] == stories[2] != stories[1]


def test_a_story_ends_and_an_open_question_is_put_aside(tab):
    preset(tab, "who has the hat?")
    before = told(tab)
    click(tab, "Where is it?")
    asked = at_rest(tab)
    assert asked[: len(before) - 5] == before[:-5]
    assert asked[len(before) - 5 :][:5] == ["Where", "is", "the", "hat", "?"]
    click(tab, "play")
    at_rest(tab)
    assert tab.locator(NEXT).inner_text() == "↵ the end"
    assert tab.get_by_role("button", name="a word").is_disabled()


def test_a_preset_stops_what_is_being_written(tab):
    preset(tab, "a new story")
    click(tab, "again, other dice")
    preset(tab, "a new story")
    tab.wait_for_timeout(400)
    assert told(tab) == ["↵"]


def test_it_answers_what_is_asked(tab):
    preset(tab, "what colour is the hat?")
    click(tab, "What colour?")
    question = ["What", "colour", "is", "the", "hat", "?"]
    assert at_rest(tab)[-10:] == [*question, "It", "is", "red", "."]
    write_new(tab, "Ann was in the park. ")
    assert tab.get_by_role("button", name="Where is it?").is_disabled(), "nothing was named"


def test_a_bar_chooses_and_an_earlier_word_asks_anew(tab):
    preset(tab, "who has the hat?")
    tab.locator(".story-bar").nth(1).click()
    assert told(tab)[-1] == "He"
    preset(tab, "who has the hat?")
    before = told(tab)
    tab.locator(".story-said").nth(21).click()
    assert "After 21 words “it” is likeliest" in words(tab)
    assert not tab.locator(NEXT).is_visible()
    tab.locator(".story-bar", has_text="the").first.click()
    assert told(tab) == [*before[:22], "the"]
    assert "After 21 words" in press(tab, ".story-track", "ArrowLeft")


def test_what_is_typed_is_read_and_what_is_unknown_is_offered(tab):
    assert write_new(tab, "ann was in the dragon. ") == [
        "↵",
        "Ann",
        "was",
        "in",
        "the",
        "dragon",
        ".",
    ]
    assert "“dragon” is not one of its 180 words" in tab.locator(OFFER).inner_text()
    assert "After 5 words" in words(tab)
    tab.locator(OFFER).get_by_role("button").first.click()
    assert "After 6 words" in words(tab)
    assert not tab.locator(OFFER).is_visible()
    assert write_new(tab, "<i>Ben</i> שלום ")[1:] == [
        "<",
        "i",
        ">",
        "Ben",
        "<",
        "/",
        "i",
        ">",
        "שלום",
    ]
    for _ in range(8):
        tab.locator(OFFER).get_by_role("button", name="leave it out").click()
        tab.evaluate(PAINTED)
    assert told(tab) == ["↵", "Ben"]
    tab.locator(TYPED).focus()
    tab.keyboard.press("Enter")
    assert len(told(tab)) == 3, "Enter writes a word"
    tab.keyboard.type("Tom. ")
    tab.keyboard.press("Enter")
    assert len(told(tab)) == 5, "but not after what was typed"
    tab.keyboard.press("Backspace")
    tab.keyboard.press("Backspace")
    tab.keyboard.press("Backspace")
    assert told(tab) == ["↵", "Ben"]
    tab.keyboard.type("was in", delay=0)
    tab.keyboard.press("Tab")
    assert told(tab) == ["↵", "Ben", "was", "in"], "what is typed fast, and left, is read"
    write_new(tab, "Ben was in the park. " * 40)
    assert "After 191 words" in words(tab)
    assert "191 words at most" in tab.locator(OFFER).inner_text()
    assert tab.get_by_role("button", name="play").is_disabled()


def test_a_head_is_switched_off_and_the_answer_changes(tab):
    preset(tab, "what colour is the hat?")
    click(tab, "its heads")
    knob = tab.get_by_role("switch", name="head 3.1 is on")
    knob.click()
    assert "“in” is likeliest, 0.99, with all heads on “red”, 1.00" in words(tab)
    assert "Head 3.1 is off." in words(tab)
    red = tab.locator(".story-bar", has_text="red")
    assert red.get_attribute("aria-label") == "red, 0.01, with all heads 1.00"
    assert red.locator(".story-ghost").is_visible()
    click(tab, "all on")
    assert "“red” is likeliest, 1.00;" in words(tab)
    assert "Head 3.0 looks most" in press(tab, ".story-choose[tabindex='0']", "ArrowLeft")
    assert "Head 2.0 looks most" in press(tab, ".story-choose[tabindex='0']", "ArrowUp")


def test_pointing_lights_a_word_in_all_heads_and_a_heads_words(tab):
    preset(tab, "what colour is the hat?")
    click(tab, "its heads")
    arcs = "[...document.querySelectorAll('.story-arcs path')].map(each => each.getAttribute('d'))"
    chosen = tab.evaluate(arcs)
    tab.locator(".story-said", has_text="What").hover()
    tab.evaluate(PAINTED)
    shares = tab.locator(".story-head-share").all_inner_texts()
    assert shares[13] == "0.99" and "" not in shares
    tab.locator(".story-tile").nth(4).hover()
    tab.evaluate(PAINTED)
    assert tab.evaluate(arcs) != chosen
    tab.mouse.move(2, 2)
    tab.evaluate(PAINTED)
    assert [each for each in tab.evaluate(arcs) if each] == [each for each in chosen if each]


def test_each_look_shows_its_own(tab):
    preset(tab, "when it knows")
    assert tab.locator(".story-lens").count() == len(told(tab))
    assert tab.locator(".story-lens").last.locator("span").all_inner_texts() == [
        "is",
        "is",
        "is",
        "is",
        "red",
    ]
    written = [*told(tab), "red"]
    click(tab, "a word")
    preset(tab, "what it costs")
    assert tab.locator(".story-lens").count() == 0 and told(tab) == written
    click(tab, "undo")
    assert "costs 0.5 million multiplications with the cache" in words(tab)
    tab.get_by_label("use the cache").uncheck()
    assert "It keeps nothing: all 41 are read again." in words(tab)
    click(tab, "its heads")
    tab.evaluate(PAINTED)
    assert tab.locator(".story-wall").is_visible()


def test_what_is_written_stays_when_the_cache_is_switched(open_explorer):
    tab = open_explorer("explore_story_cache", 390, has_touch=True, is_mobile=True)
    preset(tab, "after four words")
    click(tab, "a word")
    written = told(tab)
    assert len(written) == 6
    for label, says in (("without", "It keeps nothing"), ("with the cache", "It keeps 18 kB")):
        assert says in preset(tab, label) and told(tab) == written
    assert preset(tab, "after 20 words") and len(told(tab)) == 21


def test_a_finger_scrolls_over_the_story_and_taps(open_explorer):
    tab = open_explorer(NAME, 390, has_touch=True, is_mobile=True)
    box = tab.locator(".story-said", has_text="gave").bounding_box()
    before = words(tab)
    touch(tab, box["x"] + 9, box["y"] + 9, (0, -80))
    assert words(tab) == before, "a swipe is for the page"
    tab.locator(".story-said", has_text="gave").tap()
    assert "After 21 words" in words(tab)
    tab.get_by_role("button", name="a word").tap()
    assert len(told(tab)) == 23


def heard(tab):
    """What has just been written, as those who listen hear it."""
    tab.evaluate(PAINTED)
    return tab.locator("p.ce-heard[aria-live]:not([role])").inner_text()


def test_what_is_written_is_heard_and_can_be_read(tab):
    preset(tab, "who has the hat?")
    click(tab, "a word")
    assert heard(tab) == "Ben"
    click(tab, "What colour?")
    at_rest(tab)
    assert heard(tab) == "What colour is the hat? It is red."[-10:]
    assert "The story so far: Ann" in tab.locator("p.ce-heard").first.inner_text()
    click(tab, "undo")
    assert heard(tab).startswith("The story ends now: ")


def test_what_a_head_looks_at_can_be_read(tab):
    preset(tab, "who has the hat?")
    tab.evaluate(PAINTED)
    said = tab.get_by_text(re.compile(r"^Head \d\.\d looks at: ")).inner_text()
    shares = [float(share) for share in re.findall(r"(\d\.\d\d) on word", said)]
    assert shares == sorted(shares, reverse=True)
    assert 0.5 < sum(shares) < 1.05, "most of its weight, and each word once"
    assert f"{shares[0]:.2f}" in words(tab), "the caption names the first of them"


def test_the_focus_stays_where_a_button_can_do_no_more(tab):
    preset(tab, "who has the hat?")
    click(tab, "a word")
    undo = tab.get_by_role("button", name="undo", exact=True)
    while undo.get_attribute("aria-disabled") is None:
        undo.press("Enter")
        tab.evaluate(PAINTED)
    assert undo.evaluate("each => each === document.activeElement")
    preset(tab, "without head 3.1")
    tab.get_by_role("button", name="all on").press("Enter")
    tab.evaluate(PAINTED)
    assert tab.locator(".story-choose:focus").count() == 1
    write_new(tab, "Ann saw a zebra ")
    tab.get_by_role("button", name="leave it out").press("Enter")
    assert tab.locator(f"{TYPED}:focus").count() == 1


def test_what_is_typed_goes_after_the_word_that_is_asked(tab):
    preset(tab, "who has the hat?")
    before = told(tab)
    tab.locator(".story-said").nth(3).click()
    tab.locator(TYPED).fill("the ")
    assert told(tab) == [*before[:4], "the"]


def test_a_word_may_be_typed_before_the_frame_that_shows_which_is_asked(tab):
    preset(tab, "who has the hat?")
    tab.locator(".story-track").evaluate("""track => {
      track.dispatchEvent(new KeyboardEvent('keydown', { key: 'Home', bubbles: true }));
      const typed = document.querySelector('.story-typed');
      typed.value = 'the ';
      typed.dispatchEvent(new InputEvent('input', { bubbles: true }));
    }""")
    assert told(tab) == ["↵", "the"]

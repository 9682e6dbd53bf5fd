"""Every lecture as live slides: all of it seen on a projector, moved, run, and kept at home."""

from itertools import product

import pytest

from tests.browser.support_page import changed, seen, wait_for
from tests.browser.support_present import FIRST, PROJECTOR, projected
from tests.lectures.support_notebooks import NOTEBOOKS
from tools.presenting.slides import read_slides

pytestmark = pytest.mark.browser

# Of a projector's 720 lines about the least that reads from the back of a room, in pixels.
SMALLEST_TYPE = 16
# The 43 rows of lecture 06's symbol table have a box of their own to scroll in.
SCROLLING_TABLES = {"table"}
# What a key moves in a picture; a cell of a mask is painted with the space bar. Who looks around a
# doughnut reads the same words from every side.
HANDLES = (
    ":is([role=slider], [role=checkbox], [role=radio], input[type=range])"
    ":not([tabindex='-1'], [aria-label='look around'])"
)


# One lecture each time; all before a release.
DECKS = [
    pytest.param(path, id=path.stem, marks=[] if path == FIRST else pytest.mark.slow)
    for path in NOTEBOOKS
]


@pytest.fixture(scope="module", params=DECKS)
def presented(request, browser, stage):
    """A lecture on the projector, every cell run."""
    with projected(browser, stage, request.param.name) as deck:
        deck.path = stage.folder / request.param.name
        yield deck.wait_until_run()


def test_the_slides_are_those_of_the_plan(presented):
    names = ("title", "section", "ids", "inClass")
    shown = [tuple(each[name] for name in names) for each in presented.slides()]
    planned = read_slides(presented.path)
    assert shown == [(each.title, each.section, each.ids, each.in_class) for each in planned]


def test_every_slide_fits_the_projector(presented):
    faults = []
    for place, slide in enumerate(presented.slides()):
        presented.show(place, step=0)
        for step in range(presented.ask("lastStep") + 1):
            if step:
                presented.press("PageDown")
            measured = presented.measured()
            where = f"slide {place + 1}, {slide['title']}, step {step + 1}"
            assert measured["cells"] == len(slide["ids"]), where
            if measured["scrolls"] or measured["beyond"]:
                faults.append(f"{where}: beyond the slide: {measured['beyond'][:3]}")
            if measured["smallest"] < SMALLEST_TYPE:
                faults.append(f"{where}: type of {measured['smallest']:.1f} px, {SMALLEST_TYPE=}")
            if measured["tableScrolls"] != bool(SCROLLING_TABLES & set(slide["ids"])):
                faults.append(f"{where}: a table scrolls: {measured['tableScrolls']}")
    assert not faults, "\n".join(faults)


def test_a_finer_projector_shows_the_same_slides_larger(presented):
    places = range(len(presented.slides()))
    zooms = [(presented.show(place), presented.ask("zoom"))[1] for place in places]
    presented.page.set_viewport_size({"width": 1920, "height": 1080})
    for place in places:
        presented.show(place)
        measured = presented.measured()
        assert not measured["scrolls"] and not measured["beyond"], (place + 1, measured)
        # Zoom goes in steps of 0.05; one more may fit.
        assert abs(measured["zoom"] / 1.5 - zooms[place]) < 0.051, (place + 1, measured)
    presented.page.set_viewport_size(PROJECTOR)


def test_a_prediction_leaves_its_question_large(presented):
    """Its buttons are no picture, which would hold the words at the zoom of its width."""
    asked = [
        (place, slide["title"])
        for place, slide in enumerate(presented.slides())
        if len(slide["ids"]) == 2 and slide["ids"][1].startswith("predict-")
    ]
    assert asked
    for place, title in asked:
        presented.show(place)
        has_picture = presented.page.locator(".cp-on.cp-about").count()  # which its words set
        assert presented.measured()["zoom"] > (1.1 if has_picture else 1.3), title


def test_a_drawn_answer_grows_again(presented):
    """Its axes are as wide as the zoom let them be when they were drawn."""
    for place, slide in enumerate(presented.slides()):
        presented.show(place)
        if not presented.page.locator(".cp-on .draw-guess").count():
            continue
        zoom = presented.ask("zoom")
        presented.ask("stage.style.setProperty('--cp-zoom', '0.6')")
        presented.settle()
        presented.show(place)
        assert presented.ask("zoom") == zoom, slide["title"]


def test_a_question_of_the_quiz_is_large(presented):
    place = next(i for i, slide in enumerate(presented.slides()) if "quiz" in slide["ids"])
    presented.show(place, step=0)
    assert presented.measured()["zoom"] > 1.3


def test_a_picture_is_above_its_words_where_it_keeps_its_size_there(presented):
    """Beside them it shrinks by a third and more, and its letters with it."""
    for place in presented.about_pictures():
        presented.show(place)
        about = presented.page.locator(".cp-on.cp-about .ce:not(.predict)")
        if about.count() and not presented.page.locator(".cp-paired").count():
            zoom = presented.measured()["zoom"]
            assert about.first.bounding_box()["width"] > 990 * zoom, f"slide {place + 1}"
            return
    assert presented.path.name != FIRST.name, "its first picture is low, and its words are few"


def test_presets_and_handles_work_on_the_slides(presented):
    for place, _ in presented.explorers():
        presented.show(place)
        where = f"slide {place + 1}"
        explorer = presented.page.locator(".cp-on.cp-figure .ce").first
        assert explorer.count() == 1, f"{where}: the explorer's code is beside it"
        presented.play_presets(explorer, where)
        move_by_keyboard(presented, explorer, where)
        fits = presented.measured()
        assert not fits["scrolls"] and not fits["beyond"], f"{where}: {fits}"


def move_by_keyboard(deck, explorer, where):
    """A handle or a cell in the picture answers to a key, which then turns no slide."""
    place, presets = deck.ask("place"), explorer.locator(".ce-presets button").count()
    # At one preset a key may change nothing: decoding waits, say, or a story has no word yet.
    for preset in range(1, presets + 1):
        shown = seen(explorer)
        deck.press(str(preset))
        if preset > 1:
            changed(explorer, shown, f"{where}, preset {preset} again")
        before = seen(explorer)["caption"]
        if press_handles(deck, explorer, before):
            break
    wait_for(lambda: seen(explorer)["caption"] != before, lambda: f"{where}: keys move nothing")
    assert deck.ask("place") == place
    deck.press("Escape")  # the keys are the slides' again


def press_handles(deck, explorer, caption):
    """Press keys on the first handles until one changes the caption; tell whether one did."""
    keys = ("ArrowRight", "ArrowLeft", "Shift+ArrowUp", "Space")
    for handle, key in product(explorer.locator(HANDLES).all()[:4], keys):
        handle.focus()  # the story GPT's first, its words, has only one in a new story
        deck.press(key)
        if seen(explorer)["caption"] != caption:
            return True
    return False


def test_the_help_closes_with_its_key_and_keeps_no_other(presented):
    deck = presented
    deck.show(1)
    dialog = deck.page.locator("dialog[open]")
    for key, place in (("?", 1), ("PageDown", 2), ("ArrowLeft", 1), ("Escape", 1)):
        deck.press("?")
        assert dialog.count() == 1
        deck.press(key)
        assert (dialog.count(), deck.ask("place"), deck.ask("active")) == (0, place, True), key


def test_a_black_screen_goes_with_any_key_which_does_nothing_else(presented):
    deck = presented
    deck.show(1)
    covers = "document.elementFromPoint(640, 700).className === 'cp-black'"
    for black, key in (("b", "b"), (".", "PageDown"), ("b", "x"), ("b", "Escape")):
        deck.press(black)
        assert deck.page.evaluate(covers)
        deck.press("Shift")
        assert deck.page.evaluate(covers)
        deck.press(key)
        assert not deck.page.evaluate(covers)
        assert (deck.ask("place"), deck.ask("active")) == (1, True), key


def test_the_pointer_follows_the_mouse_and_clicks_nothing(presented):
    deck = presented
    place, _ = deck.explorers()[0]
    deck.show(place)
    spot = deck.page.locator(".cp-pointer")
    assert not spot.is_visible()
    deck.press("p")
    button = deck.page.locator(".cp-on .ce-presets button").last
    button.click()
    on, at = spot.bounding_box(), button.bounding_box()
    assert on["width"] > 40
    for start, size in (("x", "width"), ("y", "height")):
        assert abs(on[start] + on[size] / 2 - at[start] - at[size] / 2) < 2
    deck.page.locator(".cp-on .ce-presets button[aria-pressed=true]").last.wait_for()
    assert button.get_attribute("aria-pressed") == "true"
    deck.press("p")
    assert not spot.is_visible()


MOVED = ".cp-on .ce :is(input[type=range], [role=slider]):visible"
# Where the mouse takes hold of it. The words of a story are a slider, the room after them is not.
# For a ring that only keys move the mouse takes what is under it: the plot, which moves the dot.
GRIPPED = """handle => {
    const box = handle.getBoundingClientRect(), parts = [0.5, 0.3, 0.7, 0.1, 0.9];
    return parts.flatMap(x => parts.map(y => [box.x + x * box.width, box.y + y * box.height]))
        .find(place => {
            const on = document.elementFromPoint(...place);
            return handle.contains(on) || getComputedStyle(handle).pointerEvents === 'none'
                && handle.parentNode === on?.closest('[data-grab]')?.parentNode;
        });
}"""


def test_after_a_drag_the_space_bar_turns_the_page(presented):
    """Whoever came to a slider with Tab keeps its keys."""
    deck = presented
    for place, _ in deck.explorers():
        deck.show(place)
        for number in range(min(deck.page.locator(MOVED).count(), 2)):
            handle = deck.page.locator(MOVED).nth(number)
            x, y = handle.evaluate(GRIPPED)
            deck.page.mouse.move(x, y)
            deck.page.mouse.down()
            deck.page.mouse.move(x + 30, y + 4, steps=3)
            deck.page.mouse.up()
            deck.settle()
            deck.press("Space")
            # Of an explorer that comes first on its slide the answer may be next.
            turned = (deck.ask("place"), deck.ask("step")) != (place, deck.ask("lastStep"))
            assert turned or place == len(deck.slides()) - 1, f"slide {place + 1}, handle {number}"
            deck.show(place)
        if not deck.page.locator(MOVED).count():
            continue  # a picture without sliders
        handle = deck.page.locator(MOVED).first
        handle.focus()
        deck.press("ArrowUp")  # of bars side by side left and right choose another
        assert (deck.ask("place"), handle.evaluate("it => it === document.activeElement")) == (
            place,
            True,
        )
        deck.press("Escape")


def test_an_answer_has_its_picture_beside_it(presented):
    """Where a slide has words alone, after a picture. A question may need the room."""
    about = presented.about_pictures()
    assert about
    for place in about:
        presented.show(place)
        if presented.page.locator(".cp-on .predict").count():
            continue
        assert presented.page.locator(".cp-on.cp-about").count() == 1, f"slide {place + 1}"
        assert presented.page.locator(".cp-about .predict").count() == 0, f"slide {place + 1}"
        assert presented.measured()["zoom"] >= 1.15, f"slide {place + 1}"


def test_nothing_is_asked_of_other_machines(presented):
    assert len(presented.asked) > 20
    assert presented.elsewhere() == []
    assert presented.failures == []

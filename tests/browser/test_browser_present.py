"""Every lecture as live slides: all of it seen on a projector, moved, run, and kept at home."""

import pytest

from tests.browser.support_controls import SLIDER
from tests.browser.support_page import changed, seen
from tests.browser.support_present import FIRST, PROJECTOR, Deck
from tests.lectures.support_notebooks import NOTEBOOKS
from tools.presenting.slides import read_slides

pytestmark = pytest.mark.browser

# JupyterLab's text is 14 px high: at this zoom 16 px of a projector's 720 lines, about the least
# that reads from the back of a room.
SMALLEST_ZOOM = 1.15
# The 43 rows of lecture 06's symbol table have a box of their own to scroll in.
SCROLLING_TABLES = {"table"}


# One lecture each time; all before a release.
DECKS = [
    pytest.param(path, id=path.stem, marks=[] if path == FIRST else pytest.mark.slow)
    for path in NOTEBOOKS
]


@pytest.fixture(scope="module", params=DECKS)
def presented(request, browser, stage):
    """A lecture on the projector, every cell run."""
    context = browser.new_context(viewport=PROJECTOR)
    deck = Deck(context.new_page())
    deck.path = stage.folder / request.param.name
    yield deck.open(stage, request.param.name).wait_until_run()
    deck.page.evaluate("window.coursePresenter.panel.sessionContext.shutdown()")
    context.close()


# Every lecture.


def test_the_slides_are_those_of_the_plan(presented):
    shown = [(each["title"], each["section"], each["ids"]) for each in presented.slides()]
    planned = read_slides(presented.path)
    assert shown == [(slide.title, slide.section, slide.ids) for slide in planned]


def test_every_slide_fits_the_projector(presented, keep_picture):
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
            if measured["zoom"] < SMALLEST_ZOOM:
                faults.append(f"{where}: zoom {measured['zoom']} is below {SMALLEST_ZOOM}")
            if measured["tableScrolls"] != bool(SCROLLING_TABLES & set(slide["ids"])):
                faults.append(f"{where}: a table scrolls: {measured['tableScrolls']}")
        keep_picture(presented.page, f"{presented.path.stem}-slide-{place + 1:02d}")
    assert not faults, "\n".join(faults)


def test_scenes_and_sliders_work_on_the_slides(presented):
    for place, _ in presented.explorers():
        presented.show(place)
        where = f"slide {place + 1}"
        explorer = presented.page.locator(".cp-on.cp-figure .course-explorer").first
        assert explorer.count() == 1, f"{where}: the explorer's code is beside it"
        # Sliders first: in a scene, one of them may have nothing to say.
        handle = explorer.locator(SLIDER)
        if handle.count():
            move_by_keyboard(presented, explorer, handle.first, where)
            move_by_mouse(presented, explorer, handle.first, where)
        presented.play_scenes(explorer, where)
        fits = presented.measured()
        assert not fits["scrolls"] and not fits["beyond"], f"{where}: {fits}"


def move_by_keyboard(deck, explorer, handle, where):
    before = seen(explorer)
    handle.focus()
    at_end = handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax")
    deck.press("ArrowLeft" if at_end else "ArrowRight")
    changed(explorer, before, f"{where}, the slider's arrow key")
    deck.press("Escape")  # the keys are the slides' again


def move_by_mouse(deck, explorer, handle, where):
    """Drag the handle to the middle, or away from it: the picture follows the hand."""
    before = seen(explorer)
    track = handle.locator("xpath=ancestor::*[contains(@class, 'noUi-base')]").bounding_box()
    grip = handle.bounding_box()
    x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
    share = 0.8 if x < track["x"] + track["width"] / 2 else 0.2
    deck.page.mouse.move(x, y)
    deck.page.mouse.down()
    deck.page.mouse.move(track["x"] + share * track["width"], y, steps=5)
    deck.page.mouse.up()
    changed(explorer, before, f"{where}, the slider dragged")
    after = handle.bounding_box()
    reached = (after["x"] + after["width"] / 2 - track["x"]) / track["width"]
    # A slider of few steps stops at the nearest.
    assert abs(reached - share) < 0.26, f"{where}: dragged to {share:.0%}, stands at {reached:.0%}"


def test_nothing_is_asked_of_other_machines(presented):
    assert len(presented.asked) > 20
    assert presented.elsewhere() == []
    assert presented.failures == []


# One lecture, on other projectors.


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1024, 768), (1920, 1080), (800, 600)])
def test_another_projector_cuts_nothing_off(deck, size):
    deck.wait_until_run()
    deck.page.set_viewport_size({"width": size[0], "height": size[1]})
    for place in range(len(deck.slides())):
        deck.show(place)
        measured = deck.measured()
        assert not measured["scrolls"] and not measured["beyond"], (place, measured)


@pytest.mark.slow
@pytest.mark.parametrize("times", [1.5, 3])
def test_a_finer_projector_shows_the_same_slides_as_large(deck, times):
    deck.wait_until_run()
    places = range(len(deck.slides()))
    zooms = [(deck.show(place), deck.ask("zoom"))[1] for place in places]
    deck.page.set_viewport_size({side: int(times * PROJECTOR[side]) for side in PROJECTOR})
    for place in places:
        deck.show(place)
        measured = deck.measured()
        assert not measured["scrolls"] and not measured["beyond"], (place, measured)
        # Zoom goes in steps of 0.05.
        assert abs(measured["zoom"] / times - zooms[place]) < 0.05, (place, measured)

"""Every lecture as live slides: all of it seen on a projector, moved, run, and kept at home."""

import pytest

from tests.browser.support_page import seen, wait_for
from tests.browser.support_present import FIRST, projected
from tests.lectures.support_notebooks import NOTEBOOKS
from tools.presenting.slides import read_slides

pytestmark = pytest.mark.browser

# JupyterLab's text is 14 px high: at this zoom 16 px of a projector's 720 lines, about the least
# that reads from the back of a room.
SMALLEST_ZOOM = 1.15
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
    shown = [(each["title"], each["section"], each["ids"]) for each in presented.slides()]
    planned = read_slides(presented.path)
    assert shown == [(slide.title, slide.section, slide.ids) for slide in planned]


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
            if measured["zoom"] < SMALLEST_ZOOM:
                faults.append(f"{where}: zoom {measured['zoom']} is below {SMALLEST_ZOOM}")
            if measured["tableScrolls"] != bool(SCROLLING_TABLES & set(slide["ids"])):
                faults.append(f"{where}: a table scrolls: {measured['tableScrolls']}")
    assert not faults, "\n".join(faults)


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
        assert presented.measured()["zoom"] > 1.3, title


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
    handle = explorer.locator(HANDLES).first
    place, before = deck.ask("place"), seen(explorer)["caption"]
    for key in ("ArrowRight", "ArrowLeft", "Shift+ArrowUp", "Space"):
        handle.focus()
        deck.press(key)
        if seen(explorer)["caption"] != before:
            break
    wait_for(lambda: seen(explorer)["caption"] != before, lambda: f"{where}: keys move nothing")
    assert deck.ask("place") == place
    deck.press("Escape")  # the keys are the slides' again


def test_nothing_is_asked_of_other_machines(presented):
    assert len(presented.asked) > 20
    assert presented.elsewhere() == []
    assert presented.failures == []

"""Every lecture as live slides: all of it seen on a projector, moved, run, and kept at home."""

import sys

import pytest
from support_controls import SCENE, SLIDER
from support_lab import ROOT, copy_lectures, running_lab
from support_notebooks import NOTEBOOKS
from support_page import changed, seen
from support_present import Deck

from course_utils.teaching.slides import read_slides

pytestmark = pytest.mark.browser

PROJECTOR = {"width": 1280, "height": 720}
# JupyterLab's text is 14 px high: at this zoom 16 px of a projector's 720 lines, about the least
# that reads from the back of a room.
SMALLEST_ZOOM = 1.15
# 36 lines of one function: at 16 px they would be higher than the projector.
SMALLER = {"torch-form": 1.05}
# The 43 rows of lecture 06's symbol table have a box of their own to scroll in.
SCROLLING_TABLES = {"table"}
FIRST = next(path for path in NOTEBOOKS if path.stem.startswith("01"))


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    """A running JupyterLab as `make present` starts it, over a copy of the lectures."""
    sys.path.insert(0, str(ROOT))
    from commands.lab import present_options

    folder = tmp_path_factory.mktemp("presented")
    private = tmp_path_factory.mktemp("presenter")
    copy_lectures(folder)
    with running_lab(folder, private, present_options(ROOT, private / "presenting")) as running:
        yield running


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem)
def presented(request, browser, stage):
    """A lecture on the projector, every cell run."""
    context = browser.new_context(viewport=PROJECTOR)
    deck = Deck(context.new_page())
    deck.path = stage.folder / request.param.name
    yield deck.open(stage, request.param.name).wait_until_run()
    deck.page.evaluate("window.coursePresenter.panel.sessionContext.shutdown()")
    context.close()


@pytest.fixture
def deck(browser, stage):
    """Lecture 01 on the projector, just opened."""
    context = browser.new_context(viewport=PROJECTOR)
    deck = Deck(context.new_page()).open(stage, FIRST.name)
    yield deck
    deck.page.evaluate("window.coursePresenter.panel.sessionContext.shutdown()")
    context.close()


# Every lecture.


def test_the_slides_are_those_that_rehearsal_lists(presented):
    listed = [
        {
            "title": slide.title,
            "section": slide.section,
            "ids": list(slide.ids),
            "fragments": slide.fragments,
            "notes": int(bool(slide.notes)),
        }
        for slide in read_slides(presented.path)
    ]
    assert presented.slides() == listed


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
            least = min(SMALLER.get(each, SMALLEST_ZOOM) for each in slide["ids"])
            if measured["zoom"] < least:
                faults.append(f"{where}: zoom {measured['zoom']} is below {least}")
            if measured["tableScrolls"] != bool(SCROLLING_TABLES & set(slide["ids"])):
                faults.append(f"{where}: a table scrolls: {measured['tableScrolls']}")
        keep_picture(presented.page, f"{presented.path.stem}-slide-{place + 1:02d}")
    assert not faults, "\n".join(faults)


def test_scenes_and_sliders_work_on_the_slides(presented):
    for place, _ in presented.explorers():
        presented.show(place)
        where = f"slide {place + 1}"
        explorer = presented.page.locator(".cp-on .course-explorer").first
        # Sliders first: in a scene, one of them may have nothing to say.
        handle = explorer.locator(SLIDER)
        if handle.count():
            move_by_keyboard(presented, explorer, handle.first, where)
            move_by_mouse(presented, explorer, handle.first, where)
        play_scenes(presented, explorer, where)
        fits = presented.measured()
        assert not fits["scrolls"] and not fits["beyond"], f"{where}: {fits}"


def play_scenes(deck, explorer, where):
    """Press every scene's key, the last first; each shows something else."""
    count = explorer.locator(SCENE).count()
    for number in range(count, 0, -1):
        before = seen(explorer)
        deck.press(str(number))
        name = f"{where}, scene {number}"
        if number < count:
            changed(explorer, before, name)
        else:  # it may be what is shown already
            deck.wait_for_answers()
        assert seen(explorer)["error"] == "", name


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


# One lecture: the presenter's hands.


def test_a_fragment_keeps_its_room_and_appears_with_the_next_key(deck):
    place = next(i for i, slide in enumerate(deck.slides()) if slide["fragments"])
    for forward, back in (
        ("ArrowRight", "ArrowLeft"),
        ("PageDown", "PageUp"),
        ("Space", "ArrowUp"),
    ):
        deck.show(place, step=0)
        covered = deck.page.locator(".cp-on.cp-covered")
        count, height = covered.count(), deck.ask("stage.scrollHeight")
        assert count == deck.slides()[place]["fragments"]
        deck.press(forward)
        assert covered.count() == count - 1
        assert deck.ask("stage.scrollHeight") == height
        deck.press(back)
        assert covered.count() == count
        deck.press(back)
        assert deck.ask("place") == max(place - 1, 0)


def test_the_keys_of_jupyterlab_change_nothing_behind_a_slide(deck):
    before = deck.ask("notebook.model.cells.length")
    for key in ("x", "d", "d", "b", "a", "m", "z", "Shift+M"):
        deck.press(key)
    assert deck.ask("notebook.model.cells.length") == before
    assert deck.ask("active")


def write_code(deck, source):
    """Type over the code of a slide of lecture 01; return the slide's place and the cell."""
    place = next(i for i, slide in enumerate(deck.slides()) if "line-1-code" in slide["ids"])
    deck.show(place)
    cell = deck.page.locator(".cp-on.jp-CodeCell").first
    cell.locator(".cm-content").click()
    deck.page.keyboard.press("ControlOrMeta+A")
    deck.page.keyboard.insert_text(source)
    return place, cell


def test_code_on_a_slide_is_edited_and_run_in_place(deck):
    deck.wait_until_run()
    place, cell = write_code(deck, "print('six times', 7, 'is', 6 * 7)")
    deck.press("ArrowLeft")  # moves the cursor, not the slide
    deck.press("Shift+Enter")
    cell.get_by_text("six times 7 is 42").wait_for(timeout=8000)
    assert deck.ask("place") == place
    deck.press("Escape")
    deck.press("ArrowRight")
    assert deck.ask("place") == place + 1


def test_an_error_in_the_room_is_said_and_stops_nothing(deck):
    deck.wait_until_run()
    place, cell = write_code(deck, "1 / 0")
    deck.press("Shift+Enter")
    deck.page.get_by_text("Stopped at cell").wait_for(timeout=8000)
    cell.get_by_text("ZeroDivisionError").first.wait_for(timeout=8000)
    assert not deck.measured()["scrolls"]
    deck.press("Escape")
    deck.press("PageDown")
    assert deck.ask("place") == place + 1


def test_the_notes_are_in_a_window_of_their_own_that_turns_slides(deck):
    place = next(i for i, slide in enumerate(deck.slides()) if slide["notes"])
    deck.show(place)
    with deck.page.expect_popup() as opened:
        deck.page.keyboard.press("n")
    notes = opened.value
    ask = notes.get_by_text("Ask.").first
    ask.wait_for(state="visible", timeout=8000)
    assert deck.page.locator(".cp-on").get_by_text("For the presenter").count() == 0
    title = notes.locator("#title").inner_text()
    assert title == deck.slides()[place]["title"]
    while deck.ask("place") == place:
        notes.keyboard.press("PageDown")
    assert notes.locator("#title").inner_text() == deck.slides()[place + 1]["title"]
    notes.get_by_role("button", name="Back").click()
    assert deck.ask("place") == place


def test_every_slide_can_be_chosen_from_the_list_by_mouse_and_keyboard(deck):
    count = len(deck.slides())
    deck.page.get_by_role("button", name="All slides (o)").click()
    entries = deck.page.locator(".cp-dialog li button")
    assert entries.count() == count
    entries.nth(4).click()
    assert deck.ask("place") == 4
    deck.press("o")
    deck.press("ArrowDown")
    deck.press("Enter")
    assert deck.ask("place") == 5
    deck.press("o")
    deck.press("Escape")
    assert (deck.ask("place"), deck.ask("active")) == (5, True)


def test_leaving_shows_the_whole_notebook_and_coming_back_the_same_slide(deck):
    deck.show(3)
    deck.press("Escape")
    cells = deck.page.locator(".jp-Notebook .jp-Cell:visible")
    assert cells.count() > 20
    deck.page.get_by_role("button", name="Back to the slides").click()
    assert (deck.ask("place"), deck.ask("active")) == (3, True)
    assert deck.page.locator(".jp-Cell.cp-on").count() == len(deck.slides()[3]["ids"])


def test_a_page_that_is_loaded_again_comes_back_to_its_slide(deck, stage):
    deck.show(4)
    deck.open(stage, FIRST.name)
    assert deck.ask("place") == 4


@pytest.mark.parametrize("size", [(1024, 768), (1920, 1080), (800, 600)])
def test_another_projector_cuts_nothing_off(deck, size):
    deck.wait_until_run()
    deck.page.set_viewport_size({"width": size[0], "height": size[1]})
    for place in range(len(deck.slides())):
        deck.show(place)
        measured = deck.measured()
        assert not measured["scrolls"] and not measured["beyond"], (place, measured)

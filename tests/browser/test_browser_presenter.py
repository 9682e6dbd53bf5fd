"""Lecture 01 in the presenter's hands: keys, clicks, notes, mistakes, and a kernel that dies."""

import pytest

from tests.browser.support_page import OPEN_MS
from tests.browser.support_present import FIRST, PRESENTER, PROJECTOR, projected

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PRESET = ".ce-presets button"
RAIL = ":is(input[type=range], [role=slider][tabindex='0'])"


@pytest.fixture(scope="module")
def lecture_01(browser, stage):
    """Lecture 01 on the projector, every cell run: opened once, for that takes most of the time."""
    with projected(browser, stage, FIRST.name) as deck:
        yield deck.wait_until_run()


@pytest.fixture
def deck(lecture_01):
    """Lecture 01 at its first slide, whatever the test before has left."""
    for other in lecture_01.page.context.pages[1:]:
        other.close()
    if not lecture_01.ask("active"):
        lecture_01.page.get_by_role("button", name="Back to the slides").click()
    lecture_01.show(0, step=0)
    return lecture_01


def test_other_projectors_cut_nothing_off_and_finer_ones_show_it_as_large(deck):
    places = range(len(deck.slides()))
    zooms = [(deck.show(place), deck.ask("zoom"))[1] for place in places]
    for width, height in ((800, 600), (1024, 768), (3840, 2160)):
        deck.page.set_viewport_size({"width": width, "height": height})
        times = width / PROJECTOR["width"]
        for place in places:
            deck.show(place)
            measured = deck.measured()
            assert not measured["scrolls"] and not measured["beyond"], (width, place, measured)
            # Zoom goes in steps of 0.05.
            is_as_large = abs(measured["zoom"] / times - zooms[place]) < 0.05
            assert times < 1 or is_as_large, (width, place, measured)
    deck.page.set_viewport_size(PROJECTOR)


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


def show_explorer(deck):
    """Show the first slide with an explorer; return the place and the explorer."""
    place, _ = deck.explorers()[0]
    deck.show(place)
    return place, deck.page.locator(".cp-on .course-explorer").first


@pytest.mark.parametrize("clicked", [None, PRESET, RAIL])
def test_the_keys_of_jupyterlab_change_nothing_behind_a_slide(deck, clicked):
    place, explorer = show_explorer(deck)
    before = deck.ask("notebook.model.cells.length")
    if clicked:
        explorer.locator(clicked).first.click()
    for key in ("x", "d", "d", "b", "a", "m", "z", "Shift+M"):
        deck.press(key)
    assert deck.ask("notebook.model.cells.length") == before
    assert (deck.ask("place"), deck.ask("active")) == (place, True)


def test_a_click_with_the_wrong_button_leaves_the_slide_as_it_was(deck):
    deck.show(1)
    deck.page.locator(".cp-on").first.click(button="right")
    menu = deck.page.locator(".lm-Menu")
    menu.first.wait_for()
    deck.press("ArrowDown")
    deck.press("Escape")
    menu.first.wait_for(state="detached")
    assert (deck.ask("place"), deck.ask("active")) == (1, True)


def test_another_lecture_comes_up_as_slides_of_its_own(deck):
    deck.show(len(deck.slides()) - 1)
    before = deck.measured()
    with deck.page.context.expect_page() as opened:
        deck.page.locator(".cp-on p a[href*='02_softmax']").click()
    opened.value.wait_for_function(f"{PRESENTER}?.active", timeout=OPEN_MS)
    assert "02" in opened.value.title()
    assert deck.measured() == before
    opened.value.evaluate(f"{PRESENTER}.panel.sessionContext.shutdown()")


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
    place, cell = write_code(deck, "print('six times', 7, 'is', 6 * 7)")
    deck.press("ArrowLeft")  # moves the cursor, not the slide
    deck.press("Shift+Enter")
    cell.get_by_text("six times 7 is 42").wait_for(timeout=30_000)
    assert deck.ask("place") == place
    deck.press("Escape")
    deck.press("ArrowRight")
    assert deck.ask("place") == place + 1


def test_an_error_in_the_room_is_said_and_stops_nothing(deck):
    place, cell = write_code(deck, "1 / 0")
    deck.press("Shift+Enter")
    deck.page.get_by_text("Stopped at cell").wait_for(timeout=30_000)
    cell.get_by_text("ZeroDivisionError").first.wait_for(timeout=30_000)
    assert not deck.measured()["scrolls"]
    deck.press("Escape")
    deck.press("PageDown")
    assert deck.ask("place") == place + 1


@pytest.mark.parametrize("source", ["import os\nos._exit(1)", "while True: pass"])
def test_a_kernel_that_died_or_hangs_is_replaced_with_one_key(deck, source):
    place, explorer = show_explorer(deck)
    write_code(deck, source)
    deck.press("Shift+Enter")
    running = deck.page.locator(".cp-running")
    if "exit" in source:
        running.get_by_text("The kernel has stopped: k restarts it").wait_for(timeout=30_000)
        deck.page.get_by_role("button", name="Ok", exact=True).click()  # JupyterLab says so, too
    else:
        running.get_by_text("Running: 0 of 1").wait_for(timeout=30_000)
    write_code(deck, "shuffled = torch.randperm(pairs)")
    deck.press("Escape")
    deck.press("k")
    deck.press("k")  # by nerves
    deck.page.wait_for_function(f"{PRESENTER}.runner.waiting > 1", timeout=30_000)
    deck.wait_until_run()
    assert deck.ask("runner.waiting") == 0
    assert running.inner_text() == ""
    deck.show(place)
    deck.play_presets(explorer, "after the restart")


def test_the_notes_are_in_a_window_of_their_own_that_turns_slides(deck):
    place = next(i for i, slide in enumerate(deck.slides()) if slide["notes"])
    deck.show(place)
    with deck.page.expect_popup() as opened:
        deck.page.keyboard.press("n")
    notes = opened.value
    ask = notes.get_by_text("Ask.").first
    ask.wait_for(state="visible", timeout=30_000)
    assert deck.page.locator(".cp-on").get_by_text("For the presenter").count() == 0
    title = notes.locator("#title").inner_text()
    assert title == deck.slides()[place]["title"]
    while deck.ask("place") == place:
        notes.keyboard.press("PageDown")
    assert notes.locator("#title").inner_text() == deck.slides()[place + 1]["title"]
    notes.get_by_role("button", name="Back").click()
    assert deck.ask("place") == place
    notes.keyboard.press("ArrowRight")  # the button has the focus, and no use for it
    assert deck.ask("place") == place + 1 or deck.ask("step") > 0


def test_the_notes_survive_a_reload_and_turn_nothing_once_the_slides_are_left(deck):
    with deck.page.expect_popup() as opened:
        deck.page.keyboard.press("n")
    notes = opened.value
    title = notes.locator("#title")
    title.wait_for()
    notes.reload()
    deck.show(2)
    assert title.inner_text() == deck.slides()[2]["title"]
    notes.keyboard.press("o")
    notes.keyboard.press("?")
    assert deck.page.locator("dialog[open]").count() == 1
    deck.press("Escape")
    deck.press("Escape")
    assert not deck.ask("active")
    notes.get_by_role("button", name="On").click()
    notes.keyboard.press("PageDown")
    assert (deck.ask("place"), deck.page.locator(".cp-on").count()) == (2, 0)


def test_the_notes_show_the_next_slide_as_the_room_will_see_it(deck):
    place, _ = deck.explorers()[0]
    deck.show(place - 1)
    with deck.page.expect_popup() as opened:
        deck.page.keyboard.press("n")
    copy = opened.value.frame_locator("#preview iframe")
    copy.locator(".cp-on .ce svg").first.wait_for(timeout=30_000)
    assert copy.locator(".cp-on").count() == len(deck.slides()[place]["ids"])
    assert deck.page.locator(".cp-aside").count() == 0
    deck.show(place)  # now that of the answer, with what it is about, and its formulas
    copy.locator(".cp-on mjx-container").first.wait_for(timeout=30_000)
    assert copy.locator(".cp-on.cp-about .ce").count() == 1
    formula = "node => getComputedStyle(node.querySelector('mjx-c'), '::before').content"
    assert copy.locator("mjx-container").first.evaluate(formula) not in ("none", "normal")
    deck.show(len(deck.slides()) - 1)
    assert opened.value.locator("#preview").is_hidden()


def test_the_short_path_leaves_out_what_is_not_for_class(deck):
    planned = [place for place, slide in enumerate(deck.slides()) if slide["inClass"]]
    assert 10 < len(planned) < len(deck.slides()) - 10
    deck.press("s")
    deck.press("End")
    walked = [deck.ask("place")]
    while walked[-1] != planned[0]:
        deck.press("PageUp")
        if deck.ask("place") != walked[-1]:
            walked.append(deck.ask("place"))
    assert walked[::-1] == planned
    later = next(place for place in range(len(deck.slides())) if place not in planned)
    deck.press("o")
    grey = deck.page.locator(".cp-dialog li .cp-later")
    assert grey.count() == len(deck.slides()) - len(planned)
    grey.first.click()
    assert deck.ask("place") == later
    deck.show(later)
    deck.press("PageDown")
    assert deck.ask("place") == min(place for place in planned if place > later)
    deck.press("s")
    deck.show(later - 1)
    deck.press("PageDown")
    assert deck.ask("place") == later


def test_every_slide_can_be_chosen_from_the_list_by_mouse_and_keyboard(deck):
    count = len(deck.slides())
    heard = deck.page.get_by_role("status").get_by_text(f"{deck.slides()[5]['title']}, 6 / {count}")
    assert heard.count() == 0
    deck.page.get_by_role("button", name="All slides (o)").click()
    entries = deck.page.locator(".cp-dialog li button")
    assert entries.count() == count
    entries.nth(4).click()
    assert deck.ask("place") == 4
    deck.press("o")
    deck.press("ArrowDown")
    deck.press("Enter")
    assert deck.ask("place") == 5
    assert heard.count() == 1
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
    begun = deck.ask("begun")
    deck.open(stage, FIRST.name)
    assert (deck.ask("place"), deck.ask("begun")) == (4, begun)

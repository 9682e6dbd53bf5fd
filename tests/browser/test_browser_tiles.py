"""Tile by tile in a browser: click, drag, keys; it plays, and stops by itself."""

import pytest

from tests.browser.support_explorer import drag, middle, preset, press, value, words

pytestmark = pytest.mark.browser

NAME = "explore_tile_by_tile"
GRID, PLAY, RAIL = ".tiles-touch", ".tiles-play", ".tiles-player > input"
MOVING = "document.querySelector('.tiles').getAnimations({ subtree: true }).length"


def in_grid(tab, across, down):
    """A point of the grid, as shares of its width and height."""
    box = tab.locator(GRID).bounding_box()
    return box["x"] + across * box["width"], box["y"] + down * box["height"]


def test_a_click_shows_its_tile_and_a_drag_follows(open_explorer):
    tab = open_explorer(NAME)
    tab.mouse.click(*in_grid(tab, 0.9, 0.1))
    assert words(tab).startswith("Tile 4 of 12: queries 0–3, keys 9–11.")
    tab.mouse.move(*in_grid(tab, 0.1, 0.1))
    tab.mouse.down()
    tab.mouse.move(*in_grid(tab, 0.4, 0.9), steps=5)
    assert words(tab).startswith("Tile 10 of 12: queries 8–11, keys 3–5.")
    tab.mouse.up()


def test_a_click_on_a_skipped_tile_shows_the_last_one_before_it(open_explorer):
    tab = open_explorer(NAME)
    tab.get_by_label("causal").check()
    words(tab)  # the frame after it
    assert tab.locator(".tiles-skipped text").count() == 3
    tab.mouse.click(*in_grid(tab, 0.9, 0.5))
    assert words(tab).startswith("Tile 5 of 9: queries 4–7, keys 6–7.")


def test_arrow_keys_step(open_explorer):
    tab = open_explorer(NAME)
    for key, tile in (("ArrowRight", 7), ("ArrowLeft", 6), ("End", 12), ("Home", 1)):
        assert press(tab, GRID, key).startswith(f"Tile {tile} of 12")
        assert value(tab, GRID) == tile
    assert press(tab, RAIL, "ArrowRight").startswith("Tile 2 of 12")


def test_scrubbing_and_a_larger_tile(open_explorer):
    tab = open_explorer(NAME)
    assert drag(tab, RAIL, (400, 0)).startswith("Tile 12 of 12")
    tab.get_by_label("queries in a tile").press("ArrowRight")
    assert words(tab).startswith("Tile 8 of 8") and "(naive total: 2,688)" in words(tab)


def test_it_plays_to_the_end_and_stops(open_explorer):
    tab = open_explorer(NAME)
    tab.mouse.click(*in_grid(tab, 0.6, 0.9))
    tab.locator(PLAY).click()
    assert words(tab).startswith("Tile 12 of 12") and tab.evaluate(MOVING) > 0
    assert tab.locator(PLAY).inner_text() == "Play"
    tab.locator(PLAY).click()
    assert words(tab).startswith("Tile 1 of 12")
    assert tab.locator(PLAY).inner_text() == "Pause"
    tab.wait_for_function("document.querySelector('.ce-caption').innerText.includes('Tile 2 of')")
    preset(tab, "last tile")
    assert tab.locator(PLAY).inner_text() == "Play", "who takes it in hand stops it"


def test_with_less_motion_it_steps(open_explorer):
    tab = open_explorer(NAME, reduced_motion="reduce")
    tab.locator(PLAY).click()
    assert words(tab).startswith("Tile 7 of 12") and tab.evaluate(MOVING) == 0


def test_pointing_at_a_score_lights_what_it_is_made_of(open_explorer):
    tab = open_explorer(NAME)
    tab.mouse.move(*middle(tab, ".tiles-scores .tiles-cell:nth-child(5)"))
    lit = {kind: tab.locator(f".tiles-{kind} .tiles-lit").count() for kind in ("q", "k", "v")}
    assert lit == {"q": 2, "k": 2, "v": 2}

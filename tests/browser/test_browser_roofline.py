"""The roofline in a browser: points and a tile dragged by the pointer, stepped by keys."""

import pytest

from tests.browser.support_explorer import drag, middle, preset, press, words

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAME, CORNER = "explore_roofline", ".roof-corner"


def point(way):
    return f".roof-point.roof-way-{way}"


def says(tab, css):
    words(tab)
    return tab.locator(css).get_attribute("aria-valuetext")


@pytest.mark.parametrize(
    ("way", "before", "after"),
    [(0, "heads 64", "heads 16"), (1, "128 queries", "16 queries"), (2, "4,096", "1,024 tokens")],
)
def test_a_point_is_dragged_to_its_smallest_size(open_explorer, way, before, after):
    tab = open_explorer(NAME)
    assert says(tab, point(way)).startswith(before)
    at, said = middle(tab, point(way)), words(tab)
    drag(tab, point(way), (-250, 0 if way == 2 else 150))
    assert says(tab, point(way)).startswith(after)
    assert middle(tab, point(way))[0] < at[0] - 20
    assert words(tab) != said or way == 2, "more tokens change nothing on the level roof"


def test_keys_move_a_point_and_both_sides_of_the_tile(open_explorer):
    tab = open_explorer(NAME)
    press(tab, point(1), "ArrowRight")
    assert says(tab, point(1)).startswith("256 queries a tile: 24")
    press(tab, point(1), "Home")
    assert says(tab, CORNER) == "16 queries by 64 keys"
    press(tab, CORNER, "ArrowRight", "ArrowDown")
    assert says(tab, CORNER) == "32 queries by 128 keys"


def test_a_tile_is_dragged_until_it_does_not_fit(open_explorer):
    tab = open_explorer(NAME)
    bars = tab.locator(".roof-full")
    assert bars.count() == 0
    drag(tab, CORNER, (90, 60))
    assert says(tab, CORNER) == "256 queries by 256 keys"
    assert bars.count() == 1 and "does not fit" in words(tab)


def test_another_card_has_another_roof_and_decoding_a_point(open_explorer):
    tab = open_explorer(NAME)
    tab.get_by_role("radio", name="A100 SXM 80GB").check()
    words(tab)
    assert "tensor cores 312" in tab.locator(".roof").text_content()
    assert not tab.locator(point(3)).is_visible()
    preset(tab, "decoding")
    press(tab, point(3), "End")
    assert says(tab, point(3)).startswith("8 heads share keys: 8.0 FLOPs a byte")

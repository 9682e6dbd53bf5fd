"""Lecture 07 in a browser: what is dragged, chosen and played, by pointer, touch and key."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import EXPLORERS
from tests.browser.support_explorer import DARK, drag, middle, words
from tests.browser.support_page import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NAMES = ("explore_experts", "explore_shared_heads", "explore_ranks", "explore_depths")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The pages of the four explorers, as files."""
    folder = tmp_path_factory.mktemp("pages")
    found = {name: folder / f"{name}.html" for name in NAMES}
    for name, path in found.items():
        path.write_text(standalone_page(EXPLORERS[name]()), encoding="utf-8")
    return found


@pytest.fixture
def opened(browser, files):
    """Return a function that opens one of the pages; it fails on any error of the page."""
    contexts, failures = [], []

    def made(name, width=1000, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 760}, **options))
        tab = contexts[-1].new_page()
        tab.on("pageerror", lambda error: failures.append(str(error)))
        tab.goto(files[name].as_uri())
        return tab

    yield made
    for context in contexts:
        context.close()
    assert failures == []


def press(tab, css, *keys):
    tab.locator(css).first.focus()
    for key in keys:
        tab.keyboard.press(key)
    return words(tab)


def by_touch(tab, css, across, down=0):
    x, y = middle(tab, css)
    touch = tab.context.new_cdp_session(tab)

    def send(kind, *points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    send("touchStart", {"x": x, "y": y})
    for step in (1, 2, 3):
        send("touchMove", {"x": x + across * step / 3, "y": y + down * step / 3})
    send("touchEnd")
    return words(tab)


def test_a_training_is_scrubbed_and_plays(opened):
    tab = opened("explore_experts")
    drag(tab, ".moe-knob", (900, 20))
    assert words(tab).startswith("Step 3,000: ")
    assert press(tab, ".moe-scrub", "ArrowLeft").startswith("Step 2,800: ")
    assert press(tab, ".moe-scrub", "Home").startswith("Step 0: ")
    play = tab.locator(".moe-play")
    play.click()
    assert play.inner_text() == "Pause"
    wait_for(lambda: not words(tab).startswith(("Step 0", "Step 20:")), lambda: "it does not play")
    press(tab, ".moe-scrub", "End")
    assert play.inner_text() == "Play", "who takes it in hand stops it"


def test_bars_and_points_say_the_same(opened):
    tab = opened("explore_experts")
    tab.get_by_role("button", name="cured, the same room").click()
    lost = int(words(tab).split(" and ")[1].split()[0])
    assert tab.locator(".moe-crosses").get_attribute("d").count("M") == lost > 0
    dots = [each.get_attribute("d").count("M") for each in tab.locator(".moe-dots").all()]
    counts = [each.inner_text().split(",")[0] for each in tab.locator(".moe-row b").all()[1:]]
    assert [str(each) for each in dots] == counts
    tab.get_by_role("radio", name="nothing").first.click()
    assert tab.locator(".moe-crosses").get_attribute("d").count("M") != lost


def test_a_square_of_keys_and_values_is_dragged(opened):
    tab = opened("explore_shared_heads")
    drag(tab, ".gqa-row .gqa-pair:nth-child(2)", (55, 0))
    assert words(tab).startswith("32 query heads on 4 key/value heads")
    drag(tab, ".gqa-knob", (800, 0))
    assert "each with its own keys and values" in words(tab)
    assert "on 16 key/value heads" in press(tab, ".gqa-row", "ArrowLeft")
    assert "on 1 key/value head:" in press(tab, ".gqa-edge", "Home")
    shown = [each for each in tab.locator(".gqa-pair").all() if each.is_visible()]
    assert len(shown) == 1


def test_a_rank_is_dragged_in_three_places(opened):
    tab = opened("explore_ranks")
    drag(tab, "[aria-label=rank] .lora-knob", (-2, 0))
    assert words(tab).startswith("Rank 2 "), "it follows the hand from the first pixel"
    drag(tab, "[aria-label=rank] .lora-knob", (12, 0))
    assert words(tab).startswith("Rank 16 ")
    drag(tab, ".lora-edge:not([role]) .lora-knob", (0, 40))
    assert words(tab).startswith("Rank 64 ")
    drag(tab, "[aria-label='rank of the cut'] .lora-knob", (-900, 0))
    assert words(tab).startswith("Rank 1 ")
    assert press(tab, "[aria-label=rank]", "ArrowRight").startswith("Rank 2 ")
    tab.locator(".lora-grid button").nth(8).click()
    assert "(value, block 1)" in words(tab)
    tab.keyboard.press("ArrowDown")
    assert "(value, block 2)" in words(tab)


def test_the_words_follow_the_capacity(opened):
    tab = opened("explore_depths")
    for key, taken in (("ArrowLeft", 10), ("Home", 5), ("End", 40)):
        press(tab, ".mod-ring", key)
        assert tab.locator(".mod-token .mod-on").count() == 3 * taken
    drag(tab, ".mod-ring .mod-room", (-900, 0))
    assert words(tab).startswith("Each block takes 5 of 40")
    tab.get_by_role("radio", name="predictor").click()
    assert words(tab).startswith("Each block takes 0 of 40 tokens; 40 skip all three.")
    tab.locator(".mod-token").nth(3).hover()
    told = tab.locator(".mod-told").inner_text()
    assert told == tab.locator(".mod-token").nth(3).get_attribute("aria-label")


@pytest.mark.parametrize(
    ("name", "css", "across", "said"),
    [
        ("explore_experts", ".moe-knob", 320, "Step 3,000"),
        ("explore_shared_heads", ".gqa-knob", 300, "each with its own"),
        ("explore_ranks", "[aria-label='rank of the cut'] .lora-knob", -300, "Rank 1 "),
        ("explore_depths", ".mod-ring .mod-room", -300, "takes 5 of 40"),
    ],
)
def test_each_is_dragged_by_touch(opened, name, css, across, said):
    tab = opened(name, width=360, has_touch=True, is_mobile=True)
    tab.locator(css).scroll_into_view_if_needed()
    before = tab.evaluate("scrollY")
    assert said in by_touch(tab, css, across)
    assert tab.evaluate("scrollY") == before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [360, 1000])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_and_axe_finds_nothing(opened, name, width, dark):
    tab = opened(name, width=width)
    if dark:
        tab.evaluate(DARK)
        tab.wait_for_selector(".ce[data-theme=dark]")
    for button in tab.locator(".ce-presets button").all():
        button.click()
        words(tab)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        if width >= 900:
            assert tab.locator(".ce").bounding_box()["height"] <= 640
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []

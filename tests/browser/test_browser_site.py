"""The site in a real browser: it stays at home, its sliders move without a kernel, all can read."""

import base64
import html
import io
import json
import re

import numpy as np
import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe
from PIL import Image

from course_utils.explorers.drawn import DrawnExplorer
from course_utils.lectures import COURSE, EXPLORERS
from tests.browser.support_page import is_home
from tests.browser.support_site import ROOT, build_site, open_page, pages, serious, served, shown
from tools.site.frames import MOST_BYTES

pytestmark = pytest.mark.browser
slow = pytest.mark.slow

LECTURES = [lecture.stem for lecture in COURSE]
AXE_MS = 300_000
PLAYERS = {
    lecture: re.findall(
        r"^\s*\"explorers\.(explore_\w+)\(\)\"$",
        (ROOT / "notebooks" / f"{lecture}.ipynb").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    for lecture in LECTURES
}


@pytest.fixture(scope="module")
def built():
    """The folder of the pages, and what the build said."""
    return build_site()


@pytest.fixture(scope="module")
def site(built):
    """The address of the served site."""
    with served(built[0]) as address:
        yield address


@pytest.fixture(scope="module")
def folder(built):
    return built[0]


@pytest.fixture
def without_scripts(browser):
    """A tab with JavaScript off."""
    context = browser.new_context(
        java_script_enabled=False, viewport={"width": 1280, "height": 900}
    )
    yield context.new_page()
    context.close()


def lecture(site, name):
    return f"{site}lectures/{name}.html"


def test_the_build_says_how_large_the_site_is(built, folder):
    said = re.search(r"(\d+) pages, ([\d.]+) MB in all", built[1])
    assert int(said[1]) == len(pages(folder))
    held = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert float(said[2]) == pytest.approx(held / 1e6, abs=0.1)


def test_every_lecture_and_every_explorer_is_there(folder):
    names = [name for found in PLAYERS.values() for name in found]
    assert sorted(names) == sorted(EXPLORERS)
    for name in LECTURES:
        page = (folder / "lectures" / f"{name}.html").read_text(encoding="utf-8")
        shown = page.count('class="course-player"') + page.count('class="course-live"')
        assert shown == len(PLAYERS[name]) > 0
    for name in (name for name, made in EXPLORERS.items() if issubclass(made, DrawnExplorer)):
        files = list((folder / "frames" / name).iterdir())
        assert len(files) > 1 and sum(path.stat().st_size for path in files) <= MOST_BYTES


def test_a_table_that_a_cell_shows_is_a_table(folder):
    page = (folder / "lectures" / "00_start_here.html").read_text(encoding="utf-8")
    shown = page.split("axis_table", 2)[2].split('<div class="cell ')[0]
    assert "<th" in shown and shown.count("<tr") > 5 and "| axis |" not in page


# Explorers of the browser are live on their page and have no frames.
LIVE = {each.title for each in EXPLORERS.values() if not issubclass(each, DrawnExplorer)}


def test_a_player_starts_with_the_picture_of_the_lecture(folder):
    """Frames come from the explorer that drew the committed output, on whichever machine."""
    compared = 0
    for name in LECTURES:
        notebook = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
        page = (folder / "lectures" / f"{name}.html").read_text(encoding="utf-8")
        first = re.findall(
            r'class="player-picture" src="\.\./(frames/[^"]+)" [^>]*alt="([^"]*)"', page
        )
        drawn = [data for data in explorer_outputs(notebook) if title(data) not in LIVE]
        for (path, words), data in zip(first, drawn, strict=True):
            title_and_words = "".join(data["text/plain"])
            assert title_and_words.endswith(f"\n{html.unescape(words)}")
            committed = base64.b64decode("".join(data["image/png"]))
            change = np.abs(pixels(folder / path) - pixels(io.BytesIO(committed)))
            # Sums in another order move the edge of a line by less than can be seen.
            assert (change.max(axis=2) > 16).mean() < 0.01, path
            compared += 1
    assert compared == len(EXPLORERS) - len(LIVE)


def title(data):
    """The first line of what an explorer says."""
    return "".join(data["text/plain"]).partition("\n")[0]


def explorer_outputs(notebook):
    """What the explorers of a lecture show, as committed."""
    return [
        output["data"]
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if "image/png" in output.get("data", {})
        and not "".join(output["data"]["text/plain"]).startswith("figure: ")
    ]


def pixels(file):
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


@slow
def test_every_page_can_be_read_by_all_and_asks_no_other_machine(browser, site, folder):
    # Without motion, for a colour that is still changing has any contrast.
    context = browser.new_context(color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(AXE_MS)
    tab, asked, found = context.new_page(), [], []
    tab.on("request", lambda sent: asked.append(sent.url))
    for page in pages(folder):
        open_page(tab, site + page)
        # Axe looks at what is seen: hints and answers as well.
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        found += [f"{page}: {each}" for each in faults(tab)]
        tab.evaluate("document.documentElement.dataset.theme = 'dark'")
        # In the dark only colours differ.
        dark = faults(tab, runOnly=["color-contrast"])
        found += [f"{page}, dark: {each}" for each in dark]
    context.close()
    assert found == []
    assert [url for url in asked if not is_home(url)] == []


def faults(tab, **options):
    """The serious violations on a page, as axe finds them."""
    options = {"resultTypes": ["violations"], **options}
    return serious(Axe().run(tab, options=options).response["violations"])


@slow
@pytest.mark.parametrize("tab", [(360, 740)], indirect=True)
def test_no_page_is_wider_than_a_telephone(tab, site, folder):
    wide = []
    for page in pages(folder):
        open_page(tab, site + page)
        width = tab.evaluate("document.documentElement.scrollWidth")
        wide += [f"{page}: {width}"] if width > 360 else []
    assert wide == []


# One page each time; all before a release.
@pytest.mark.parametrize(
    "name", [LECTURES[4], *(pytest.param(n, marks=slow) for n in LECTURES if n != LECTURES[4])]
)
def test_players_move_by_keyboard(tab, site, name):
    asked = []
    tab.on("request", lambda sent: asked.append(sent.url))
    open_page(tab, lecture(site, name))
    players = tab.locator("figure.course-player")
    for number in range(players.count()):
        moves_by_keyboard(tab, players.nth(number))
    frames = [url for url in asked if "/frames/" in url]
    # A first picture that is still on its way is given up for the next, and asked for again.
    assert len(frames) - len(set(frames)) <= players.count(), "frames were asked for twice"


def moves_by_keyboard(tab, player):
    controls = json.loads(player.locator("script").text_content())["controls"]
    axis = [control["form"] for control in controls].index("slider")

    def at(stop):
        return [stop if i == axis else None for i in range(len(controls))]

    slider = player.locator("input[type=range]").first
    slider.focus()
    tab.keyboard.press("Home")
    wait_until_shown(tab, player, at(0))
    seen = [shown(player)]
    for _ in range(2):
        before = slider.get_attribute("aria-valuetext")
        tab.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") != before
        wait_until_shown(tab, player, at(len(seen)))
        seen.append(shown(player))
    assert all(each["alt"] == each["caption"] != "" for each in seen)
    assert len({each["caption"] for each in seen}) > 1, "the words do not follow"
    assert len({each["source"] for each in seen}) > 1, "the picture does not follow"
    label = player.locator(f"label[for='{slider.get_attribute('id')}']")
    assert len(label.inner_text()) > 3
    tab.keyboard.press("End")
    wait_until_shown(tab, player, at(-1))
    presses_scenes(tab, player)
    slider.press("Home")
    slider.press("End")
    wait_until_shown(tab, player, at(-1))
    assert said_of_scene(player) == "", "the slider has left the scene"


def presses_scenes(tab, player):
    page = json.loads(player.locator("script").text_content())
    for scene in page["scenes"]:
        button = player.get_by_role("button", name=scene["label"], exact=True)
        button.focus()
        tab.keyboard.press("Enter")
        wait_until_shown(tab, player, scene["at"], frame=scene["frame"])
        said = said_of_scene(player)
        assert bool(said) == bool(scene["also"]) and all(each in said for each in scene["also"])


def said_of_scene(player):
    """What a scene says of the controls that only the notebook has."""
    return player.locator(".player-note[aria-live]").text_content()


def wait_until_shown(tab, player, at, *, frame=None):
    """Wait for the frame at these stops, or a scene's own; None is where the control stands."""
    tab.wait_for_function(
        """([figure, at, frame]) => {
            const page = JSON.parse(figure.querySelector('script').textContent);
            const movers = [...figure.querySelectorAll('input, select')];
            const stops = movers.map((mover, i) => {
                const wanted = at[i] ?? null;
                const last = page.controls[i].texts.length - 1;
                return wanted === null ? Number(mover.value) : wanted < 0 ? last : wanted;
            });
            const index = frame ?? stops.reduce((sum, stop, i) =>
                sum * page.controls[i].texts.length + stop, 0);
            const image = figure.querySelector('img');
            return movers.every((mover, i) => Number(mover.value) === stops[i])
                && image.complete && image.src.endsWith(page.frames[index][0])
                && figure.querySelector('figcaption').innerText.trim() === page.frames[index][1];
        }""",
        arg=[player.element_handle(), at, frame],
        timeout=30_000,
    )


@slow
def test_pictures_are_fetched_only_when_needed(tab, site):
    asked = []
    tab.on("request", lambda sent: asked.append(sent.url))
    open_page(tab, lecture(site, "01_scaling"))
    assert [url for url in asked if "/frames/" in url] == [], "nobody has scrolled to it"
    player = tab.locator("figure.course-player").first
    player.scroll_into_view_if_needed()
    wait_until_shown(tab, player, [None, None])
    tab.wait_for_load_state("networkidle")
    frames = json.loads(player.locator("script").text_content())["frames"]
    # The one that is shown, and one step each way of two controls.
    assert 1 < len({url for url in asked if "/frames/explore_score" in url}) <= 5 < len(frames)


@slow
def test_a_picture_that_is_gone_is_said(tab, site):
    tab.route("**/frames/explore_random_cosines/*", lambda route: route.abort())
    open_page(tab, lecture(site, "01_scaling"))
    player = tab.locator("figure.course-player").nth(1)
    player.locator("input").focus()
    tab.keyboard.press("Home")
    said = player.get_by_text("This picture did not load.")
    said.wait_for(timeout=30_000)
    assert said.is_visible()


@slow
def test_without_javascript_the_page_reads(without_scripts, site):
    open_page(without_scripts, lecture(site, "01_scaling"))
    player = without_scripts.locator("figure.course-player").first
    assert player.locator("img").get_attribute("alt") == player.locator("figcaption").inner_text()
    assert player.locator("figcaption").is_visible()
    assert without_scripts.locator("article").locator("input, select, button").count() == 0
    formula = without_scripts.locator("math").first.bounding_box()
    assert formula["width"] > 5 and formula["height"] > 5
    solution = without_scripts.locator("details", has_text="Solution").first
    assert not solution.locator("math, pre").first.is_visible()
    solution.locator("summary").click()
    assert solution.locator("math").first.is_visible() and solution.locator("pre").is_visible()


@slow
def test_on_paper_everything_is_open(tab, site):
    open_page(tab, lecture(site, "01_scaling"))
    panel = tab.locator(".player-panel").first
    solution = tab.locator("details", has_text="Solution").locator("pre").first
    assert panel.is_visible() and not solution.is_visible()
    theme = "document.documentElement.dataset.theme"
    tab.evaluate(f"{theme} = 'dark'")
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert solution.is_visible() and not panel.is_visible()
    assert not tab.locator(".bd-sidebar-primary").is_visible()
    assert tab.evaluate(theme) == "light", "pale letters on white paper"
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    assert tab.evaluate(theme) == "dark"
    tab.emulate_media(media="screen")
    assert not solution.is_visible()


def test_notes_are_not_for_readers(folder):
    for path in (folder / "lectures").glob("*.html"):
        assert "<summary>For the presenter" not in path.read_text(encoding="utf-8"), path.name


@slow
def test_search_finds_a_lecture(tab, site):
    open_page(tab, f"{site}search.html?q=logit")
    found = tab.locator("#search-results a", has_text="06 ·").first
    found.wait_for(timeout=30_000)
    assert "06_gpt2_block" in found.get_attribute("href")


@slow
def test_the_keyboard_reaches_the_text_at_once(tab, site):
    open_page(tab, lecture(site, "01_scaling"))
    tab.keyboard.press("Tab")
    link = tab.evaluate("document.activeElement.innerText + ' ' + document.activeElement.href")
    assert "main content" in link and "#main-content" in link


FORMULAS = {
    "a letter without braces": (r"\mathbb E[x]", "𝔼"),
    "aligned": (r"\begin{aligned} x &= 1 && \text{so} \\ y &= 2 \end{aligned}", "mtable"),
    "cases": (r"\begin{cases} 0 & s \le t \\ -\infty & s > t \end{cases}", "mtable"),
    "underbrace": (r"\underbrace{a + b}_{\text{both}}", "munder"),
    "boxed": (r"\boxed{x}", "menclose"),
    "a name": (r"\operatorname{softmax}(x)", "softmax"),
}


@pytest.mark.parametrize("what", FORMULAS)
def test_formulas_are_translated(what):
    from tools.site.mathematics import to_mathml

    tex, part = FORMULAS[what]
    (translated,) = to_mathml([(tex, True)])
    assert translated.startswith("<math") and part in translated


def test_names_of_functions_keep_their_distance():
    from tools.site.mathematics import to_mathml

    beside, bracket = to_mathml([(r"x \sin a", False), (r"\sin(a)", False)])
    assert beside.count("<mspace") == 2 and "<mspace" not in bracket


def test_what_is_no_formula_ends_the_build():
    from tools.site.mathematics import to_mathml

    with pytest.raises(ValueError, match=r"TeX that pandoc can read; got '\\\\frac\{1'"):
        to_mathml([("x", False), (r"\frac{1", False)])

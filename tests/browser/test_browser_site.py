"""The site in a real browser: it stays at home, its sliders move without a kernel, all can read."""

import re

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from lectures import COURSE, EXPLORERS, find_lecture
from tests.browser.support_explorer import PAINTED
from tests.browser.support_page import is_home, wait_for
from tests.browser.support_site import (
    BEYOND,
    FIRST_TOPS,
    OPEN_FOLDS,
    ROOM,
    ROOT,
    build_site,
    click_in_contents,
    headings,
    missed,
    pages,
    read_to_the_end,
    serious,
    served,
    settle,
    shifts,
    slow_down,
    visit,
)
from tools.editions.pictures import CARD

pytestmark = pytest.mark.browser
slow = pytest.mark.slow

LECTURES = [lecture.stem for lecture in COURSE]
AXE_MS = 300_000
PAPER = {"width": 794, "height": 1123}  # A4
SCREEN, PHONE = {"width": 1280, "height": 720}, {"width": 360, "height": 740}
# A page before its pictures move; weights of a model, loaded when first needed; a figure.
MOST_BYTES = {".html": 400_000, ".js": 1_300_000, ".webp": 100_000, ".woff": 100_000}
SHOWN = {
    lecture: re.findall(
        r"^\s*\"explorers\.(explore_\w+)\(\w*\)\"$",
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


def lecture(site, name):
    return f"{site}lectures/{name}.html"


def test_every_lecture_and_every_explorer_is_there(folder):
    names = [name for found in SHOWN.values() for name in found]
    assert {*names} == {*EXPLORERS}  # 08 shows one twice
    for name in LECTURES:
        page = (folder / "lectures" / f"{name}.html").read_text(encoding="utf-8")
        assert page.count('class="course-live"') == len(SHOWN[name]) > 0


@slow
def test_it_is_small(folder):
    # A bound for each file: the sum grows with each lecture, and nobody loads it.
    files = [path for path in folder.rglob("*") if path.is_file()]
    for path in files:
        assert path.stat().st_size < MOST_BYTES.get(path.suffix, 100_000), path.name
    # Nothing is sent under two names.
    assert len({path.read_bytes() for path in files}) == len(files)
    assert not list(folder.rglob("*awesome*"))


@slow
def test_every_page_can_be_read_by_all_and_on_a_phone_and_stays_at_home(browser, site, folder):
    # Without motion, for a colour that is still changing has any contrast.
    context = browser.new_context(color_scheme="light", reduced_motion="reduce", viewport=SCREEN)
    context.set_default_timeout(AXE_MS)
    tab, asked, found = context.new_page(), [], []
    tab.on("request", lambda sent: asked.append(sent.url))
    for page in pages(folder):
        visit(tab, site + page)
        # Axe looks at what is seen: hints and answers as well.
        tab.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
        tab.evaluate(PAINTED)
        found += [f"{page}: {each}" for each in faults(tab)]
        tab.evaluate("document.body.dataset.theme = 'dark'")
        tab.evaluate(PAINTED)
        # In the dark only colours differ.
        dark = faults(tab, runOnly=["color-contrast"])
        found += [f"{page}, dark: {each}" for each in dark]
        tab.set_viewport_size(PHONE)
        width = tab.evaluate("document.documentElement.scrollWidth")
        found += [f"{page} is {width} px wide on a phone"] if width > PHONE["width"] else []
        tab.set_viewport_size(SCREEN)
    context.close()
    assert found == []
    assert [url for url in asked if not is_home(url)] == []


def faults(tab, **options):
    """The serious violations on a page, as axe finds them."""
    options = {"resultTypes": ["violations"], **options}
    return serious(Axe().run(tab, options=options).response["violations"])


# One page each time; all before a release.
@pytest.mark.parametrize(
    "name", [LECTURES[4], *(pytest.param(n, marks=slow) for n in LECTURES if n != LECTURES[4])]
)
def test_explorers_move_without_a_kernel(tab, site, name):
    failures = []
    tab.on("pageerror", lambda error: failures.append(str(error)))
    visit(tab, lecture(site, name))
    for box in tab.locator(".course-live").all():
        box.scroll_into_view_if_needed()
        box.locator(".ce").wait_for()
        moves_by_key(tab, box)
    assert failures == []


def moves_by_key(tab, box):
    """Press presets one after another: the words follow."""
    seen = set()
    for button in box.locator(".ce-presets button").all():
        button.focus()
        tab.keyboard.press("Enter")
        tab.evaluate(PAINTED)
        seen.add(box.locator(".ce-caption").inner_text())
    assert len(seen) > 1


def test_the_same_from_a_disk(tab, folder):
    tab.goto((folder / "lectures" / f"{LECTURES[4]}.html").as_uri())
    box = tab.locator(".course-live").first
    box.scroll_into_view_if_needed()
    box.locator(".ce").wait_for()
    moves_by_key(tab, box)


def test_an_explorer_is_loaded_when_it_comes_near(tab, site):
    asked = []
    tab.on("request", lambda sent: asked.append(sent.url))
    visit(tab, lecture(site, LECTURES[4]))
    near, *_, far = tab.locator(".course-live").all()
    near.locator(".ce").wait_for()
    view, given = (far.get_attribute(name) for name in ("data-view", "data-given"))
    wanted = [view, given.split()[-1]]  # several may be given the same, nothing

    def times(name):
        return sum(url.endswith(f"/live/{name}.js") for url in asked)

    assert [times(name) for name in wanted] == [0, 0], "nobody has scrolled to it"
    far.scroll_into_view_if_needed()
    far.locator(".ce").wait_for()
    assert [times(name) for name in wanted] == [1, 1]


def test_a_view_is_copied_and_sent(tab, site):
    visit(tab, lecture(site, LECTURES[4]))
    box = tab.locator(".course-live").nth(1)
    box.scroll_into_view_if_needed()
    box.locator(".ce").wait_for()
    before = box.locator(".ce-caption").inner_text()
    moves_by_key(tab, box)
    moved = box.locator(".ce-caption").inner_text()
    tab.wait_for_timeout(400)  # until the page has been told of the move
    box.get_by_role("button", name="copy a link to this view").click()
    assert moved != before
    other = tab.context.new_page()
    other.goto(tab.url)
    there = other.locator(".course-live").nth(1)
    there.locator(".ce-caption").get_by_text(moved).wait_for()
    assert there.bounding_box()["y"] < 700, "in sight"
    other.goto(f"{tab.url[:-9]}")  # cut off
    other.reload()
    other.locator(".course-live .ce").first.wait_for()
    other.close()


def missing(route):
    route.abort()


def damaged(route):
    sent = route.fetch()
    text = sent.text()
    route.fulfill(
        response=sent, body=f'{text[: len(text) // 2]}";' if "Data" in text[:30] else text
    )


@pytest.mark.parametrize("what", [missing, damaged])
def test_a_picture_that_does_not_load_stands_still_and_says_so(tab, site, what):
    tab.route(re.compile(r"/live/[0-9a-f]+\.js"), what)
    tab.goto(lecture(site, LECTURES[4]))
    box = tab.locator(".course-live").first
    box.scroll_into_view_if_needed()
    box.get_by_text("This picture did not load").wait_for()
    assert box.locator("img").first.is_visible()
    assert box.locator("figcaption").inner_text() != ""


def test_the_front_page_opens_with_a_picture_that_answers(tab, site):
    visit(tab, f"{site}index.html")
    explorer = tab.locator(".course-live .ce").first
    explorer.wait_for()
    assert explorer.bounding_box()["y"] < 900, "on the first screen"
    moves_by_key(tab, tab.locator(".course-live").first)
    cards = tab.locator(".course-card")
    assert cards.count() == len(COURSE)
    for card in cards.all():
        card.scroll_into_view_if_needed()
        (image,) = [each for each in card.locator("img").all() if each.is_visible()]
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") == CARD[0]


# What a link to a heading may miss it by, in pixels.
NEAR = 8
LINKS = {"wide": (1400, 900), "laptop": (1024, 768), "tablet": (820, 1100), "phone": (390, 844)}
# Where the theme changes its columns, and between.
WIDTHS = [360, 390, 480, 600, 735, 737, 768, 820, 900, 1007, 1009, 1024, 1071, 1073, 1180, 1280]
WIDTHS += [1311, 1313, 1366, 1400, 1439, 1441, 1500, 1551, 1553, 1600, 1760, 1920]
MOST_SHIFTED = 0.05


@pytest.fixture
def fresh(browser):
    """Return a function that gives a tab that knows nothing of the pages, in a window."""
    contexts = []

    def opened(size):
        width, height = LINKS[size]
        contexts.append(browser.new_context(viewport={"width": width, "height": height}))
        return contexts[-1].new_page()

    yield opened
    for context in contexts:
        context.close()


def misses(fresh, size, address, anchor):
    """Open a link to a heading, and click the same one in a page that was opened at its top."""
    found = []
    for way in ("link", "click"):
        tab = fresh(size)
        visit(tab, f"{address}#{anchor}" if way == "link" else address)
        if way == "click":
            click_in_contents(tab, anchor)
        settle(tab)
        away, answers = missed(tab, anchor), tab.evaluate(OPEN_FOLDS)
        if abs(away) > NEAR or answers:
            found.append(f"{size}, {way} #{anchor}: {away:.0f} px away, {answers} answers open")
        tab.context.close()
    return found


# The fourth heading from the end is below much that is drawn late.
@pytest.mark.parametrize("size, name", [("wide", LECTURES[6]), ("phone", LECTURES[3])])
def test_a_link_far_down_lands(fresh, site, size, name):
    tab = fresh(size)
    visit(tab, lecture(site, name))
    assert misses(fresh, size, lecture(site, name), headings(tab)[-4]) == []


def test_a_picture_that_is_half_drawn_takes_no_more_room(fresh, site):
    tab = fresh("wide")
    tab.add_init_script(ROOM)
    visit(tab, lecture(site, LECTURES[6]))
    settle(tab)
    assert [each for each in tab.evaluate("grown") if each[1] > NEAR] == []


# Where no heading moves, every link lands: one visit shows it of all of them.
@slow
@pytest.mark.parametrize("size", LINKS)
@pytest.mark.parametrize("name", LECTURES)
def test_no_heading_moves_once_the_page_is_there(fresh, site, name, size):
    tab = fresh(size)
    tab.add_init_script(FIRST_TOPS)
    visit(tab, lecture(site, name))
    first = tab.evaluate("firstTops")
    assert len(first) > 5
    read_to_the_end(tab)
    last = tab.evaluate("tops()")
    found = {anchor: last[anchor] - top for anchor, top in first.items()}
    assert {anchor: away for anchor, away in found.items() if abs(away) > NEAR} == {}


@slow
@pytest.mark.parametrize("size", ["wide", "phone"])
@pytest.mark.parametrize("name", LECTURES)
def test_nothing_moves_while_a_page_is_read(fresh, site, name, size):
    tab = fresh(size)
    slow_down(tab)
    moved = shifts(tab, lecture(site, name), screens=25)
    assert sum(value for value, _ in moved) <= MOST_SHIFTED, moved


def test_nothing_moves_while_a_page_opens_slowly(fresh, site):
    tab = fresh("laptop")
    slow_down(tab)
    moved = shifts(tab, f"{lecture(site, LECTURES[6])}#quiz", screens=1)
    assert sum(value for value, _ in moved) <= MOST_SHIFTED, moved


@pytest.mark.parametrize(
    "name", [LECTURES[6], *(pytest.param(n, marks=slow) for n in LECTURES if n != LECTURES[6])]
)
def test_a_page_is_never_wider_than_the_window(tab, site, name):
    visit(tab, lecture(site, name))
    found = []
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 800})
        settle(tab)
        found += [f"{width}: {each}" for each in tab.evaluate(BEYOND)]
    assert found == []


@pytest.mark.parametrize("name", [LECTURES[0], LECTURES[6]])
def test_the_first_screen_has_a_picture(tab, site, name):
    tab.set_viewport_size({"width": 1366, "height": 850})
    visit(tab, lecture(site, name))
    settle(tab)
    assert tab.locator(".course-live").first.bounding_box()["y"] < 750


def test_a_quiz_answers_to_mouse_and_key(tab, site):
    visit(tab, lecture(site, LECTURES[5]))
    quiz = find_lecture("05").module("exercises").QUIZ
    tab.locator(".course-asked[data-view='quiz.js']").scroll_into_view_if_needed()
    question = tab.locator(".quiz-question").first
    option, said = question.locator("button"), question.locator("[role=status]")
    right = quiz.questions[0].options.index(quiz.questions[0].answer)
    option.nth(right).click()
    wait_for(lambda: said.inner_text().startswith("Right."), said.inner_text)
    assert "1 of" in tab.locator(".quiz .ce-caption").inner_text()
    tab.keyboard.press(str(1 + (right == 0)))
    wait_for(lambda: said.inner_text().startswith("Not that one."), said.inner_text)
    assert option.nth(right).get_attribute("aria-pressed") == "false"


@slow
def test_without_javascript_the_page_reads(open_page, site):
    tab = open_page(lecture(site, "01_scaling"), java_script_enabled=False)
    box = tab.locator(".course-live").first
    assert box.locator("figcaption").is_visible() and box.locator("img").is_visible()
    assert tab.locator("article").locator("input, select, button").count() == 0
    formula = tab.locator("math").first.bounding_box()
    assert formula["width"] > 5 and formula["height"] > 5
    solution = tab.locator("details", has_text="Solution").first
    assert not solution.locator("math, pre").first.is_visible()
    solution.locator("summary").click()
    assert solution.locator("math").first.is_visible() and solution.locator("pre").is_visible()


@slow
def test_on_paper_everything_is_open(tab, site):
    visit(tab, lecture(site, "01_scaling"))
    solution = tab.locator("details", has_text="Solution").locator("pre").first
    assert not solution.is_visible()
    tab.set_viewport_size(PAPER)
    tab.emulate_media(media="print")
    assert solution.is_visible()
    sidebar = tab.locator(".sidebar-drawer").bounding_box()
    assert sidebar is None or sidebar["x"] + sidebar["width"] <= 0


def test_notes_are_not_for_readers(folder):
    for path in (folder / "lectures").glob("*.html"):
        assert "<summary>For the presenter" not in path.read_text(encoding="utf-8"), path.name


@slow
def test_search_finds_a_lecture(tab, site):
    visit(tab, f"{site}search.html?q=GELU")
    found = tab.locator("#search-results a", has_text="06 ·").first
    found.wait_for(timeout=30_000)
    assert "06_gpt2_block" in found.get_attribute("href")


@slow
def test_the_keyboard_reaches_the_text_at_once(tab, site):
    visit(tab, lecture(site, "01_scaling"))
    tab.keyboard.press("Tab")
    link = tab.evaluate("document.activeElement.innerText + ' ' + document.activeElement.href")
    assert "Skip to content" in link and "main-content" in link


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


def test_what_is_no_formula_ends_the_build():
    from tools.site.mathematics import to_mathml

    with pytest.raises(ValueError, match=r"TeX that pandoc can read; got '\\\\frac\{1'"):
        to_mathml([("x", False), (r"\frac{1", False)])

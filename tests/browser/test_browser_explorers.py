"""Every explorer on a page: keys, presets, both themes, a phone, what axe finds, no JavaScript."""

import pytest

pytest.importorskip("axe_playwright_python", reason="`make test-browser` brings it")

from axe_playwright_python.sync_playwright import Axe

from course_utils.explorers.page import standalone_page
from course_utils.lectures import COURSE

pytestmark = pytest.mark.browser

WIDE = 940
TALLEST = 640  # pixels: a small laptop's screen, less the lab's bars
NIGHT = {True: "#12161d", False: "white"}
CONTROLS = ".ce :is(input, select, [role=slider], [role=radio][aria-checked=true])"
KEYS = ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown")
PAINTED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
# What a reader can see: words, numbers, places, the pixels of canvases.
SEEN = """() => {
  const root = document.querySelector('.ce');
  const canvases = [...root.querySelectorAll('canvas')].map(each => each.toDataURL());
  return root.querySelector('.ce-stage').innerHTML
    + root.querySelector('.ce-caption').innerHTML + canvases;
}"""
CUT_OFF = """() => {
  const edge = document.querySelector('.ce').getBoundingClientRect();
  return [...document.querySelectorAll('.ce-stage :is(text, span, button), .ce :is(label, output)')]
    .filter(each => each.textContent.trim() && each.checkVisibility?.({ opacityProperty: true }))
    .filter(each => { const box = each.getBoundingClientRect();
      return box.width && (box.left < edge.left - 1 || box.right > edge.right + 1); })
    .map(each => each.textContent);
}"""


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(made, id=f"{lecture.number:02}-{name}")
        for lecture in COURSE
        for name, made in vars(lecture.module("explorers")).items()
        if name.startswith("explore_")
    ],
)
def explorer(request):
    return request.param()


@pytest.fixture(scope="module")
def tab(browser, explorer, tmp_path_factory):
    """Its page, opened from a disk, where it may load nothing; no error of the page is allowed."""
    path = tmp_path_factory.mktemp("page") / "explorer.html"
    path.write_text(standalone_page(explorer), encoding="utf-8")
    context = browser.new_context(
        viewport={"width": WIDE, "height": 700}, device_scale_factor=2, reduced_motion="reduce"
    )
    page, failures = context.new_page(), []
    page.on("pageerror", lambda error: failures.append(str(error)))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert failures == []


def settled(tab):
    """What is seen once the next frame has been drawn."""
    tab.evaluate(PAINTED)
    assert tab.locator(".ce-problem").inner_text() == ""
    return tab.evaluate(SEEN)


def paint(tab, dark):
    """Change the page's theme, as a reader does while the picture stands there."""
    tab.evaluate(f"document.body.style.background = '{NIGHT[dark]}'")
    tab.wait_for_selector(f".ce[data-theme={'dark' if dark else 'light'}]")
    tab.evaluate(PAINTED)


def test_every_control_answers_to_keys(tab):
    controls = [each for each in tab.locator(CONTROLS).all() if each.is_visible()]
    assert controls
    for control in controls:
        if control.get_attribute("aria-disabled") == "true" or control.is_disabled():
            continue
        name = control.get_attribute("aria-label") or control.get_attribute("id")
        before = settled(tab)
        if control.get_attribute("type") == "checkbox":
            control.press("Space")
        elif control.get_attribute("type") == "text":
            control.fill("another text")
        else:
            for key in KEYS:
                control.press(key)
                if settled(tab) != before:
                    break
        assert settled(tab) != before, f"{name} moves nothing"


def test_each_preset_shows_something_else_and_is_lit(tab):
    buttons, seen = tab.locator(".ce-presets button"), set()
    for button in buttons.all():
        button.click()
        seen.add(settled(tab))
        assert tab.locator(".ce-presets [aria-pressed=true]").all_inner_texts() == [
            button.inner_text()
        ]
    assert len(seen) == buttons.count() >= 3


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("width", [360, WIDE, pytest.param(1100, marks=pytest.mark.slow)])
def test_nothing_is_cut_off_at_any_preset(tab, width, dark):
    tab.set_viewport_size({"width": width, "height": 700})
    paint(tab, dark)
    for button in tab.locator(".ce-presets button").all():
        button.click()
        settled(tab)
        at = f"{width} px, {button.inner_text()}"
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, at
        assert tab.evaluate(CUT_OFF) == [], at
        if width >= 900:
            assert tab.locator(".ce").bounding_box()["height"] <= TALLEST, at
    tab.set_viewport_size({"width": WIDE, "height": 700})


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing(tab, dark):
    paint(tab, dark)
    found = Axe().run(tab, context=".ce").response["violations"]
    assert [(each["id"], each["nodes"][0]["html"][:150]) for each in found] == []


def test_without_javascript_the_caption_is_there(browser, explorer):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.set_content(standalone_page(explorer))
    assert " ".join(explorer.caption_text.split()) in " ".join(
        page.locator("body").inner_text().split()
    )
    context.close()

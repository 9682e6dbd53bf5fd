"""Every lecture in the real JupyterLab: as cloned, run, moved by keyboard, answered."""

import html
import re

import pytest

from lectures import COURSE
from tests.browser.support_lab import trust
from tests.browser.support_page import LecturePage, changed, is_home, seen, wait_for
from tests.lectures.support_notebooks import NOTEBOOKS, read, tags
from tools.editions.notebook_outputs import as_saved
from tools.notebook_file import lecture_file

pytestmark = pytest.mark.browser
slow = pytest.mark.slow

WIDTHS = (1280, 900)
QUICK = ("01",)  # runs in ten seconds; the rest weekly
# Text or a control beyond its box: what a reader cannot see without scrolling sideways.
CUT_OFF = """area => {
    const found = [];
    const edge = area.getBoundingClientRect().right + 1;
    const named = element => element.className + ' ' + (element.innerText ?? '').slice(0, 40);
    for (const output of area.querySelectorAll('.jp-OutputArea-output'))
        if (output.scrollWidth > output.clientWidth + 1) found.push('scrolls: ' + named(output));
    const parts = 'button, label, input, select, img, p, li';
    for (const part of area.querySelectorAll(parts)) {
        if (part.offsetParent === null) continue;
        if (part.getBoundingClientRect().right > edge) found.push('beyond: ' + named(part));
        if (part.matches('button, .widget-label')
            && part.scrollWidth > part.clientWidth + 1) found.push('cut: ' + named(part));
        if (part.matches('select')) {
            const pen = document.createElement('canvas').getContext('2d');
            const style = getComputedStyle(part);
            pen.font = `${style.fontSize} ${style.fontFamily}`;
            const room = part.clientWidth - ARROW_PX;
            // A long text may be cut where the list is as wide as the page allows.
            if (part.getBoundingClientRect().right >= edge - 40) continue;
            for (const {text} of part.options)
                if (pen.measureText(text).width > room) found.push('cut: ' + text);
        }
    }
    return found;
}""".replace("ARROW_PX", "24")


# A trusted notebook may show live widgets, so it is the one in which dead ones would appear.
@slow
@pytest.mark.parametrize(
    ("path", "trusted"),
    [(path, False) for path in NOTEBOOKS] + [(NOTEBOOKS[0], True)],
    ids=[path.stem for path in NOTEBOOKS] + ["trusted"],
)
def test_pictures_and_quiz_are_there_before_the_first_run(
    path, trusted, lab, private, open_notebook
):
    name = f"before_{'trusted' if trusted else 'untrusted'}_{path.name}"
    notebook = read(path)
    notebook.metadata["copy"] = name  # trust goes by content
    (lab.folder / name).write_bytes(as_saved(notebook))
    if trusted:
        trust(lab.folder / name, private)

    lecture = open_notebook(name)
    assert lecture.is_trusted() is trusted
    shown = [show_saved(lecture, number, cell) for number, cell in enumerate(lecture.cells())]
    assert sum(shown) >= 3
    assert lecture.broken_words() == []
    lecture.close()


def first_words(page):
    """The first three words that a piece of HTML shows."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page)).split()[:3]


def show_saved(lecture, number, cell):
    """Check that a reader sees the pictures and cards saved in a cell; return how many."""
    saved = [output["data"] for output in cell.get("outputs", []) if "data" in output]
    pictures = [data for data in saved if "image/png" in data]
    cards = [data for data in saved if "text/html" in data]
    if pictures:
        images = lecture.cell(number).locator(".jp-OutputArea img")
        images.first.wait_for(state="visible")
        assert images.count() == len(pictures), f"cell {number}"
        assert images.first.evaluate("image => image.decode().then(() => image.naturalWidth)")
    for data in cards:
        words = lecture.cell(number).locator(".jp-OutputArea").inner_text()
        for word in first_words(data["text/html"]):
            assert word in words, f"cell {number} shows {words[:200]!r}"
    return len(pictures) + len(cards)


# They compute for a minute or two each; `make test` runs their cells too.
LONG = [pytest.param(each, marks=slow) for each in COURSE if each.number not in QUICK]


@pytest.fixture(
    scope="module",
    params=[*(each for each in COURSE if each.number in QUICK), *LONG],
    ids=lambda lecture: lecture.stem,
)
def lecture(request, browser, lab):
    """A lecture after Run All, shared by the tests below."""
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900})
    page = context.new_page()
    asked, failures = [], []
    page.on("request", lambda sent: asked.append(sent.url))
    page.on("pageerror", lambda error: failures.append(str(error)))
    opened = LecturePage(page, lab, f"{request.param.stem}.ipynb").open()
    opened.run_all()
    opened.course, opened.asked, opened.failures = request.param, asked, failures
    yield opened
    opened.close()
    context.close()


@pytest.fixture
def explorers(lecture):
    """The lecture's explorers: place of the cell → element."""
    return lecture.find(".ce.course-explorer", lecture.code_cells())


def test_run_all_leaves_no_error_and_nothing_broken(lecture):
    for number, cell in enumerate(lecture.cells()):
        kinds = [output["output_type"] for output in cell.get("outputs", [])]
        streams = [output.get("name") for output in cell.get("outputs", [])]
        assert "error" not in kinds, f"cell {number}: {kinds}"
        assert "stderr" not in streams, f"cell {number}"
        assert cell["cell_type"] != "code" or cell["execution_count"], f"cell {number} did not run"
    assert lecture.broken_words() == []


def test_every_explorer_is_live_and_answers_to_keys(lecture, explorers):
    own = [name for name in vars(lecture.course.module("explorers")) if "explore_" in name]
    assert len(explorers) >= len(own)
    for place, explorer in explorers.items():
        lecture.cell(place)
        before = seen(explorer)
        assert len(before["caption"]) > 20 and before["error"] == "", f"cell {place}"
        for button in explorer.locator(".ce-presets button").all()[::-1]:
            if button.get_attribute("aria-pressed") != "true":
                button.press("Enter")
                before = changed(explorer, before, f"cell {place}, {button.inner_text()}")
                assert before["error"] == "", f"cell {place}"


@slow
def test_a_quiz_explains_each_choice_by_keyboard(lecture):
    quiz = lecture.course.module("exercises").QUIZ
    [box] = lecture.find(".ce.quiz", lecture.code_cells()).values()
    for asked, question in zip(box.locator(".quiz-question").all(), quiz.questions, strict=True):
        asked.locator("button").first.focus()
        said = asked.locator("[role=status]")
        for number, option in enumerate(question.options, start=1):
            lecture.page.keyboard.press(str(number))
            verdict = "Right." if option.correct else "Not that one."
            wait_for(lambda: said.inner_text().startswith(verdict), said.inner_text)  # noqa: B023
            assert len(said.inner_text()) > len(verdict) + 20, option.text
        lecture.page.keyboard.press("ArrowUp")
        assert asked.locator("button:focus").count() == 1


def stubs(path):
    """Return the exercises of a notebook: place of the stub, solution as published."""
    cells = read(path).cells
    for place, cell in enumerate(cells):
        if "exercise" in tags(cell):
            [solution] = re.findall(r"```python\n(.*?)```", cells[place + 3].source, re.S)
            yield place, solution.rstrip()


@slow
def test_an_exercise_can_be_solved(lecture):
    place, solution = next(stubs(lecture_file(lecture.course.stem)))
    lecture.cell(place + 1).get_by_text("Not started").first.wait_for(timeout=30_000)
    lecture.type_into(place, solution)
    assert lecture.cells()[place]["source"] == solution
    lecture.run_selected()
    lecture.run_selected()
    lecture.cell(place + 1).get_by_text("Passed").first.wait_for(timeout=30_000)


@slow
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_off(lecture, width):
    lecture.page.set_viewport_size({"width": width, "height": 900})
    found = []
    for place in lecture.code_cells():
        area = lecture.cell(place).locator(".jp-Cell-outputArea")
        if area.count():
            found += [f"cell {place}: {words}" for words in area.evaluate(CUT_OFF)]
    lecture.page.set_viewport_size({"width": WIDTHS[0], "height": 900})
    assert not found, "\n".join(found)


def test_the_page_kept_to_this_machine_and_threw_nothing(lecture):
    assert len(lecture.asked) > 20
    assert [url for url in lecture.asked if not is_home(url)] == []
    assert lecture.failures == []

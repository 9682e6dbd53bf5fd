"""The slides as pages: each of them whole, with its answers, nothing run; and as a PDF."""

import re
import subprocess
import sys

import pytest

from tests.browser.support_lab import ROOT
from tests.browser.support_page import OPEN_MS
from tools.notebook_file import lecture_file
from tools.presenting.slides import read_slides

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LECTURE = "04"  # it has formulas, code, figures, explorers, a quiz
PAGES = """() => [...document.querySelectorAll('.cp-print section')].map(page => {
    const stage = page.querySelector('.jp-WindowedPanel-outer');
    const frame = page.getBoundingClientRect();
    const parts = [...page.querySelectorAll('p, li, td, pre, img, .cm-line, footer')];
    const inside = box => box.right < frame.right + 1 && box.bottom < frame.bottom + 1;
    return {
        size: [frame.width, frame.height],
        cells: page.querySelectorAll('.jp-Cell:not(.cp-about)').length,
        covered: page.querySelectorAll('.cp-covered').length,
        cut: stage.scrollHeight > stage.clientHeight + 1
            || parts.some(part => part.checkVisibility() && !inside(part.getBoundingClientRect())),
        words: page.innerText,
    };
})"""


def test_every_slide_is_whole_on_its_page(browser, stage):
    path = lecture_file(LECTURE)
    slides = read_slides(path)
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.goto(f"{stage.url}doc/tree/{path.name}?print&token={stage.token}", timeout=OPEN_MS)
    page.wait_for_function("window.coursePages", timeout=4 * OPEN_MS)
    pages = page.evaluate(PAGES)
    assert [each["cells"] for each in pages] == [len(slide.ids) for slide in slides]
    for slide, each in zip(slides, pages, strict=True):
        said = {name: each[name] for name in ("size", "covered", "cut")}
        assert said == {"size": [1280, 720], "covered": 0, "cut": False}, slide
        assert f"{slide.number} / {len(slides)}" in each["words"]
        title = re.sub(r"\W", "", slide.title.removesuffix("(continued)").partition("$")[0])
        assert slide.title.endswith("(continued)") or title in re.sub(r"\W", "", each["words"])
    page.evaluate("window.coursePresenter.panel.sessionContext.shutdown()")
    page.close()


def test_the_command_saves_a_page_for_each_slide(tmp_path):
    out = tmp_path / "folder" / "slides.pdf"
    command = [sys.executable, "-m", "tools.presenting.pdf", LECTURE, "--out", str(out)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    count = len(read_slides(lecture_file(LECTURE)))
    assert (said.returncode, said.stdout.split()[0]) == (0, str(count)), said
    pages = re.findall(rb"/Type /Page\b[^s]", out.read_bytes())
    assert len(pages) == count
    wide, high = map(float, re.findall(rb"/MediaBox \[0 0 (\S+) (\S+)\]", out.read_bytes())[0])
    assert wide / high == pytest.approx(16 / 9, abs=0.01)

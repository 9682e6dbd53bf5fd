"""The site's pages before Sphinx sees them, and the check of what Sphinx has built.

What needs Sphinx and a browser is in tests/browser/test_browser_site.py.
"""

import base64
import io
import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from mdit_py_plugins.anchors.index import slugify
from PIL import Image

from lectures import COURSE, EXPLORERS, find_lecture
from tests.lectures.support_notebooks import markdown_cells, notebook_of, read
from tools.site import api as site_api
from tools.site import build as build_site
from tools.site import check as site_check
from tools.site import font as site_font
from tools.site.live import Live
from tools.site.notebooks import Pictures, links_to_run, page_source
from tools.site.predictions import questions_in
from tools.site.rooms import WIDTHS, with_rooms


def png(pixels):
    """An array of bytes as a PNG."""
    encoded = io.BytesIO()
    Image.fromarray(pixels).save(encoded, "PNG")
    return encoded.getvalue()


PNG = png(np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3))
WORDS = 'Weights < 1 & "growing"'


def parsed(page):
    return BeautifulSoup(page, "html.parser")


def cell(kind, source="", *, slide="-", outputs=()):
    made = {
        "id": "a-cell",
        "cell_type": kind,
        "source": source,
        "metadata": {"slideshow": {"slide_type": slide}},
    }
    return {**made, "outputs": list(outputs)} if kind == "code" else made


def shown(**data):
    return {"output_type": "display_data", "data": data, "metadata": {}}


def picture(text):
    data = {"image/png": base64.b64encode(PNG).decode(), "text/plain": text.splitlines(True)}
    on_page = {"width": 3, "height": 2, "alt": "Title Caption"}
    return {**shown(**data), "metadata": {"image/png": on_page}}


def html_outputs(page):
    return ["".join(out["data"]["text/html"]) for out in page["cells"][0]["outputs"]]


@pytest.fixture
def pictures(tmp_path):
    return Pictures(tmp_path / "figures")


@pytest.fixture
def converted(pictures):
    """Return a function that makes a page of cells."""
    return lambda *cells: page_source(
        {"cells": list(cells)}, lambda *shown: f"[{' '.join(shown)}]", pictures
    )


def test_notes_stay_with_the_presenter(converted):
    notes = cell("markdown", "For the presenter, 3 min", slide="notes")
    kept = [cell("markdown", "seen"), cell("markdown", "also", slide="skip"), cell("code", "x")]
    assert converted(kept[0], notes, *kept[1:])["cells"] == kept


def test_a_figure_carries_its_words_once(converted, pictures):
    caption = shown(**{"text/html": [f"<p>{WORDS}</p>"], "text/plain": WORDS})
    page = converted(cell("code", "show(...)", outputs=[picture(f"figure: {WORDS}"), caption]))
    (figure,) = html_outputs(page)
    read = parsed(figure)
    image = read.img
    assert image["alt"] == read.figcaption.text == WORDS
    assert (image["width"], image["height"]) == ("3", "2"), "half its pixels: sharp"
    (kept,) = pictures.folder.iterdir()
    assert image["src"] == f"../figures/{kept.name}"
    with Image.open(kept) as stored, Image.open(io.BytesIO(PNG)) as original:
        pixels = [np.asarray(each.convert("RGB")).astype(int) for each in (stored, original)]
        assert np.abs(pixels[0] - pixels[1]).max() <= 5, "32 levels of each colour"


def test_an_explorer_is_live_and_keeps_its_snapshot(converted, pictures):
    source = "explorers.explore_rope()"
    page = converted(cell("code", source, outputs=[picture("Title\nPreset")]))
    (figure,) = html_outputs(page)
    assert figure.startswith("[explore_rope <img") and figure.endswith("> Title Caption]")
    (kept,) = pictures.folder.iterdir()
    with Image.open(kept) as half, Image.open(io.BytesIO(PNG)) as whole:
        assert half.size == tuple(side // 2 for side in whole.size)


@pytest.mark.parametrize("source", ["plot()", "explore_rope(); explore_softmax()", "explore_rope"])
def test_a_picture_without_words_is_refused(converted, source):
    with pytest.raises(ValueError, match=r"^cell 'a-cell' shows a picture, so it must be a figure"):
        converted(cell("code", source, outputs=[picture("<Figure size 640x480>")]))


def test_what_a_prediction_asked_for_is_folded(converted):
    def printed(text):
        return {"output_type": "stream", "name": "stdout", "text": [text]}

    page = converted(
        cell("markdown", "**Predict.** How many?"),
        cell("code", 'exercises.predict("many")'),
        cell("code", "print(5)", outputs=[printed("5\n")]),
        cell("code", "check_close(5, 5)", outputs=[printed("agrees: 5\n")]),
        cell("code", "explorers.explore_rope()", outputs=[picture("Title\nPreset")]),
        cell("markdown", "It is 5."),
        cell("code", "print(6)", outputs=[printed("6\n")]),
    )
    tags = [each["metadata"].get("tags", []) for each in page["cells"]]
    assert tags == [[], [], ["hide-output"], ["hide-output"], ["hide-input"], [], []]
    assert page["cells"][5]["source"].startswith("<details>\n<summary>What came out</summary>")


def test_a_prediction_is_shown_in_place_of_its_code(pictures):
    asks = cell("code", 'exercises.predict("many")', outputs=[picture("Many?\nYour guess: 1?")])
    asked = lambda source: "[buttons]" if "predict" in source else ""  # noqa: E731
    page = page_source({"cells": [asks]}, lambda *_: "", pictures, asked)
    assert html_outputs(page) == ["[buttons]"]
    assert page["cells"][0]["metadata"]["tags"] == ["remove-input"]


def test_a_page_has_the_buttons_of_its_own_lecture():
    asked = questions_in(find_lecture("01").module("exercises"))
    first, second = asked('exercises.predict("typical-score")'), asked("exercises.guesses()")
    assert 'class="course-asked"' in first and "l01_scaling/typical-score" in first
    assert "l01_scaling/typical-score" in second and "What you guessed" in second
    assert asked('x = 1  # exercises.predict("typical-score")') == ""


@pytest.mark.parametrize(
    "source, folded",
    [
        ("import math\n\nSEED = 3  # or 7\ngenerator = torch.manual_seed(SEED)", True),
        ("# drag it\nexplorers.explore_rope()", True),
        ("show(figures.draw_levels('A100'))", True),
        ("import math\nprint(math.pi)", False),
        ("scores = q @ k.T\nshow(figures.draw_heads(scores))", False),
        ("%matplotlib inline", False),
    ],
)
def test_code_that_only_sets_up_is_folded(converted, source, folded):
    (page,) = converted(cell("code", source))["cells"]
    assert ("hide-input" in page["metadata"].get("tags", [])) == folded


def test_an_exercise_says_where_it_can_be_run(pictures):
    waiting = find_lecture("01").module("exercises").check_suspect(...)._repr_mimebundle_()
    page = page_source(
        {"cells": [cell("code", "exercises.check_suspect(f)", outputs=[shown(**waiting)])]},
        lambda *_: "",
        pictures,
        where=links_to_run("01_scaling.ipynb", "owner/name"),
    )
    (card,) = map(parsed, html_outputs(page))
    assert "Not started" in card.text and "run its cell" not in card.text
    to = [link["href"] for link in card.find_all("a")]
    assert len(to) == 3 and to[-1] == "../index.html#run-it" and "owner/name" in to[0]


def test_a_page_has_the_quiz_of_its_own_lecture():
    exercises = find_lecture("05").module("exercises")
    asked = parsed(questions_in(exercises)("exercises.QUIZ"))
    assert asked.find(class_="course-asked")["data-view"] == "quiz.js"
    told = json.loads(asked.script.string)
    assert told["spec"]["title"] == f"Quiz: {exercises.QUIZ.title}"
    assert all(
        question.prompt.split("`")[0] in asked.p.text for question in exercises.QUIZ.questions
    )


@pytest.mark.parametrize("lecture", COURSE, ids=lambda lecture: lecture.number)
def test_links_within_a_lecture_land(converted, lecture):
    cells = markdown_cells(read(notebook_of(lecture)))
    lines = [line for each in cells for line in each.source.splitlines()]
    landed = {slugify(line.lstrip("# ")) for line in lines if line.startswith("#")}
    text = "\n".join(each["source"] for each in converted(*cells)["cells"])
    links = re.findall(r"\]\(#([^ )]+)", text)
    assert [link for link in links if link not in landed] == []


def test_rooms_are_named_by_what_is_drawn_in_them(tmp_path):
    live, one, other = Live(tmp_path), EXPLORERS["explore_rope"], EXPLORERS["explore_masks"]
    drawn = [live.figure(each(), "") for each in (one, one, other)]
    names = [parsed(each).div["class"][1] for each in drawn]
    assert names[0] == names[1] != names[2]
    page = with_rooms(f"<head></head>{''.join(drawn)}", {names[0]: [700] * len(WIDTHS), "x": [1]})
    assert page.startswith(f"<head><style>.{names[0]}>*{{--room:700px}}</style></head>")
    assert with_rooms(drawn[0], {}) == drawn[0]


@pytest.mark.parametrize(
    "name, content, found",
    [
        ("a.html", '<script src="https://cdn.example/x.js"></script>', 1),
        ("a.html", '<link rel="stylesheet" href="//cdn.example/x.css">', 1),
        ("a.html", '<img srcset="a.png 1x, https://cdn.example/b.png 2x">', 1),
        ("a.html", '<a href="https://arxiv.example/1706.03762">a paper</a> <img src="b.png">', 0),
        ("a.html", "<pre>&lt;img src='https://cdn.example/x.png'&gt;</pre>", 0),
        ("deep/a.css", "@font-face {src: url('https://cdn.example/x.woff')}", 1),
        ("deep/a.css", "a {b: url(data:image/png;base64,AAAA) url(x.png)}", 0),
        ("a.js", 'e.src = "https://cdn.example/x.js"; fetch("//cdn.example/x")', 2),
        ("a.js", 'const see = "https://docs.example/why"', 0),
    ],
)
def test_loads_from_elsewhere_are_found(tmp_path, name, content, found):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(content)
    (tmp_path / "picture.webp").write_bytes(b"\xff")  # not text, and not read
    elsewhere = site_check.loaded_from_elsewhere(tmp_path)
    assert len(elsewhere) == found
    assert all(each.startswith(f"{name}: ") for each in elsewhere)


def test_an_explorer_is_three_scripts_and_its_words(tmp_path):
    live = Live(tmp_path / "live")
    explorer = EXPLORERS["explore_rope"]()
    read = parsed(live.figure(explorer, "<img src=a.webp>", "Far? 3 < 5."))
    assert read.noscript.img and read.figcaption.text == "Far? 3 < 5."
    assert not read.find_all(["input", "select", "button", "script"])
    names = {f"{name}.js" for at in ("data-view", "data-given") for name in read.figure[at].split()}
    assert {path.name for path in live.folder.iterdir()} == names
    live.figure(EXPLORERS["explore_rope"](m=3), "")
    assert len(list(live.folder.iterdir())) == 4, "one module, one model, other values"


def test_reference_has_every_shared_module(tmp_path):
    site_api.write_reference(tmp_path)
    pages = "".join(path.read_text() for path in tmp_path.glob("*.rst"))
    for path in (site_api.ROOT / "course_utils").rglob("*.py"):
        parts = path.relative_to(site_api.ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        own = name == "course_utils" or parts[1] in site_api.ENGINE
        assert (f".. automodule:: {name}\n" in pages) != own, name
    assert "\n   masks <masks>\n" in (tmp_path / "index.rst").read_text()


def test_the_font_can_set_every_formula(tmp_path):
    pytest.importorskip("ziamath", reason="the font comes with it, for `make site`")
    from fontTools.ttLib import TTFont

    signs = site_font.characters(["<math><msqrt><mi>d</mi></msqrt><mo>&sum;</mo></math>"])
    site_font.write_font(signs, tmp_path / "fonts" / "formulas.woff")
    font = TTFont(tmp_path / "fonts" / "formulas.woff")
    held = font.getBestCmap()
    assert {"√", "∑", "𝑑"} <= {chr(code) for code in held} and ord("∫") not in held
    with pytest.raises(RuntimeError, match=r"^STIX Two Math has no 茶$"):
        site_font.write_font({"x", "茶"}, tmp_path / "none.woff")


def test_a_folder_of_other_things_is_not_built_in(capsys, tmp_path):
    assert not build_site.holds_other_things(tmp_path / "new")
    assert not build_site.holds_other_things(tmp_path)
    (tmp_path / "thesis.md").write_text("mine")
    for out in (tmp_path, tmp_path / "thesis.md"):
        assert build_site.main(["--out", str(out)]) == 1
        assert f"or that of an earlier build; got {out}" in capsys.readouterr().err
    assert (tmp_path / "thesis.md").read_text() == "mine"
    (tmp_path / build_site.BUILT).mkdir()
    assert not build_site.holds_other_things(tmp_path)

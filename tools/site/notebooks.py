"""A lecture as the source of a page: notes left out, figures with their words, live explorers."""

from __future__ import annotations

import ast
import base64
import hashlib
import html
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from course_utils.explorers.show import folded
from course_utils.teaching.cards import inline
from course_utils.teaching.exercise import UNTOUCHED
from tools.editions.colab import address
from tools.editions.reader import fold_answers, roles
from tools.webp import as_webp

Notebook = dict[str, Any]
Output = dict[str, Any]
EXPLORE = re.compile(r"\bexplore_\w+(?=\()")
Player = Callable[[str, str, str], str]
FIGURE = "figure: "
SIDES = ("width", "height")
ANCHOR = re.compile(r"(?<=\]\()#[^ )]+")
LAPTOP = 'on <a href="../index.html#run-it">your laptop</a>'
UNTOUCHED_HTML = inline(UNTOUCHED)
# What a cell does that sets the stage, or calls for a picture and computes nothing for it.
SETS_UP = re.compile(
    r"(import|from|torch\.|SEED = \d|generator = torch\.|explorers\.|show\(figures\.)\b"
)


class Pictures:
    """Writes figures into a folder, by what is in them, and names them as a page does."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def figure(self, png: bytes, words: str, on_page: dict[str, int]) -> str:
        """Keep a picture as WebP and return it as HTML, with its words; the numbers are folded."""
        first, rest = map(html.escape, folded(words))
        numbers = f"<details><summary>In numbers</summary>{rest}</details>" if rest else ""
        return (
            f'<figure class="course-figure">{self.image(png, html.escape(words), on_page)}'
            f"<figcaption>{first}{numbers}</figcaption></figure>"
        )

    def snapshot(self, png: bytes, words: str) -> str:
        """Keep the picture of an explorer for readers without JavaScript: half as large."""
        with Image.open(io.BytesIO(png)) as picture:
            half = picture.convert("RGB").reduce(2).quantize(48, dither=Image.Dither.NONE)
        encoded = io.BytesIO()
        half.save(encoded, "PNG")
        return self.image(encoded.getvalue(), words, dict(zip(SIDES, half.size, strict=True)))

    def image(self, png: bytes, words: str, on_page: dict[str, int]) -> str:
        """Keep a picture and return the element that shows it; `words` are HTML."""
        with Image.open(io.BytesIO(png)) as picture:
            content = as_webp(picture)
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.webp"
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_bytes(content)
        width, height = on_page["width"], on_page["height"]
        return (
            f'<img src="../{self.folder.name}/{name}" width="{width}" height="{height}" '
            f'alt="{words}" loading="lazy">'
        )


def page_source(
    notebook: Notebook,
    player: Player,
    pictures: Pictures,
    question: Callable[[str], str] = lambda source: "",
    where: str = LAPTOP,
) -> Notebook:
    """Return the notebook that Sphinx reads.

    What a prediction asks for is folded, and so is code that only sets up or calls for a picture.

    Args:
        notebook: a lecture as it is committed; its outputs are replaced.
        player: gives an explorer as HTML, by its name and what stands there without JavaScript.
        pictures: where figures go.
        question: gives what a cell of code asks the reader, as HTML; nothing for another cell.
        where: links to where the lecture runs, as HTML.

    Raises:
        ValueError: when a figure has no words, or an explorer's output is not from one call.
    """
    cells = [cell for cell in notebook["cells"] if slide_type(cell) != "notes"]
    for cell, role in roles(cells):
        # A picture with controls says nothing until it is moved.
        if role == "runs" and not EXPLORE.search(_text(cell["source"])):
            _tag(cell, "hide-output")
    fold_answers(cells)
    for cell in cells:
        if cell["cell_type"] == "markdown":
            cell["source"] = ANCHOR.sub(_on_the_page, _text(cell["source"]))
        if cell["cell_type"] == "code":
            if page := question(_text(cell["source"])):
                cell["outputs"] = [_as_html(page)]
                _tag(cell, "remove-input")
                continue
            cell["outputs"] = _page_outputs(cell, player, pictures)
            _say_where_it_runs(cell, where)
            if _only_sets_up(cell):
                _tag(cell, "hide-input")
                cell["metadata"]["mystnb"] = {
                    "code_prompt_show": "Code",
                    "code_prompt_hide": "Code",
                }
    return {**notebook, "cells": cells}


def links_to_run(name: str, repository: str | None) -> str:
    """Links to where a lecture can be run, as HTML: where nothing need be installed comes first.

    >>> links_to_run("00_start_here.ipynb", "owner/name").count("owner/name")
    2
    >>> links_to_run("00_start_here.ipynb", None) == LAPTOP
    True
    """
    if not repository:
        return LAPTOP
    binder = f"https://mybinder.org/v2/gh/{repository}/HEAD?urlpath=lab/tree/my_course/{name}"
    colab = address(name, repository)
    return f'in <a href="{colab}">Colab</a>, in <a href="{binder}">Binder</a> or {LAPTOP}'


def run_cell(where: str) -> dict[str, Any]:
    """The cell under the title of a lecture that says where to run it."""
    return {
        "cell_type": "markdown",
        "id": "run",
        "metadata": {},
        "source": f"Here you read and move the pictures. To run the code, open it {where}.",
    }


def slide_type(cell: dict[str, Any]) -> str:
    """What a cell is in the slides: "slide", "notes" and so on; "-" where nothing is said."""
    return cell["metadata"].get("slideshow", {}).get("slide_type", "-")


def _on_the_page(anchor: re.Match[str]) -> str:
    """Return a link to a heading as a page writes it: JupyterLab keeps capitals and the "?"."""
    return "#" + re.sub(r"[^\w-]", "", anchor[0].lower())


def _tag(cell: dict[str, Any], tag: str) -> None:
    """Say to Sphinx how a cell is shown."""
    cell["metadata"] = {**cell["metadata"], "tags": [*cell["metadata"].get("tags", ()), tag]}


def _only_sets_up(cell: dict[str, Any]) -> bool:
    """Whether a cell imports, seeds or calls for a picture, and no more; not where output hides."""
    if "hide-output" in cell["metadata"].get("tags", ()):
        return False
    try:
        statements = ast.parse(_text(cell["source"])).body
    except SyntaxError:  # a line of IPython
        return False
    return all(SETS_UP.match(ast.unparse(each)) for each in statements)


def _say_where_it_runs(cell: dict[str, Any], where: str) -> None:
    """Where an exercise waits for a run, say where it can be run: nothing runs on a page."""
    for output in cell["outputs"]:
        page = _text(output.get("data", {}).get("text/html", ""))
        if UNTOUCHED_HTML in page:
            there = f"Nothing runs on this page. Write your answer and have it checked {where}."
            output["data"] = {"text/html": page.replace(UNTOUCHED_HTML, there)}


def _page_outputs(cell: dict[str, Any], player: Player, pictures: Pictures) -> list[Output]:
    found: list[Output] = []
    words = None  # of the figure before
    for output in cell["outputs"]:
        data = output.get("data", {})
        if _text(data.get("text/plain", "")) == words:
            continue  # the caption is under its figure already
        words = _words(data)
        if "image/png" in data or _is_explorer(cell, data):
            output = _as_html(_picture_html(cell, output, player, pictures))
        elif "text/html" in data:
            output = _as_html(scrolled_by_keyboard(_text(data["text/html"])))
        found.append(output)
    return found


def scrolled_by_keyboard(page: str) -> str:
    """HTML whose wide boxes can be reached by Tab, and so scrolled without a mouse.

    >>> scrolled_by_keyboard('<div style="overflow-x: auto;">')
    '<div tabindex="0" role="group" aria-label="wide output" style="overflow-x: auto;">'
    """
    return page.replace(
        '<div style="overflow-x: auto;">',
        '<div tabindex="0" role="group" aria-label="wide output" style="overflow-x: auto;">',
    )


def _picture_html(
    cell: dict[str, Any],
    output: Output,
    player: Player,
    pictures: Pictures,
) -> str:
    data = output["data"]
    words = _text(data["text/plain"])
    if words.startswith(FIGURE):
        png, on_page = _text(data["image/png"]), output["metadata"]["image/png"]
        return pictures.figure(base64.b64decode(png), words[len(FIGURE) :], on_page)
    names = EXPLORE.findall(_text(cell["source"]))
    if len(names) != 1:
        raise ValueError(
            f"cell {cell['id']!r} shows a picture, so it must be a figure shown with its words "
            f"or call one explorer; it calls {names}"
        )
    if "image/png" not in data:
        return player(names[0], "", "")
    words = output["metadata"]["image/png"]["alt"]
    png = base64.b64decode(_text(data["image/png"]))
    return player(names[0], pictures.snapshot(png, html.escape(words)), words)


def _is_explorer(cell: dict[str, Any], data: dict[str, Any]) -> bool:
    """Whether an explorer was run where no browser could take its picture."""
    return list(data) == ["text/plain"] and len(EXPLORE.findall(_text(cell["source"]))) == 1


def _words(data: dict[str, Any]) -> str | None:
    """The words of a figure, which come once more as its caption; None for anything else."""
    words = _text(data.get("text/plain", ""))
    return words[len(FIGURE) :] if "image/png" in data and words.startswith(FIGURE) else None


def _as_html(page: str) -> Output:
    return {"output_type": "display_data", "metadata": {}, "data": {"text/html": page}}


def _text(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)

"""An explorer on a page without a kernel: the same module, its data, and a small host."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from course_utils.explorers.data import as_json
from course_utils.explorers.link import link

HOST = Path(__file__).parent / "kit" / "host.js"
ENDING = "entry.host(view.default, document.currentScript);"


@runtime_checkable
class Paged(Protocol):
    """What a page needs of an explorer."""

    title: str

    @property
    def in_words(self) -> str:
        """What is there before it is drawn."""
        ...

    def page_data(self) -> dict[str, Any]:
        """All that the page computes with."""
        ...

    def module(self, ending: str) -> str:
        """What draws, as statements with this one last."""
        ...


def fragment(explorer: Paged) -> str:
    """An explorer as HTML for any page, also one that is opened from a disk.

    Everything stands in the page itself: a page from a disk may import nothing. Without JavaScript
    its title is there.
    """
    script = f"<script>{_script(explorer)}</script>"
    return f'<div class="course-page-explorer">{content_of(explorer)}{script}</div>'


def content_of(explorer: Paged) -> str:
    """What an explorer's element holds before it is shown: its words, and its data as JSON."""
    # No "</script>" may stand inside a script, whatever a caption says.
    data = json.dumps(as_json(explorer.page_data()), ensure_ascii=False).replace("<", "\\u003c")
    words = html.escape(explorer.in_words).replace("\n", "<br>")
    return f'<p>{words}</p><script type="application/json">{data}</script>'


def standalone_page(explorer: Paged) -> str:
    """A whole page that shows one explorer."""
    return page_of(fragment(explorer), explorer.title)


def page_of(content: str, title: str = "Explorer", font: str = "sans-serif") -> str:
    """A whole page around what `fragment` gives."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title></head>"
        f'<body style="margin: 0; font-family: {font}">{content}</body></html>'
    )


def _script(explorer: Paged) -> str:
    """The view and the host. No block of code ends a script before its end."""
    view, host = explorer.module("return entry;"), link(HOST, "return entry;")
    return (
        f"(() => {{ const view = (() => {{\n{view}}})();\n"
        f"const entry = (() => {{\n{host}}})();\n{ENDING} }})();"
    ).replace("</", "<\\/")

"""An explorer on a page without a kernel: the same module, its data, and a small host."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from course_utils.explorers.data import as_json
from course_utils.explorers.link import link

if TYPE_CHECKING:
    from course_utils.explorers.explorer import Explorer

__all__ = ["fragment", "page_of", "standalone_page"]

HOST = Path(__file__).parent / "kit" / "host.js"
ENDING = "entry.host(view.default, document.currentScript);"


def fragment(explorer: Explorer, views: set[str] | None = None) -> str:
    """An explorer as HTML for any page, also one that is opened from a disk.

    Everything stands in the page itself: a page from a disk may import nothing. Without JavaScript
    the caption is there.

    Args:
        explorer: what to show.
        views: of a page that shows one view several times, the views that it has already. The
            first to need one brings it, and adds it here.
    """
    caption = f"<p>{html.escape(explorer.title)}<br>{html.escape(explorer.words)}</p>"
    return (
        f'<div class="course-page-explorer">{caption}'
        f'<script type="application/json">{_data(explorer.page_data())}</script>'
        f"<script>{_script(explorer, views)}</script></div>"
    )


def standalone_page(explorer: Explorer) -> str:
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


def _script(explorer: Explorer, views: set[str] | None) -> str:
    """The view and the host. No block of code ends a script before its end."""
    host = link(HOST, "return entry;")
    return (
        f"(() => {{ const view = {_view(explorer, views)};\n"
        f"const entry = (() => {{\n{host}}})();\n{ENDING} }})();"
    ).replace("</", "<\\/")


def _view(explorer: Explorer, views: set[str] | None) -> str:
    """The view as an expression."""
    view = f"(() => {{\n{explorer.module('return entry;')}}})()"
    if views is None:
        return view
    name = explorer.view_path().stem
    kept = f"(window.courseViews ??= {{}})[{json.dumps(name)}]"
    if name in views:
        return kept
    views.add(name)
    return f"{kept} = {view}"


def _data(data: dict[str, Any]) -> str:
    # No "</script>" may stand inside a script, whatever a caption says.
    return json.dumps(as_json(data), ensure_ascii=False).replace("<", "\\u003c")

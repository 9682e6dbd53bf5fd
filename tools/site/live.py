"""Explorers on the pages of the site: modules and data as scripts, loaded when nearly in view."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.data import as_json
from course_utils.explorers.link import KIT, kit_on, link, shelf
from course_utils.explorers.page import content_of
from tools.site.rooms import room

SHELF = "courseKit"  # where each page has the kit
LOADER = Path(__file__).parent / "static" / "live.js"


class Live:
    """Writes explorers into a folder and names them as a page does.

    Attributes:
        bytes: title of an explorer → the bytes that a page loads for it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bytes: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def figure(
        self, explorer: Explorer, snapshot: str = "", words: str = "", root: str = "../"
    ) -> str:
        """An explorer as HTML; without JavaScript `snapshot` and `words` stand there."""
        view = self._kept(
            "courseViews", f"(() => {{\n{explorer.module('return entry;', SHELF)}}})()"
        )
        # What a picture is told and what it computes with are apart: several may have one model.
        data = explorer.page_data()
        parts = [{"given": data.pop("given")}, data]
        given = " ".join(self._kept("courseData", json.dumps(packed(each))) for each in parts)
        names = [f"{name}.js" for name in (view, *given.split())]
        self.bytes[explorer.title] = sum((self.folder / name).stat().st_size for name in names)
        return room(
            f'<figure class="course-live" data-root="{root}{self.folder.name}/" '
            f'data-view="{view}" data-given="{given}">'
            f"<noscript>{snapshot}</noscript>"
            f"<figcaption>{html.escape(words or explorer.title)}</figcaption></figure>",
            view + given,
        )

    def _kept(self, shelf: str, value: str) -> str:
        """Write a script that puts a value on a shelf under its own name; return the name."""
        name = hashlib.sha256(value.encode()).hexdigest()[:12]
        script = f'(globalThis.{shelf} ??= {{}})["{name}"] = {value};\n'
        (self.folder / f"{name}.js").write_text(script, encoding="utf-8")
        return name


def packed(data: Mapping[str, Any]) -> str:
    """What a page is told, compressed; as text, for a page from a disk may load scripts alone."""
    text = json.dumps(as_json(data), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def kit_explorer(explorer: Explorer) -> str:
    """An explorer of the kit, such as a prediction: its view is on the shelf of each page."""
    view = explorer.view_path().name
    words = content_of(explorer)
    return room(f'<div class="course-asked" data-view="{view}">{words}</div>', words)


def write_loader(path: Path) -> None:
    """The script of every page: the kit, once, and what shows explorers that are nearly in view."""
    script = link(LOADER, "entry.start(document);", kit_on(SHELF))
    path.write_text(
        f"globalThis.{SHELF} = {shelf(KIT)};\n(() => {{\n{script}}})();\n", encoding="utf-8"
    )

"""Pictures of explorers for the notebooks that are committed: their pages, in headless Chromium.

An explorer moves in the browser, so no kernel can draw it. Where there is no Chromium, the pictures
of the earlier run stay.
"""

from __future__ import annotations

import base64
import importlib.util
import io
from collections.abc import Iterator
from typing import Any, NamedTuple

from nbformat import NotebookNode
from PIL import Image

from course_utils.explorers.explorer import PAGE
from course_utils.explorers.page import page_of
from course_utils.explorers.show import SHARP
from tools.chromium import FLAGS, find_chromium
from tools.editions.notebook_outputs import code_cells

WIDTH = 900  # pixels of the page
# The same letters on every machine: what matplotlib brings is what is installed most often.
FONT = "DejaVu Sans"
NIGHT = "#111111"  # the background of JupyterLab's dark theme


class Snapshot(NamedTuple):
    """An explorer as a browser drew it: a PNG in base64, and the caption under it."""

    png: str
    caption: str


def with_snapshots(new: NotebookNode, old: NotebookNode) -> NotebookNode:
    """Replace each explorer's page in a notebook that was run by a picture of it.

    The caption is the browser's, and goes with the picture as its alternative text. A machine that
    can take none says so and keeps the earlier picture where the words are the same.
    """
    outputs = [each for each in _outputs(new) if PAGE in each.data]
    if not outputs:
        return new
    pages = [output.data.pop(PAGE) for output in outputs]
    try:
        taken = take_pictures(pages)
    except NoBrowserError as error:
        kept = [_keep(output, old) for output in outputs].count(True)
        missing = len(outputs) - kept
        print(f"  {error}. Pictures of explorers: {kept} kept, {missing} missing.")
        return new
    for output, (png, caption) in zip(outputs, taken, strict=True):
        title = output.data["text/plain"].split("\n")[0]
        output.data["image/png"] = png
        output.metadata = NotebookNode(on_page(png, f"{title} {caption}"))
    return new


def on_page(png: str, words: str) -> dict[str, Any]:
    """How a page shows a picture: its size, its alternative text, and that it is drawn on white."""
    with Image.open(io.BytesIO(base64.b64decode(png))) as image:
        width, height = (side // SHARP for side in image.size)
    size = {"width": width, "height": height}
    return {"image/png": {**size, "alt": words}, "needs_background": "light"}


def _keep(output: NotebookNode, old: NotebookNode) -> bool:
    """Take the picture that the notebook had beside the same words; return whether it had one."""
    for each in _outputs(old):
        if "image/png" in each.data and each.data["text/plain"] == output.data["text/plain"]:
            output.data["image/png"], output.metadata = each.data["image/png"], each.metadata
            return True
    return False


def _outputs(notebook: NotebookNode) -> Iterator[NotebookNode]:
    for cell in code_cells(notebook):
        yield from (each for each in cell.outputs if "data" in each)


class NoBrowserError(RuntimeError):
    """No picture can be taken on this machine; the message says what is missing."""


def take_pictures(
    pages: list[str], *, part: str = ".ce", dark: bool = False, width: int = WIDTH
) -> list[Snapshot]:
    """Each page's explorer, or a part of it; the page is `width` pixels wide.

    Raises:
        NoBrowserError: where there is no browser that starts.
    """
    chromium = find_chromium()
    if chromium is None:
        raise NoBrowserError("Chromium was not found (`make doctor` says how to install it)")
    if importlib.util.find_spec("playwright") is None:
        raise NoBrowserError("playwright was not found (`make test-browser` installs it)")
    from playwright.sync_api import (  # pyright: ignore[reportMissingImports]
        Error,
        sync_playwright,
    )

    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        except Error:
            raise NoBrowserError(f"{chromium} does not start") from None
        tab = browser.new_page(
            # So high that nothing has to stay in sight above the picture.
            viewport={"width": width, "height": 2400},
            device_scale_factor=SHARP,
            reduced_motion="reduce",
        )
        found = []
        for page in pages:
            tab.set_content(page_of(page, font=f"'{FONT}'"))
            tab.add_style_tag(content=f".ce.ce {{ --ce-font: '{FONT}'; padding: 12px; }}")
            if dark:
                tab.evaluate(f"document.body.style.background = '{NIGHT}'")
            tab.wait_for_selector(f".ce[data-theme={'dark' if dark else 'light'}]")
            caption = tab.locator(".ce-caption").inner_text()
            png = base64.b64encode(tab.locator(part).screenshot()).decode("ascii")
            found.append(Snapshot(png, caption))
        browser.close()
    return found

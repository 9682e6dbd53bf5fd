"""The slides of a lecture as a PDF, from the outputs that its notebook has: nothing is run.

    python -m tools.presenting.pdf 04                  build/04_positions.pdf
    python -m tools.presenting.pdf 04 --out talk.pdf

A page for each slide, 16:9, with its answers uncovered. Chromium prints them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from lectures import Lecture
from tools.chromium import FLAGS, find_chromium
from tools.setup.lab import (
    LINK,
    find_lecture,
    kernel_options,
    lab_command,
    present_options,
    wait_for_answer,
)
from tools.setup.place import CommandError, Place

MINUTES = 10  # on a machine that is busy; a few seconds on one that is not


def main(arguments: list[str]) -> int:
    """Print a lecture's slides; return the exit status."""
    options = _parser().parse_args(arguments)
    try:
        lecture = find_lecture(options.lecture)
        out = options.out or Place().root / "build" / f"{lecture.stem}.pdf"
        out.parent.mkdir(parents=True, exist_ok=True)
        with _presented(Place(), lecture) as address:
            count = print_pages(address, out)
    except CommandError as error:
        print(error)
        return 1
    print(f"{count} slides are in {out}")
    return 0


def print_pages(address: str, out: Path) -> int:
    """Save what a page of slides shows as a PDF; return how many slides it has."""
    chromium = find_chromium()
    if chromium is None:
        raise CommandError("Chromium was not found (`make doctor` says how to install it).")
    from playwright.sync_api import (  # pyright: ignore[reportMissingImports]
        sync_playwright,
    )

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_default_timeout(MINUTES * 60_000)
        page.goto(address)
        page.wait_for_function("window.coursePages")
        page.emulate_media(media="screen")
        page.pdf(path=out, print_background=True, width="1280px", height="720px")
        count = page.evaluate("window.coursePages")
        browser.close()
    return count


@contextlib.contextmanager
def _presented(place: Place, lecture: Lecture) -> Iterator[str]:
    """The address of a lecture's slides to print, on a JupyterLab that ends with the context."""
    page = f"doc/tree/notebooks/{quote(lecture.stem)}.ipynb"
    with tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as runtime:
        command = [
            sys.executable,
            *lab_command(place, page)[1:],
            "--no-browser",
            *kernel_options(runtime),
            *present_options(Path(runtime) / "presenting"),
        ]
        with subprocess.Popen(
            command,
            cwd=place.root,
            env={**place.activated(), "JUPYTER_RUNTIME_DIR": runtime},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        ) as process:
            try:
                yield _address(process)
            finally:
                process.terminate()
                process.wait()


def _address(process: subprocess.Popen[str]) -> str:
    """Wait for the link that JupyterLab prints, and for its answer."""
    said = ""
    assert process.stderr
    for line in process.stderr:
        said += line
        if link := LINK.search(line):
            wait_for_answer(int(link[1]))
            # A pipe that nobody empties would stop the server once it is full.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            return f"{link.group()}&print"
    raise CommandError(f"JupyterLab ended before it was ready; it said:\n{said}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.presenting.pdf",
        description="Print a lecture's slides as a PDF, a page for each.",
    )
    wanted = os.environ.get("LECTURE") or "0"
    parser.add_argument("lecture", metavar="LECTURE", nargs="?", default=wanted)
    parser.add_argument("--out", type=Path, metavar="FILE", help="instead of build/LECTURE.pdf")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Room for what a script draws later: its height at each width, measured while the pages are built.

A picture that gets its height late moves all that is below it, and a link then ends somewhere else.
Chromium draws every explorer and prediction once at each width, and each page carries the heights.
Without Chromium the declared heights of course.css stand in.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

from tools.chromium import FLAGS, find_chromium

SCRIPT = Path(__file__).parent / "static" / "rooms.js"
WIDTHS = (*range(272, 440, 8), *range(440, 961, 12))
SLACK = 12  # pixels that a room may be too high, so that neighbouring widths can share it
ROOM = re.compile(r'<div class="course-room (room-\w+)">.*?</div><!-- room -->', re.DOTALL)
HEAD = re.compile(r"<head>.*?</head>", re.DOTALL)
SECONDS = 600
Heights = Mapping[str, Sequence[int]]  # of a room at each of the widths


def room(drawn: str, data: str) -> str:
    """A box of the page around what a script will draw, under the name of its data."""
    name = hashlib.sha256(data.encode()).hexdigest()[:8]
    return f'<div class="course-room room-{name}">{drawn}</div><!-- room -->'


def measure_rooms(html: Path) -> Heights:
    """The height of every room of the built pages at each width; empty where no browser runs."""
    chromium = find_chromium()
    if chromium is None:
        return {}
    pages = [path.read_text(encoding="utf-8") for path in sorted(html.glob("lectures/*.html"))]
    rooms = {found[1]: found[0] for page in pages for found in ROOM.finditer(page)}
    together = html / "lectures" / "rooms.html"  # where the addresses of the pages hold
    together.write_text(_page(pages[0], rooms.values()), encoding="utf-8")
    try:
        return _measured(chromium, html, f"lectures/{together.name}")
    finally:
        together.unlink()


def _page(page: str, rooms: Iterable[str]) -> str:
    """All rooms of the site on one page, with the head of another and what measures them."""
    (head,) = HEAD.findall(page)
    script = (
        f"<script>const WIDTHS = {list(WIDTHS)};\n{SCRIPT.read_text(encoding='utf-8')}</script>"
    )
    return (
        f"<!doctype html><html>{head.replace('<head>', f'<head>{script}')}"
        f'<body data-theme="light"><article role="main">{"".join(rooms)}</article>'
        '<script src="../live/live.js"></script></body></html>'
    )


class _Server(ThreadingHTTPServer):
    """Serves the pages on loopback, and keeps what the script sends."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
        self.sent: Queue[dict[str, list[int]]] = Queue()


class _Handler(SimpleHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
        self.server.sent.put(json.loads(body))

    def log_message(self, format: str, *args: object) -> None:
        pass


def _measured(chromium: str, html: Path, page: str) -> Heights:
    """What the script of a page sends; nothing where the browser does not start, or is too slow."""
    with _Server(html) as server, tempfile.TemporaryDirectory() as profile:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/{page}"
        command = [
            chromium,
            "--headless",
            *FLAGS,
            "--window-size=1280,900",
            f"--user-data-dir={profile}",
            address,
        ]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(command, stdout=quiet, stderr=quiet) as browser:
            try:
                return server.sent.get(timeout=SECONDS)
            except Empty:
                return {}
            finally:
                browser.terminate()
                server.shutdown()


def with_rooms(page: str, heights: Heights) -> str:
    """A page that gives each of its rooms the height that was measured.

    >>> page = '<head></head><div class="course-room room-1"></div><!-- room -->'
    >>> with_rooms(page, {"room-1": [100] * 3 + [200] * (len(WIDTHS) - 3)}).split("</style>")[0]
    '<head><style>.room-1>*{--room:100px}@container(min-width:288px){.room-1>*{--room:200px}}'
    """
    rules: dict[int, list[str]] = {}
    for name in sorted({found[1] for found in ROOM.finditer(page)} & set(heights)):
        for width, height in steps(heights[name]):
            rules.setdefault(width, []).append(f".{name}>*{{--room:{height}px}}")
    style = "".join(_rule(width, "".join(rules[width])) for width in sorted(rules))
    return page.replace("</head>", f"<style>{style}</style></head>", 1) if style else page


def _rule(width: int, rules: str) -> str:
    return rules if width == WIDTHS[0] else f"@container(min-width:{width}px){{{rules}}}"


def steps(heights: Sequence[int]) -> Iterator[tuple[int, int]]:
    """From which width on a room has which height: as much as is needed anywhere until the next.

    >>> list(steps([100, 104, 108, 160] + [160] * (len(WIDTHS) - 4)))
    [(272, 108), (288, 160)]
    """
    # Between two widths either may need more: a line more where it is narrow, a picture that grows.
    needed = [max(pair) for pair in zip(heights, [*heights[1:], heights[-1]], strict=True)]
    start = 0
    for here in range(1, len(needed) + 1):
        run = needed[start : here + 1]
        if here == len(needed) or max(run) - min(run) > SLACK:
            yield WIDTHS[start], max(needed[start:here])
            start = here

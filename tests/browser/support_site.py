"""Build the site once, serve it on loopback, and read what a page shows."""

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("SITE_OUT") or ROOT / "build" / "site")
BUILD_SECONDS = 1200
PAGE_MS = 30_000


def build_site() -> tuple[Path, str]:
    """Build as `make site` does; return where the pages are, and what the build said.

    Raises:
        RuntimeError: when the build fails, with what it wrote.
    """
    command = [sys.executable, "-m", "tools.site.build", "--out", str(OUT)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_SECONDS)
    if built.returncode:
        raise RuntimeError(f"the site does not build:\n{built.stdout}\n{built.stderr}")
    return OUT / "html", built.stdout


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser hangs up on a picture that it no longer needs."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback until the context ends; gives its address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def pages(folder: Path) -> list[str]:
    """Return every page of the site, by its path."""
    return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.html"))]


def visit(tab: Any, address: str) -> None:
    """Open a page and wait until its scripts have run."""
    tab.goto(address, timeout=PAGE_MS)
    tab.wait_for_load_state("load", timeout=PAGE_MS)


def serious(violations: list[dict]) -> list[str]:
    """Return what is serious among what axe found, with the first element of each."""
    return [
        f"{each['id']} ({each['impact']}): {each['nodes'][0]['html'][:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]

"""What must hold of a built site: nothing is loaded from elsewhere; and how large it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

ELSEWHERE = re.compile(r"^\s*(?:https?:)?//", re.IGNORECASE)
CSS_URL = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""", re.IGNORECASE)
# What a script loads: the addresses handed to these, or written into an element's source.
SCRIPT_LOAD = re.compile(
    r"""(?:\bfetch\s*\(|\bimport\s*\(|importScripts\s*\(|\.(?:src|href)\s*=|\bfrom\s*)\s*"""
    r"""["'`]((?:https?:)?//[^"'`]+)""",
    re.IGNORECASE,
)
# Attributes that make a browser load something at once. The href of an <a> is for the reader.
LOADING = {"src", "srcset", "poster", "data", "background", "xlink:href", "action", "formaction"}


class _Loads(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        values = {name: value or "" for name, value in attrs}
        for name, value in values.items():
            loads = name in LOADING or (name == "href" and tag in ("link", "image", "use", "base"))
            if tag == "link" and values.get("rel") in ("canonical", "license", "author"):
                loads = False
            if loads and any(ELSEWHERE.match(part) for part in value.split(",")):
                self.found.append(value)
        self.found += elsewhere_in_style(values.get("style", ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.found += elsewhere_in_style(data)
        if self._inside == "script":
            self.found += elsewhere_in_script(data)


def elsewhere_in_page(page: str) -> list[str]:
    """Addresses of other machines that a page would load from.

    >>> elsewhere_in_page('<img src="//cdn.example/x.png"><a href="https://doi.example/1">y</a>')
    ['//cdn.example/x.png']
    """
    parser = _Loads()
    parser.feed(page)
    return parser.found


def elsewhere_in_style(style: str) -> list[str]:
    """Addresses of other machines that a style sheet would load from.

    >>> elsewhere_in_style('a {b: url("https://x.example/f.woff")} c {d: url(f.woff)}')
    ['https://x.example/f.woff']
    """
    return [address for address in CSS_URL.findall(style) if ELSEWHERE.match(address)]


def elsewhere_in_script(script: str) -> list[str]:
    """Addresses of other machines that a script would load from, as far as they are written out.

    >>> elsewhere_in_script('fetch("https://x.example/a"); see = "https://x.example/b"')
    ['https://x.example/a']
    """
    return SCRIPT_LOAD.findall(script)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Every file of a site that would load something from another machine, and what."""
    readers = {".html": elsewhere_in_page, ".css": elsewhere_in_style, ".js": elsewhere_in_script}
    return [
        f"{path.relative_to(site).as_posix()}: {address}"
        for path in _files(site)
        if path.suffix in readers
        for address in readers[path.suffix](path.read_text(encoding="utf-8"))
    ]


def total_bytes(folder: Path) -> int:
    """The bytes of all files under a folder."""
    return sum(path.stat().st_size for path in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())

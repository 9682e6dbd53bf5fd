"""What must hold of a built site: nothing is loaded from elsewhere; and how large it is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ADDRESS = r"((?:https?:)?//[^\"'`\s>)]+)"
# What makes a browser load something at once, as far as it is written out: an element's source, a
# style sheet, what a style or a script names. The href of an <a> is for the reader.
LOADING = re.compile(
    r"<[a-z][^<>]*?\s(?:src|srcset|poster|data|background|action|xlink:href)="
    rf"[\"'](?:[^\"']*,)?\s*{ADDRESS}"
    rf"|<(?:link|image|use|base)\b[^<>]*?\shref=[\"']{ADDRESS}"
    rf"|(?:url\(|@import)\s*[\"']?{ADDRESS}"
    rf"|(?:\b(?:fetch|import|importScripts)\(|\.(?:src|href)\s*=|\bfrom)\s*[\"'`]{ADDRESS}",
    re.IGNORECASE,
)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Every file of a site that would load something from another machine, and what."""
    return [
        f"{path.relative_to(site).as_posix()}: {''.join(found)}"
        for path in _files(site)
        if path.suffix in (".html", ".css", ".js")
        for found in LOADING.findall(path.read_text(encoding="utf-8"))
    ]


def total_bytes(folder: Path) -> int:
    """The bytes of all files under a folder."""
    return sum(path.stat().st_size for path in _files(folder))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())

"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes, unless: Callable[[], bool] = lambda: False) -> None:
    """Write a file whole or not at all, and through no link that somebody has put there.

    `unless` is asked last, when all is written beside the file and only takes its place.
    """
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)  # of a process that was killed
    try:
        with open(part, "xb") as stream:
            stream.write(content)
        if not unless():
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)

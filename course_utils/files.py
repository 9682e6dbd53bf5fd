"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, content: bytes, unless: Callable[[], bool] = lambda: False) -> bool:
    """Write a file whole or not at all, and through no link that somebody has put there.

    Who may read the file stays as it was. `unless` is asked last, when all is written beside the
    file and only takes its place.

    Returns:
        whether it was written.
    """
    part = path.with_name(f".{path.name}.part")
    part.unlink(missing_ok=True)  # of a process that was killed
    try:
        with open(part, "xb") as stream:
            with contextlib.suppress(OSError):  # a file that is new has the mode of all new files
                shutil.copymode(path, part)
            stream.write(content)
        if unless():
            return False
        os.replace(part, path)
        return True
    finally:
        part.unlink(missing_ok=True)

"""Files that several processes share: a lock that dies with its holder, and whole writes."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

if os.name == "nt":
    import msvcrt

    def try_lock(descriptor: int) -> None:
        """Take the lock, or raise OSError where another process holds it."""
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def try_lock(descriptor: int) -> None:
        """Take the lock, or raise OSError where another process holds it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def exclusive(path: Path, waiting: str) -> Iterator[None]:
    """Hold the lock at `path`; where another process holds it, say `waiting` once and wait.

    A child that is started with `close_fds=False` holds it too, until it ends.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.set_inheritable(descriptor, True)
        while True:
            try:
                try_lock(descriptor)
                break
            except OSError:
                if waiting:
                    print(waiting, flush=True)
                waiting = ""
                time.sleep(0.2)
        yield
    finally:
        os.close(descriptor)


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

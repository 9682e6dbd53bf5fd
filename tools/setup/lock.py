"""One set-up at a time. The system releases the lock when its holder dies, however it dies."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from .place import say

# Lock → the descriptors a child process has to inherit to hold it too (never on Windows).
held: dict[Path, tuple[int, ...]] = {}

if os.name == "nt":
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Return whether this process now holds the lock."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Return whether this process now holds the lock."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock at `path`; wait for another holder and say so."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        if not try_lock(descriptor):
            say("Another set-up of this course is running; waiting for it to finish.")
            while not try_lock(descriptor):
                time.sleep(0.5)
        held[path] = () if os.name == "nt" else (descriptor,)
        yield
    finally:
        held.pop(path, None)
        os.close(descriptor)

"""What several processes share: a lock that dies with its holder."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
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

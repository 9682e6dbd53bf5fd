"""What several processes share: a lock that dies with its holder, a file that others save too."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from course_utils.files import write_whole

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


class SavedMeanwhileError(Exception):
    """A file is no longer what was read; the message says that it stays as it is."""


def write_back(path: Path, before: bytes, content: bytes) -> None:
    """Write whole what was made from `before`.

    Raises:
        SavedMeanwhileError: if the file holds something else by now. It then stays as it is.
    """

    def changed() -> bool:
        try:
            return path.read_bytes() != before
        except FileNotFoundError:
            return True

    if not write_whole(path, content, unless=changed):
        raise SavedMeanwhileError(
            f"{path.name} was saved or deleted by somebody else while this ran, and stays so: "
            "run the same command again."
        )

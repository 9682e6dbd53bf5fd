"""A limit of time for the reader's code where it runs unseen, and a loop would hang."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

__all__ = ["OutOfTimeError", "time_limit"]

AGAIN = 1.0  # s until what has caught the exception is stopped again


class OutOfTimeError(KeyboardInterrupt):
    """The time is up. Like the reader's own interruption, it is no failure of the code."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop the block after ``seconds`` by raising :class:`OutOfTimeError` in it.

    It needs no signal, so it works on every system and in every thread. Python code stops at its
    next step; a single long call of a library only stops when it returns.

    >>> try:
    ...     with time_limit(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTimeError:
    ...     print("stopped")
    stopped
    """
    thread, ended = threading.get_ident(), threading.Event()

    def watch() -> None:
        wait = seconds
        while not ended.wait(wait):
            _raise_in(thread, OutOfTimeError)
            wait = AGAIN

    watcher = threading.Thread(target=watch, daemon=True)

    def end() -> None:
        ended.set()
        watcher.join()
        _raise_in(thread, None)  # what was raised too late must not arrive after the block

    watcher.start()
    try:
        yield
    finally:
        try:
            end()
        except OutOfTimeError:
            end()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in a thread, or with None take back one that has not arrived yet."""
    given = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)

"""A limit of time for the reader's code where it runs unseen, and a loop would hang."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
AGAIN = 1.0  # s until what has caught the exception is stopped again


class OutOfTimeError(KeyboardInterrupt):
    """The time is up. Like the reader's own interruption, it is no failure of the code."""


def within(seconds: float, call: Callable[[], T]) -> T:
    """Call a function, and stop it after ``seconds`` by raising an exception in it.

    It needs no signal, so it works on every system and in every thread. Python code stops at its
    next step; a single long call of a library only stops when it returns.

    Raises:
        OutOfTimeError: when the time is up.

    >>> within(30, lambda: 2 + 3)
    5
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
        _raise_in(thread, None)  # what was raised too late must not arrive afterwards

    # No context manager: the exception may come at any step, and would keep one from being left.
    try:
        watcher.start()
        try:
            return call()
        finally:
            end()
    except BaseException:
        end()
        raise


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an exception in a thread, or with None take back one that has not arrived yet."""
    given = ctypes.py_object(error) if error else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)

"""Ending in order: told to end, a process closes what it opened, and takes its children along."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing import parent_process
from typing import Any

PATIENCE = 20.0  # seconds after Ctrl-C in which a program may put its things in order
SIGNALS = [number for name in ("SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))]


def leave_in_order() -> None:
    """Told to end, or when the terminal is closed, leave as `sys.exit` does: `finally` is run."""

    def leave(number: int, _: Any) -> None:
        for each in SIGNALS:  # once: not again in the midst of leaving
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + number)

    for each in SIGNALS:
        if signal.getsignal(each) != signal.SIG_IGN:  # as after `nohup`
            signal.signal(each, leave)


def run_to_its_end(command: Sequence[str | os.PathLike[str]], **options: Any) -> int:
    """Run a program and return its exit status; end when it has ended, whoever says so.

    `subprocess.run` would kill it a quarter of a second after Ctrl-C, and leave it behind when this
    process is told to end.
    """
    leave_in_order()
    process = subprocess.Popen(command, **options)
    try:
        return process.wait()
    except KeyboardInterrupt:  # the terminal has sent Ctrl-C to the program as well
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        raise
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def end_with_parent() -> None:
    """In a worker of a pool: leave Ctrl-C to the parent, and end when that ends, even if killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def wait() -> None:
        if parent:
            parent.join()
        os._exit(1)  # the worker's own thread may be in the midst of a long computation

    threading.Thread(target=wait, daemon=True).start()

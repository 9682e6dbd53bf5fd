"""A command that is told to end, or whose terminal is closed, ends as after Ctrl-C: in order."""

from __future__ import annotations

import signal
import sys

__all__ = ["end_in_order"]


def end_in_order() -> None:
    """Turn these signals into SystemExit, so that processes and temporary folders go, too."""
    for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, _: sys.exit(128 + number))

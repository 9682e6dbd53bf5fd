"""`python -m tools.progress my_copy.ipynb`: which exercises and quiz questions pass."""

import signal
import sys

from tools.progress.command import main

if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −, and a copy may hold half
    # a character (a lone surrogate), which no encoding has.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    for name in ("SIGTERM", "SIGHUP"):  # SIGHUP: the terminal is closed; Windows has none
        if number := getattr(signal, name, None):  # so that the copy's process and folder go, too
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    sys.exit(main(sys.argv[1:]))

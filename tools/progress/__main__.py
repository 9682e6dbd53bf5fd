"""`python -m tools.progress my_copy.ipynb`: which exercises and quiz questions pass."""

import sys

from tools.ending import end_in_order
from tools.progress.command import main

if __name__ == "__main__":
    # A file or a pipe on Windows gets an encoding that has no √ and no −, and a copy may hold half
    # a character (a lone surrogate), which no encoding has.
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # type: ignore[union-attr]
    end_in_order()
    sys.exit(main(sys.argv[1:]))

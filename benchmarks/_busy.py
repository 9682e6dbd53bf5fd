"""A core that another program takes, as a video call does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def core_taken() -> Iterator[None]:
    taker = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        taker.kill()
        taker.wait()

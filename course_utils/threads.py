"""Small tensor work on one thread.

An operation split over threads waits for the slowest of them. Where another program holds one of
two cores, such as the browser that shows the lecture, a step of microseconds then waits for
milliseconds: measured on 2 busy cores, an explorer's four attention calls took 35 ms on two
threads and 0.6 ms on one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["one_thread"]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread inside the block, and as many as before after it.

    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

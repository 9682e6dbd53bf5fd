"""Blocks of tiles shared by Python's threads, each with one thread of torch's.

torch splits each operation over its threads and then waits for the slowest. A block of tiles is
tens of operations of less than a millisecond: the waiting takes a third of the time, and several
times as long as the work where another program holds a core. Here every thread takes a whole block,
and the next when it is done. Whoever is held up takes fewer.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import _get_current_dispatch_mode

from course_utils.threads import one_thread

__all__ = ["own_threads", "share", "threads_worth_it"]

Part = TypeVar("Part")
_WORTH_IT = 2**28  # multiply-adds, as of 8 heads of 64 and 724 tokens: below, starting costs more


def threads_worth_it(q: Tensor, k: Tensor) -> int:
    """Return how many threads should share the attention of q (B, H, T, D) to k (B, G, S, D).

    1 says that torch is to split the operations itself: on a GPU, for little work, and where
    somebody watches operators (tracing, counting), since a watcher sees those of its own thread.
    """
    plain = q.device.type == "cpu" and type(q) in (Tensor, torch.nn.Parameter)
    if not plain or torch.compiler.is_compiling() or _get_current_dispatch_mode() is not None:
        return 1
    return torch.get_num_threads() if q.numel() * k.shape[2] >= _WORTH_IT else 1


def own_threads(threads: int) -> AbstractContextManager[None]:
    """Leave the processors to `share`, if it is to have several threads."""
    return one_thread() if threads > 1 else nullcontext()


def share(work: Callable[[Iterable[Part]], None], parts: Iterable[Part], threads: int) -> None:
    """Call ``work`` in each thread with an iterator that hands every part to one of them.

    An exception in one of them ends the others at their next part, and is raised here.

    >>> done = []
    >>> share(done.extend, [2, 3, 5, 7], threads=2)
    >>> sorted(done)
    [2, 3, 5, 7]
    """
    if threads == 1:
        return work(parts)
    waiting = deque(parts)
    inference = torch.is_inference_mode_enabled()

    def help_out() -> None:
        with torch.inference_mode(inference), torch.no_grad():
            take_part()

    def take_part() -> None:
        try:
            work(_taken(waiting))
        except BaseException:
            waiting.clear()
            raise

    helpers = [_pool(os.getpid()).submit(help_out) for _ in range(threads - 1)]
    try:
        take_part()
    finally:
        started = [helper for helper in helpers if not helper.cancel()]
        errors = [error for helper in started if (error := helper.exception())]
    for error in errors:
        raise error


def _taken(waiting: deque[Part]) -> Iterator[Part]:
    """Yield parts until none is left; to take one is one step, whichever thread does."""
    while True:
        try:
            part = waiting.popleft()
        except IndexError:
            return
        yield part


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return this process's threads: a fork has none of its parent's."""
    return ThreadPoolExecutor(os.cpu_count(), "tiles", lambda: torch.set_num_threads(1))

"""Times that can be compared: every rival once a round, round after round, on one machine.

A machine's speed drifts within seconds. What is compared is therefore measured side by side, and a
ratio is taken within each round; its median and quartiles are reported. `torch.utils.benchmark`
measures one statement at a time, as a block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import torch

Lap = Callable[[], None]
FEWEST, PATIENCE = 3, 20.0  # rounds that must do after so many seconds
# A job runs once; where it calls its argument, one lap ends and the next begins.
Job = Callable[[Lap], object]
# Runs a job once and returns the seconds of each lap.
Clock = Callable[[Job], list[float]]


def clock_of(device: str) -> Clock:
    """Return the clock of a device."""
    return wall_clock if device == "cpu" else CudaClock()


def wall_clock(job: Job) -> list[float]:
    """The CPU's: a call is over when it returns."""
    marks = [time.perf_counter()]
    job(lambda: marks.append(time.perf_counter()))
    marks.append(time.perf_counter())
    return [after - before for before, after in pairwise(marks)]


class CudaClock:
    """The GPU's: events in the stream, after a flush of its second-level cache.

    The flush also keeps the GPU busy while Python queues the job, so that no wait for Python is
    measured where the job is a few kernels: it takes about a millisecond, a backward pass half of
    that to queue.
    """

    FLUSH_BYTES = 2**32

    def __init__(self) -> None:
        size = min(self.FLUSH_BYTES, torch.cuda.get_device_properties("cuda").total_memory // 8)
        self.buffer = torch.empty(size, dtype=torch.int8, device="cuda")

    def __call__(self, job: Job) -> list[float]:
        """Return the seconds of each lap."""
        self.buffer.zero_()
        marks = [self._mark()]
        job(lambda: marks.append(self._mark()))
        marks.append(self._mark())
        torch.cuda.synchronize()
        return [before.elapsed_time(after) / 1e3 for before, after in pairwise(marks)]

    def _mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event


def interleave(
    jobs: Mapping[Any, Job], clock: Clock, *, seconds: float, at_least: int, at_most: int
) -> dict[Any, list[list[float]]]:
    """Run every job once a round and return, by name, its laps in each round.

    Rounds end after `seconds`, but not before `at_least` of them and never after `at_most`; where
    they take unusually long, three must do. The order changes from round to round, so that nobody
    always runs after the one that leaves the caches cold.
    """
    order, random = list(jobs), Random(0)
    laps: dict[Any, list[list[float]]] = {name: [] for name in jobs}
    start = time.perf_counter()
    for done in range(at_most):
        spent = time.perf_counter() - start
        if spent >= seconds and done >= (FEWEST if spent >= PATIENCE else at_least):
            break
        for name in order:
            laps[name].append(clock(jobs[name]))
        random.shuffle(order)
    return laps


def quartiles(values: list[float]) -> list[float]:
    """Return the median and the quartiles about it, to seven digits.

    >>> quartiles([1.0, 2.0, 3.0])
    [2.0, 1.5, 2.5]
    """
    return [float(f"{value:.7g}") for value in np.percentile(values, [50, 25, 75])]


def ratio(ours: list[float], theirs: list[float]) -> list[float]:
    """Return how many times as long ours takes as theirs, round by round: the quartiles."""
    return quartiles([a / b for a, b in zip(ours, theirs, strict=True)])

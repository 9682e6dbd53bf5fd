"""Times that can be compared: every rival once a round, round after round, on one machine.

A machine's speed drifts within seconds. What is compared is therefore measured side by side, and a
ratio is taken within each round; its median and quartiles are reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Protocol

import numpy as np
import torch

Lap = Callable[[], None]
FEWEST, PATIENCE = 3, 20.0  # rounds that must do after so many seconds
# A job runs once; where it calls its argument, one lap ends and the next begins.
Job = Callable[[Lap], object]


class Clock(Protocol):
    """Measures one run of a job."""

    def laps(self, job: Job) -> list[float]:
        """Return the seconds of each lap."""
        ...


@dataclass(frozen=True)
class Spread:
    """A median with the quartiles about it."""

    median: float
    q1: float
    q3: float

    @property
    def rounded(self) -> list[float]:
        """Median and quartiles as the results hold them: seven digits."""
        return [float(f"{value:.7g}") for value in (self.median, self.q1, self.q3)]

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Summarise some values, at least one."""
        q1, median, q3 = np.percentile(values, [25, 50, 75])
        return cls(float(median), float(q1), float(q3))


class WallClock:
    """The CPU's: a call is over when it returns."""

    def laps(self, job: Job) -> list[float]:
        """Return the seconds of each lap."""
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

    def laps(self, job: Job) -> list[float]:
        """Return the seconds of each lap."""
        self.buffer.zero_()
        marks = [self._mark()]
        job(lambda: marks.append(self._mark()))
        marks.append(self._mark())
        torch.cuda.synchronize()
        pairs = pairwise(marks)
        return [before.elapsed_time(after) / 1e3 for before, after in pairs]

    def _mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event


def interleave(
    jobs: dict[str, Job],
    clock: Clock,
    *,
    seconds: float,
    at_least: int,
    at_most: int,
    coarse: Container[str] = (),
    now: Callable[[], float] = time.perf_counter,
) -> dict[str, list[list[float]]]:
    """Run every job once a round and return, by name, its laps in each round.

    Rounds end after `seconds`, but not before `at_least` of them and never after `at_most`; where
    they take unusually long, three must do. The `coarse` jobs, slow and compared with a factor that
    a few rounds tell, sit out the rounds that are left after half of that time. The order changes
    from round to round, so that nobody always runs after the one that leaves the caches cold.
    """
    order, random = list(jobs), Random(0)
    laps: dict[str, list[list[float]]] = {name: [] for name in jobs}
    start = now()
    for done in range(at_most):
        needed = FEWEST if now() >= start + PATIENCE else at_least
        if done >= needed and now() >= start + seconds:
            break
        tired = done >= FEWEST and now() >= start + PATIENCE / 2
        for name in order:
            if not (tired and name in coarse):
                laps[name].append(clock.laps(jobs[name]))
        random.shuffle(order)
    return laps


def ratio(ours: list[float], theirs: list[float]) -> Spread:
    """Return how many times as long ours takes as theirs, round by round."""
    return Spread.of([a / b for a, b in zip(ours, theirs, strict=True)])

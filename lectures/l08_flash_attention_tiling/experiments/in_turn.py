"""Several programs timed in turn, so that a busy moment of the machine hits all of them."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np


def time_in_turn(programs: Mapping[str, Callable[[], Any]], runs: int = 7) -> dict[str, np.ndarray]:
    """Return the seconds of each program's runs; a first run of each warms up and is left out."""
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(1 + runs):
        for name, program in programs.items():
            start = perf_counter()
            program()
            times[name].append(perf_counter() - start)
    return {name: np.array(seconds[1:]) for name, seconds in times.items()}

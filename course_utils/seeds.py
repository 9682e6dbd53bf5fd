"""Seeds for a part of a program that leave everybody else's random numbers as they were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["own_random_numbers"]


@contextmanager
def own_random_numbers(seed: int | None = None) -> Iterator[None]:
    """Restore torch's random numbers after the block, on the CPU and on every GPU.

    Args:
        seed: what the block's own begin with; None lets it go on with those that are there.

    >>> expected = torch.random.get_rng_state()
    >>> with own_random_numbers(seed=7):
    ...     layer = torch.nn.Linear(5, 3)
    >>> torch.equal(torch.random.get_rng_state(), expected)
    True
    """
    awake = torch.cuda.is_initialized()
    try:
        with torch.random.fork_rng(devices=range(torch.cuda.device_count()) if awake else ()):
            mps = torch.mps.get_rng_state() if torch.backends.mps.is_available() else None
            try:
                if seed is not None:
                    torch.manual_seed(seed)
                yield
            finally:
                if mps is not None:
                    torch.mps.set_rng_state(mps)
    finally:
        if torch.cuda.is_available() and not awake:
            # A GPU that nobody has used is not woken for its state: it begins as the CPU did.
            torch.cuda.manual_seed_all(torch.initial_seed())

"""Compile what a GPU's goals need, beside other work, so that measuring need not wait for it.

    python -m benchmarks._compile 0 4

is the first of four processes that share the work. Each chooses tiles as the benchmark will, in
Triton's cache on disk: what they compile stays, what they choose is thrown away, since together
they disturb each other's times.
"""

from __future__ import annotations

import sys

from benchmarks._cases import Case, gpu_cases
from benchmarks._memory import run_once


def share(index: int, count: int) -> list[Case]:
    """Return one process's part of the shapes that need tiles of their own."""
    first: dict[tuple[int, bool], Case] = {}
    for case in gpu_cases():
        first.setdefault((case.D, case.causal), case)
    return list(first.values())[index::count]


def main(arguments: list[str]) -> int:
    """Compute each shape of a share once, forward and backward."""
    index, count = map(int, arguments)
    for case in share(index, count):
        run_once(case, "ours", "both", "cuda")()
        print(f"compiled {case.name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Which tiles each Triton kernel uses: fixed ones, or the fastest of a few, measured once.

Measuring compiles every candidate, a second or more each, so only long work is measured: short
work, the interpreter and compilation ahead of time use the fixed ones.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

__all__ = [
    "Configuration",
    "Problem",
    "candidates",
    "choose",
    "chosen_configurations",
    "constants_of",
    "fixed",
]

# Multiply-adds of one of a kernel's products from which its tiles are measured: 64 heads 64 wide
# with 4096 tokens are 2**36, causal half of that.
WORTH_MEASURING = 2**35
# Keys from which a problem counts as long: the best tiles for few keys are often smaller.
LONG = 4096


class Configuration(NamedTuple):
    """Tiles of ``block_m`` queries by ``block_n`` keys, warps to a program, loads under way."""

    block_m: int
    block_n: int
    warps: int
    stages: int


class Problem(NamedTuple):
    """What the best tiles depend on.

    ``instruction`` is how the device multiplies matrices: ``"wgmma"`` (Hopper), ``"tcgen05"``
    (Blackwell for data centres), ``"mma.sync"`` (other NVIDIA), ``"mfma"`` (AMD).
    """

    kernel: str
    instruction: str
    bits: int
    block_d: int
    causal: bool
    long: bool


# For heads up to 64 wide and up to 128: forward, backward_queries, backward_keys. Chosen for what
# the compiler reports (no spills, shared memory within the limit: course_utils.kernels.inspect).
_FIXED = {
    ("wgmma", 16, 64): ((128, 64, 4, 3), (128, 64, 8, 2), (64, 128, 8, 2)),
    ("wgmma", 16, 128): ((128, 128, 8, 2), (128, 64, 8, 2), (64, 64, 8, 2)),
    ("tcgen05", 16, 64): ((128, 64, 4, 2), (64, 64, 4, 2), (64, 64, 4, 2)),
    ("tcgen05", 16, 128): ((128, 64, 8, 2), (64, 64, 4, 2), (64, 64, 8, 2)),
    ("mma.sync", 16, 64): ((128, 64, 8, 2), (64, 64, 4, 2), (32, 128, 8, 2)),
    ("mma.sync", 16, 128): ((128, 32, 8, 2), (64, 64, 8, 2), (64, 64, 8, 2)),
    # NVIDIA's tensor cores do not multiply float32 in full precision: no matrix instruction.
    ("fma", 32, 64): ((32, 32, 4, 2), (32, 32, 4, 2), (32, 32, 8, 2)),
    ("fma", 32, 128): ((32, 16, 8, 2), (32, 16, 4, 2), (32, 32, 8, 2)),
    ("mfma", 32, 64): ((32, 32, 4, 2), (32, 32, 4, 2), (32, 32, 4, 2)),
    ("mfma", 32, 128): ((32, 32, 4, 2), (32, 32, 4, 2), (32, 32, 4, 2)),
    ("mfma", 16, 64): ((128, 64, 8, 2), (64, 64, 4, 2), (64, 64, 4, 2)),
    ("mfma", 16, 128): ((64, 64, 4, 2), (64, 64, 4, 2), (32, 64, 4, 2)),
}
# Block of queries, block of keys, warps: those that spill little on Hopper, and whose rows (keys,
# for the last kernel) are at least the 64 that its tensor cores take at a time.
_TRIED = {
    ("forward", 64): ((64, 64, 4), (64, 128, 4), (128, 64, 4), (128, 64, 8), (128, 128, 8)),
    ("forward", 128): ((64, 64, 4), (128, 64, 8), (128, 128, 8)),
    ("backward_queries", 64): ((64, 64, 4), (64, 128, 4), (128, 64, 8), (128, 128, 8)),
    ("backward_queries", 128): ((64, 64, 4), (64, 128, 8), (128, 64, 8)),
    ("backward_keys", 64): ((64, 64, 4), (64, 128, 8)),
    ("backward_keys", 128): ((64, 64, 8), (64, 128, 8)),
}
_ORDER = ("forward", "backward_queries", "backward_keys")
_chosen: dict[Problem, Configuration] = {}


def fixed(problem: Problem) -> Configuration:
    """Return the tiles used where nothing is measured.

    >>> fixed(Problem("forward", "wgmma", 16, block_d=128, causal=True, long=False)).block_m
    128
    """
    plain = problem.bits == 32 and problem.instruction != "mfma"
    width = 64 if problem.block_d <= 64 else 128
    row = _FIXED["fma" if plain else problem.instruction, problem.bits, width]
    return Configuration(*row[_ORDER.index(problem.kernel)])


def candidates(problem: Problem) -> tuple[Configuration, ...]:
    """Return the tiles worth measuring, the fixed ones first.

    >>> len(candidates(Problem("forward", "wgmma", 32, block_d=64, causal=True, long=False)))
    1
    """
    first = fixed(problem)
    if problem.bits == 32:
        return (first,)
    tried = _TRIED[problem.kernel, 64 if problem.block_d <= 64 else 128]
    more = [Configuration(m, n, warps, stages) for m, n, warps in tried for stages in (2, 3)]
    return (first, *(one for one in more if one != first))


def choose(
    problem: Problem, work: float, seconds: Callable[[Configuration], float]
) -> Configuration:
    """Return the tiles for a problem; measure them if that is worth it and has not been done.

    Args:
        problem: what is to be computed.
        work: multiply-adds of one call.
        seconds: runs the kernel with given tiles and returns how long it takes; ``inf`` if they
            do not fit the device.

    >>> problem = Problem("forward", "wgmma", 16, block_d=64, causal=True, long=False)
    >>> choose(problem, 1e3, lambda tiles: 1.0) == fixed(problem)
    True
    """
    if problem not in _chosen:
        if work < WORTH_MEASURING:
            return fixed(problem)
        times = {one: seconds(one) for one in candidates(problem)}
        best = min(times, key=lambda one: times[one])
        _chosen[problem] = fixed(problem) if math.isinf(times[best]) else best
    return _chosen[problem]


def chosen_configurations() -> dict[Problem, Configuration]:
    """Return what has been measured to be fastest in this process, by problem.

    >>> chosen_configurations()
    {}
    """
    return dict(_chosen)


def constants_of(
    kernel: str, tiles: Configuration, *, D: int, group: int, causal: bool, T: int
) -> dict[str, int]:
    """Return what a kernel is compiled for, besides dtypes and strides.

    Args:
        kernel: its name.
        tiles: the size of a tile.
        D: head width.
        group: query heads to a key/value head.
        causal: whether a query is kept from later keys.
        T: queries.

    >>> tiles = Configuration(64, 32, warps=4, stages=2)
    >>> constants_of("forward", tiles, D=40, group=1, causal=False, T=7)["BLOCK_D"]
    64
    """
    constants = {
        "GROUP": group,
        "D": D,
        "BLOCK_D": max(16, 1 << (D - 1).bit_length()),  # a power of two, as blocks must be
        "CAUSAL": causal,
        "BLOCK_M": tiles.block_m,
        "BLOCK_N": tiles.block_n,
    }
    if kernel == "backward_keys":
        constants["EVEN"] = T % tiles.block_m == 0  # no tile of queries is cut off
    return constants

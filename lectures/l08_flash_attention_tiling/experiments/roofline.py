"""What a GPU makes of a cost: the least time, what limits it, and whether a tile fits on the chip.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009.
"""

from typing import NamedTuple

from course_utils.kernels.gpus import GPU
from lectures.l08_flash_attention_tiling.experiments.traffic import STATISTIC, Cost

__all__ = ["TileMemory", "least_times", "tile_memory"]

_SIZE = 2  # bytes of a number in q, k and v
_STAGES = 2  # tiles of k and v that are there at once


class TileMemory(NamedTuple):
    """Bytes that one block of threads needs: in shared memory and in registers."""

    shared: int
    registers: int


def tile_memory(block_m: int, block_n: int, D: int) -> TileMemory:
    """Return what a tile of 16-bit numbers takes on the chip.

    In shared memory: the tile of q, and of k and v twice, so that the next tiles arrive while
    these are worked on. In registers, as float32: the scores (block_m, block_n), the accumulator
    (block_m, D), m and l. A compiler needs some more of both.

    >>> tile = tile_memory(128, 128, 128)
    >>> tile.shared // 1024, tile.registers // 1024
    (160, 129)
    """
    return TileMemory(
        shared=_SIZE * D * (block_m + 2 * _STAGES * block_n),
        registers=STATISTIC * block_m * (block_n + D + 2),
    )


def least_times(cost: Cost, gpu: GPU) -> dict[str, float]:
    """Return the seconds that each part of a GPU needs at least for its share of a cost.

    The largest is the least time that the GPU could take, the parts overlapped. No kernel reaches
    it. It is only as true as the bytes: what a cache spares has to be left out of the cost.
    """
    return {
        "products": cost.matmul_flops / gpu.tensor_flops,
        "vector units": cost.vector_flops / gpu.vector_flops,
        "special functions": cost.special_results / gpu.special_rate,
        "memory": cost.bytes / gpu.memory_bandwidth,
    }

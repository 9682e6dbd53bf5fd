"""What a GPU makes of a cost: the least time, what limits it, and whether a tile fits on the chip.

Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", 2009.
"""

from dataclasses import dataclass

from course_utils.checks import check_finite, check_int
from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import GPU
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    STATISTIC,
    Cost,
    naive_backward,
    naive_forward,
    tiled_backward,
    tiled_forward,
)

__all__ = ["TileMemory", "TimeBound", "attainable_flops", "cost_table", "tile_memory", "time_bound"]


@dataclass(frozen=True)
class TileMemory:
    """Bytes that one block of threads needs: in shared memory and in registers.

    >>> TileMemory(shared=96 * 1024, registers=98_816).shared
    98304
    """

    shared: int
    registers: int


def tile_memory(
    block_m: int, block_n: int, D: int, *, element_size: int = 2, stages: int = 2
) -> TileMemory:
    """Return what a tile takes on the chip.

    In shared memory: the tile of q, and of k and v ``stages`` times, so that the next tiles arrive
    while these are worked on. In registers, as float32: the scores (block_m, block_n), the
    accumulator (block_m, D), m and l. A compiler needs some more of both.

    Args:
        block_m: queries in a tile.
        block_n: keys in a tile.
        D: head width.
        element_size: bytes of a number in q, k and v.
        stages: how many tiles of k and v are there at once.

    Raises:
        TypeError, ValueError: if a size is not a positive integer.

    >>> tile = tile_memory(128, 128, 128)
    >>> tile.shared // 1024, tile.registers // 1024
    (160, 129)
    """
    block_m, block_n = check_int("block_m", block_m), check_int("block_n", block_n)
    D, element_size = check_int("D", D), check_int("element_size", element_size)
    keys = 2 * check_int("stages", stages) * block_n
    return TileMemory(
        shared=element_size * D * (block_m + keys),
        registers=STATISTIC * block_m * (block_n + D + 2),
    )


@dataclass(frozen=True)
class TimeBound:
    """The least time in seconds, and which part takes it: "products", "vector units" or "memory".

    >>> TimeBound(seconds=0.5, limit="memory").limit
    'memory'
    """

    seconds: float
    limit: str


def time_bound(cost: Cost, gpu: GPU) -> TimeBound:
    """Return the least time that a GPU could take: that of its busiest part, the others overlapped.

    ``max(matmul_flops / tensor_flops, vector_flops / vector_flops of the GPU, bytes / bandwidth)``.
    No kernel reaches it; one bound by memory cannot be helped by a faster computing unit. It is
    only as true as the bytes: what a cache spares has to be left out of the cost.

    Raises:
        TypeError: if ``cost`` is no Cost or ``gpu`` no GPU.

    >>> from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import naive_forward, tiled_forward
    >>> from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import find_gpu
    >>> h100, sizes = find_gpu("H100 SXM"), (4096, 4096, 64)
    >>> time_bound(naive_forward(*sizes, heads=64), h100).limit
    'memory'
    >>> tiled = tiled_forward(*sizes, block_m=128, block_n=128, cached=True, heads=64)
    >>> time_bound(tiled, h100).limit
    'products'
    """
    if not isinstance(cost, Cost):
        raise TypeError(f"cost must be a Cost, got {cost!r} ({type(cost).__name__})")
    _check_gpu(gpu)
    times = {
        "products": cost.matmul_flops / gpu.tensor_flops,
        "vector units": cost.vector_flops / gpu.vector_flops,
        "memory": cost.bytes / gpu.memory_bandwidth,
    }
    limit = max(times, key=times.__getitem__)
    return TimeBound(times[limit], limit)


def attainable_flops(gpu: GPU, intensity: float) -> float:
    """Return the roof over a computation: ``min(tensor_flops, intensity * bandwidth)``, FLOP/s.

    Args:
        gpu: the GPU.
        intensity: FLOPs in products per byte moved.

    Raises:
        TypeError, ValueError: if ``gpu`` is no GPU or the intensity no positive number.

    >>> from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import find_gpu
    >>> round(attainable_flops(find_gpu("A100 SXM 80GB"), 10.0) / 1e12, 2)
    20.39
    """
    _check_gpu(gpu)
    if check_finite("intensity", intensity) <= 0:
        raise ValueError(f"intensity must be positive, got {intensity}")
    return min(gpu.tensor_flops, intensity * gpu.memory_bandwidth)


def cost_table(
    T: int,
    S: int,
    D: int,
    *,
    block_m: int,
    block_n: int,
    causal: bool = False,
    element_size: int = 2,
    heads: int = 1,
) -> str:
    """Return what naive and tiled attention cost, forward and backward, as a Markdown table.

    Args:
        T: queries.
        S: keys.
        D: head width.
        block_m: queries in a tile.
        block_n: keys in a tile.
        causal: whether a query is kept from later keys.
        element_size: bytes of a number.
        heads: batch times query heads.

    Raises:
        TypeError, ValueError: as the costs themselves.

    >>> print(cost_table(1024, 1024, 64, block_m=128, block_n=128, heads=16))
    | | products, GFLOP | other, GFLOP | moved, MB | FLOP/byte |
    | --- | --- | --- | --- | --- |
    | naive, forward | 4.29 | 0.10 | 143 | 30 |
    | tiled, forward | 4.29 | 0.09 | 38 | 114 |
    | naive, backward | 8.59 | 0.08 | 252 | 34 |
    | tiled, backward | 15.03 | 0.20 | 87 | 172 |
    """
    sizes = {"element_size": element_size, "heads": heads}
    tiles = {"block_m": block_m, "block_n": block_n, "causal": causal, **sizes}
    costs = {
        "naive, forward": naive_forward(T, S, D, **sizes),
        "tiled, forward": tiled_forward(T, S, D, **tiles),
        "naive, backward": naive_backward(T, S, D, **sizes),
        "tiled, backward": tiled_backward(T, S, D, **tiles),
    }
    rows = ["| | products, GFLOP | other, GFLOP | moved, MB | FLOP/byte |", "|" + " --- |" * 5]
    for name, cost in costs.items():
        products, other = cost.matmul_flops / 1e9, cost.vector_flops / 1e9
        moved = cost.bytes / 1e6
        rows.append(
            f"| {name} | {products:.2f} | {other:.2f} | {moved:.0f} | {cost.intensity:.0f} |"
        )
    return "\n".join(rows)


def _check_gpu(gpu: object) -> None:
    __tracebackhide__ = True
    if not isinstance(gpu, GPU):
        raise TypeError(f"gpu must be a GPU, got {gpu!r} ({type(gpu).__name__})")

"""Lecture 08: naive and tiled attention under the roof of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Steps, Toggle
from course_utils.kernels.gpus import GPUS
from lectures.l08_flash_attention_tiling.experiments.roofline import (
    least_times,
    tile_memory,
)
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_forward,
    tiled_forward,
)

HEADS = 64  # batch times heads: enough to fill each of these GPUs
# From 1,024 tokens on, the matrices of all heads are larger than any of these L2 caches.
LENGTHS = tuple(2**power for power in range(10, 17))
WIDTHS = (16, 32, 64, 128)
BLOCKS = (16, 32, 64, 128, 256)
GROUPS = (1, 2, 4, 8)
LIMITS = ("tensor cores", "vector units", "exps", "memory")  # the order of `least_times`
NAMES = ("naive", "tiled", "tiled with k and v in L2", "decoding")
KERNEL = {
    "gpu": "H100 SXM",
    "width": 64,
    "block_m": 128,
    "block_n": 64,
    "length": 4096,
    "decoding": False,
}


@dataclass(frozen=True)
class RooflineState:
    """The roof of a GPU, the points under it, and a tile against one SM.

    `intensity`, `rate`, `seconds` and `limit` (4,) are FLOPs a byte, FLOP/s and seconds at best,
    and the index in LIMITS of what limits: naive, tiled, tiled with k and v in the L2 cache, and
    decoding. `bandwidth`, `tensor` and `exps` are the three roofs, the last in FLOP/s of products.
    """

    bandwidth: float
    tensor: float
    exps: float
    intensity: np.ndarray
    rate: np.ndarray
    seconds: np.ndarray
    limit: np.ndarray
    sms: int
    shared: int
    shared_limit: int
    registers: int
    registers_limit: int
    group: int
    decoding: bool


class Roofline(Explorer):
    """GPU, sizes and tile → FLOPs a byte, FLOP/s at best, what limits, whether the tile fits."""

    title = "What limits attention: products, exponentials, or memory?"
    inputs = {
        "gpu": Choice("graphics processor", tuple(GPUS), "H100 SXM", in_picture=True),
        "width": Steps("head width D", WIDTHS, 64, in_picture=True),
        "block_m": Steps("queries in a tile", BLOCKS, 128, in_picture=True),
        "block_n": Steps("keys in a tile", BLOCKS, 64, in_picture=True),
        "length": Steps("sequence length N", LENGTHS, 4096, in_picture=True),
        "decoding": Toggle("decoding", in_picture=True),
        "group": Steps("heads that share k and v", GROUPS, 1, in_picture=True),
    }
    presets = {
        "as in the kernel": KERNEL,
        "few queries in a tile": {**KERNEL, "block_m": 16},
        "narrow heads: exps limit": {**KERNEL, "width": 32},
        "a tile too large": {**KERNEL, "width": 128, "block_m": 256, "block_n": 128},
        "a graphics card": {**KERNEL, "gpu": "RTX 4090", "width": 128, "block_n": 128},
        "decoding": {**KERNEL, "length": 32768, "decoding": True, "group": 1},
    }
    view = "roofline.js"
    reading = (
        "To the right, more FLOPs in products for each byte moved; upwards, more of them a second. "
        "Nothing gets above the roof: the slope is the main memory, the level line the tensor "
        "cores, the dashed one the exps. Drag a point along it. Counted are 64 heads, 16 bits, the "
        "forward pass. 'k, v in L2' assumes that the cache holds k and v of the heads at work."
    )

    def compute(
        self,
        gpu: str,
        width: int,
        block_m: int,
        block_n: int,
        length: int,
        decoding: bool,
        group: int,
    ) -> RooflineState:
        chip = GPUS[gpu]
        tiled = partial(tiled_forward, S=length, D=width, block_n=block_n)
        whole = partial(tiled, T=length, block_m=block_m, heads=HEADS)
        costs = (
            naive_forward(length, length, width, heads=HEADS),
            whole(),
            whole(cached=True),
            # The queries of the heads that share a key are a block of their own.
            tiled(T=group, block_m=group, heads=HEADS // group),
        )
        times = np.array([list(least_times(cost, chip).values()) for cost in costs])
        flops = np.array([cost.matmul_flops for cost in costs])
        memory = tile_memory(block_m, block_n, width)
        return RooflineState(
            bandwidth=chip.memory_bandwidth,
            tensor=chip.tensor_flops,
            exps=costs[1].matmul_flops / costs[1].special_results * chip.special_rate,
            intensity=np.array([cost.intensity for cost in costs]),
            rate=flops / times.max(1),
            seconds=times.max(1),
            limit=times.argmax(1),
            sms=chip.num_sms,
            shared=memory.shared,
            shared_limit=chip.shared_per_block,
            registers=memory.registers,
            registers_limit=chip.registers_per_sm,
            group=group,
            decoding=decoding,
        )

    def given(self, **served: Any) -> Mapping[str, Any]:
        chips = GPUS.values()
        return {
            "names": list(GPUS),
            "rates": np.array(
                [
                    [c.tensor_flops, c.vector_flops, c.special_rate, c.memory_bandwidth]
                    for c in chips
                ]
            ),
            "rooms": np.array(
                [[c.num_sms, c.shared_per_block, c.registers_per_sm] for c in chips], float
            ),
        }

    def caption(self, state: RooflineState) -> str:
        rates = [_teraflops(rate) for rate in state.rate]
        limits = [LIMITS[each] for each in state.limit]
        if state.decoding:
            queries = "1 query" if state.group == 1 else f"{state.group} queries"
            return (
                f"Decoding: at best [b:{rates[3]}] of {_teraflops(state.tensor)} TFLOP/s, "
                f"limited by {limits[3]}. Each key that is read serves [q:{queries}]: "
                f"[b:{number(state.intensity[3], 1)}] FLOPs a byte."
            )
        fits = state.shared <= state.shared_limit and state.registers <= state.registers_limit
        return (
            f"At best: {NAMES[0]} [b:{rates[0]}] TFLOP/s ({limits[0]}), "
            f"{NAMES[1]} [b:{rates[1]}] ({limits[1]}), "
            f"{NAMES[2]} [b:{rates[2]}] ({limits[2]})."
        ) + ("" if fits else " The tile does not fit.")


def _teraflops(rate: float) -> str:
    return number(rate / 1e12, 0 if rate >= 1e13 else 1)

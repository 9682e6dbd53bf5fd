"""Lecture 08: naive and tiled attention under the roof of a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Steps, Toggle
from course_utils.kernels.gpus import GPUS

# From 1,024 tokens on, the matrices of all heads are larger than any of these L2 caches.
LENGTHS = tuple(2**power for power in range(10, 17))
WIDTHS = (16, 32, 64, 128)
BLOCKS = (16, 32, 64, 128, 256)
GROUPS = (1, 2, 4, 8)
KERNEL = {
    "gpu": "H100 SXM",
    "width": 64,
    "block_m": 128,
    "block_n": 64,
    "length": 4096,
    "decoding": False,
}


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

"""What the lecture trains and measures."""

from course_utils.kernels.gpus import GPUS
from lectures.l08_flash_attention_tiling.experiments.gpu_table import gpu_table
from lectures.l08_flash_attention_tiling.experiments.roofline import least_times
from lectures.l08_flash_attention_tiling.experiments.tiled_sums import tiled_in
from lectures.l08_flash_attention_tiling.experiments.timed_attention import (
    attend_in_place,
    tiles_with_torch_products,
)
from lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_backward,
    naive_forward,
    tiled_backward,
    tiled_forward,
)

__all__ = [
    "GPUS",
    "attend_in_place",
    "gpu_table",
    "least_times",
    "naive_backward",
    "naive_forward",
    "tiled_backward",
    "tiled_forward",
    "tiled_in",
    "tiles_with_torch_products",
]

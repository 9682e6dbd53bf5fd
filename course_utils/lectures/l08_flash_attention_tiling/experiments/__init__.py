"""What the lecture trains and measures."""

from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import GPUS, gpu_table
from course_utils.lectures.l08_flash_attention_tiling.experiments.roofline import least_times
from course_utils.lectures.l08_flash_attention_tiling.experiments.sums import tiled_in
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_backward,
    naive_forward,
    tiled_backward,
    tiled_forward,
)

__all__ = [
    "GPUS",
    "gpu_table",
    "least_times",
    "naive_backward",
    "naive_forward",
    "tiled_backward",
    "tiled_forward",
    "tiled_in",
]

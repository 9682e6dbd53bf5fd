"""What the lecture counts and times."""

from course_utils.kernels.gpus import GPUS
from lectures.l08_flash_attention_tiling.experiments.gpu_table import gpu_table
from lectures.l08_flash_attention_tiling.experiments.in_turn import time_in_turn
from lectures.l08_flash_attention_tiling.experiments.roofline import least_times
from lectures.l08_flash_attention_tiling.experiments.traffic import (
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
    "time_in_turn",
]

"""What the lecture trains and measures."""

from course_utils.lectures.l08_flash_attention_tiling.experiments.hardware import gpu_table
from course_utils.lectures.l08_flash_attention_tiling.experiments.traffic import (
    naive_backward,
    naive_forward,
    tiled_backward,
    tiled_forward,
)

__all__ = ["gpu_table", "naive_backward", "naive_forward", "tiled_backward", "tiled_forward"]

"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l08_flash_attention_tiling.exercises.causal_kernel import CAUSAL_KERNEL
from lectures.l08_flash_attention_tiling.exercises.merge import MERGE
from lectures.l08_flash_attention_tiling.exercises.missing_rescale import MISSING_RESCALE
from lectures.l08_flash_attention_tiling.exercises.tiled_bytes import TILED_BYTES

__all__ = ["check_causal_kernel", "check_missing_rescale"]

# What the notebook calls them; their functions are `online_attention` and `causal_flash`.
check_missing_rescale, check_causal_kernel = MISSING_RESCALE.check, CAUSAL_KERNEL.check
globals().update(
    asks(Path(__file__).parents[1], [MERGE, TILED_BYTES, MISSING_RESCALE, CAUSAL_KERNEL])
)

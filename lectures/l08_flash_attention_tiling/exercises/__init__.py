"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l08_flash_attention_tiling.exercises.causal_kernel import CAUSAL_KERNEL
from lectures.l08_flash_attention_tiling.exercises.merge import MERGE
from lectures.l08_flash_attention_tiling.exercises.missing_rescale import MISSING_RESCALE

globals().update(
    asks(
        Path(__file__).parents[1],
        merge=MERGE,
        causal_flash=CAUSAL_KERNEL,
        missing_rescale=MISSING_RESCALE,
    )
)

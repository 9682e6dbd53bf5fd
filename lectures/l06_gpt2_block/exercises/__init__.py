"""The lecture's exercises, in their order, and its quiz."""

from pathlib import Path

from course_utils.teaching.asks import asks
from lectures.l06_gpt2_block.exercises.block import BLOCK
from lectures.l06_gpt2_block.exercises.count import COUNT
from lectures.l06_gpt2_block.exercises.fault import FAULT, faulty_gpt
from lectures.l06_gpt2_block.exercises.my_gpt_start import MY_GPT  # with all its stages

__all__ = ["faulty_gpt"]

globals().update(
    asks(
        Path(__file__).parents[1],
        block=BLOCK,
        MyGPT=MY_GPT,
        fault=FAULT,
        count=COUNT,
    )
)

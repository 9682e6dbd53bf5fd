"""The lecture's explorers."""

from course_utils.explorers.gpt.story import StoryGPT
from lectures.l06_gpt2_block.explorers.block import Block
from lectures.l06_gpt2_block.explorers.induction import Induction
from lectures.l06_gpt2_block.explorers.scaling_laws import ScalingLaws

__all__ = [
    "explore_block",
    "explore_induction",
    "explore_scaling_laws",
    "explore_story_gpt",
]

explore_block = Block
explore_scaling_laws = ScalingLaws
explore_induction = Induction
explore_story_gpt = StoryGPT

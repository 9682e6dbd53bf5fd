"""The lecture's explorers."""

from course_utils.explorers.gpt.story import StoryGPT
from lectures.l06_gpt2_block.explorers.block import Block
from lectures.l06_gpt2_block.explorers.induction import Induction
from lectures.l06_gpt2_block.explorers.logit_lens import LogitLens
from lectures.l06_gpt2_block.explorers.next_token import NextToken
from lectures.l06_gpt2_block.explorers.scaling_laws import ScalingLaws

__all__ = [
    "explore_block",
    "explore_induction",
    "explore_logit_lens",
    "explore_next_token",
    "explore_scaling_laws",
    "explore_story_gpt",
]

explore_block = Block
explore_next_token = NextToken
explore_logit_lens = LogitLens
explore_scaling_laws = ScalingLaws
explore_induction = Induction
explore_story_gpt = StoryGPT

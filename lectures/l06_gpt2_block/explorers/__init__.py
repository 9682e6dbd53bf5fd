"""The lecture's explorers."""

from course_utils.explorers.gpt.story import StoryGPT
from lectures.l06_gpt2_block.explorers.block import Block
from lectures.l06_gpt2_block.explorers.number import Number

__all__ = ["explore_block", "explore_number", "explore_story_gpt"]

explore_block = Block
explore_number = Number
explore_story_gpt = StoryGPT

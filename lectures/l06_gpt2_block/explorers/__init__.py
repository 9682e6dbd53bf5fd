"""The lecture's explorers."""

from course_utils.explorers.gpt.story import StoryGPT
from lectures.l06_gpt2_block.explorers.block import Block

__all__ = ["explore_block", "explore_story_gpt"]

explore_block = Block
explore_story_gpt = StoryGPT

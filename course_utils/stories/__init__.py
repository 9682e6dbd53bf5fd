"""A small world of stories: text that is worth generating, whose facts and entropy are known."""

from course_utils.stories.chances import next_word_chances
from course_utils.stories.story import Story, entropy, tell
from course_utils.stories.words import ALL_WORDS
from course_utils.stories.world import LIMITS, Limits

__all__ = [
    "ALL_WORDS",
    "LIMITS",
    "Limits",
    "Story",
    "entropy",
    "next_word_chances",
    "tell",
]

"""A small world of stories: text that is worth generating, whose facts and entropy are known."""

from course_utils.stories.reading import Objection, Reading
from course_utils.stories.story import Story, entropy, tell
from course_utils.stories.world import LIMITS, Limits

__all__ = ["LIMITS", "Limits", "Objection", "Reading", "Story", "entropy", "tell"]

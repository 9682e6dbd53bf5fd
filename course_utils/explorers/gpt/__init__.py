"""A GPT-2 that runs in the browser, and what Python sends it."""

from course_utils.explorers.gpt.weights import packed

__all__ = ["packed"]

"""The story GPT once more: what it keeps of each word, and what the next word costs."""

from __future__ import annotations

from course_utils.explorers.gpt.story import LOOKS, StoryGPT
from course_utils.explorers.inputs import Choice

COSTS = StoryGPT.presets["what it costs"]


class StoryCache(StoryGPT):
    """A story, a word that asks, the cache on or off → keys and values kept, multiplications."""

    title = "What does the next word cost, with a cache and without?"
    inputs = {**StoryGPT.inputs, "look": Choice("what to look at", LOOKS, "cache", in_picture=True)}
    presets = {
        "with the cache": COSTS,
        "without": {**COSTS, "cached": False},
        "after four words": {**COSTS, "text": "Ann was in the"},
        "a new story": StoryGPT.presets["a new story"],
    }
    view = StoryGPT.view_path()
    reading = (
        "The framed word asks; press another word to ask from there. Each column is a word of the "
        "story, each row a block: orange its keys, purple its values. Dark columns are computed in "
        "this step, pale ones were kept. The bars count every multiplication of the model for "
        "the next word, those with the matrices as well as the scores. The other buttons are for "
        "lecture 06."
    )

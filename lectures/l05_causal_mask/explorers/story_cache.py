"""The story GPT once more: what it keeps of each word, and what the next word costs."""

from __future__ import annotations

from course_utils.explorers.gpt.story import COLOUR, LAST, LOOKS, StoryGPT
from course_utils.explorers.inputs import Choice


class StoryCache(StoryGPT):
    """A story, a word that asks, the cache on or off → keys and values kept, multiplications."""

    title = "What does the next word cost, with a cache and without?"
    inputs = {**StoryGPT.inputs, "look": Choice("what to look at", LOOKS, "cache", in_picture=True)}
    # Each sets one thing and leaves the other: two can hold at once, and then both are lit.
    presets = {
        "with the cache": {"look": "cache", "cached": True},
        "without": {"look": "cache", "cached": False},
        "after four words": {"text": "Ann was in the", "at": LAST},
        "after 40 words": {"text": COLOUR, "at": LAST},
        "a new story": {"text": "", "at": LAST},
    }
    view = StoryGPT.view_path()
    reading = (
        "The framed word asks; press another word to ask from there. Each column is a word of the "
        "story, each row a block: orange its keys, purple its values. Dark columns are computed in "
        "this step, pale ones were kept. The bars count every multiplication of the model for "
        "the next word, those with the matrices as well as the scores. The other buttons are for "
        "lecture 06."
    )

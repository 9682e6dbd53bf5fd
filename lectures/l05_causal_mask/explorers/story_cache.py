"""The story GPT once more: what it keeps of each word, and what the next word costs."""

from __future__ import annotations

from course_utils.explorers.gpt.story import LAST, LOOKS, StoryGPT
from course_utils.explorers.inputs import Choice

COSTS = {"look": "cache", "cached": True}
TWENTY = "Ann was in the park. She found an old red hat. Ben was in the park. Ann"


class StoryCache(StoryGPT):
    """A story, a word that asks, the cache on or off → keys and values kept, multiplications."""

    title = "What does the next word cost, with a cache and without?"
    inputs = {**StoryGPT.inputs, "look": Choice("what to look at", LOOKS, "cache", in_picture=True)}
    # The first two leave the story as it is written.
    presets = {
        "with the cache": COSTS,
        "without": {**COSTS, "cached": False},
        "after four words": {**COSTS, "text": "Ann was in the", "at": LAST},
        "after 20 words": {**COSTS, "text": TWENTY, "at": LAST},
        "a new story": {**COSTS, "text": "", "at": LAST},
    }
    view = StoryGPT.view_path()
    reading = (
        "The framed word asks; press another word to ask from there. Each column is a word of the "
        "story, each row a block: orange its keys, purple its values. Dark columns are computed in "
        "this step, pale ones were kept. The bars count the multiplications for the next word: "
        "those with the matrices, and those of attention that the mask leaves. The other buttons "
        "are for lecture 06."
    )

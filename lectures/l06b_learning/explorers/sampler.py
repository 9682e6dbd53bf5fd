"""Lecture 06b: the story GPT, its dice, and what each block would say."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from course_utils.explorers.gpt.story import StoryGPT
from course_utils.explorers.inputs import Text

START = StoryGPT.presets["a new story"]
OLD_RED = {**START, "text": "Ann was in the park. She found an old red"}
TEXT = replace(cast(Text, StoryGPT.inputs["text"]), default=OLD_RED["text"])


class Sampler(StoryGPT):
    """A story, a temperature and a cut → the words that may be drawn, and the one that is."""

    title = "Which words may the dice choose?"
    inputs = {**StoryGPT.inputs, "text": TEXT}
    presets = {
        "found an old red": OLD_RED,
        "a new story": START,
        "temperature 0": {**OLD_RED, "temperature": 0.0},
        "temperature 2": {**OLD_RED, "temperature": 2.0},
        "top-k 3": {**OLD_RED, "k": 3},
        "top-p 0.9": {**OLD_RED, "p": 0.9},
        "block by block": StoryGPT.presets["when it knows"],
        "what it keeps": {**OLD_RED, "look": "cache"},
    }
    view = StoryGPT.view_path()

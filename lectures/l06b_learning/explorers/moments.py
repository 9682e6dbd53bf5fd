"""Lecture 06b: a GPT at four moments of its training; it writes, and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from course_utils.explorers import Explorer
from course_utils.explorers.gpt.own import as_gpt2
from course_utils.explorers.gpt.story import HAT, KINDS, LOOKS, MEAN_OF, StoryGPT, inputs_of
from course_utils.explorers.gpt.weights import mean_outputs, packed
from course_utils.explorers.inputs import Choice, Text
from course_utils.models.story_gpt import SHORT_STORIES, story_batch
from lectures.l06b_learning.experiments.moments import MOMENTS, SIZES, load_moments

WHO = f"{HAT} Who found the hat?"


class Moments(Explorer):
    """A story, and the steps of training → the next word, by the weights of that moment."""

    title = "One training, four moments: what can it write already?"
    inputs = {
        "moment": Choice("steps of training", MOMENTS, MOMENTS[0], in_picture=True),
        **inputs_of(SIZES),
        "text": Text("the story", "", examples=(WHO, "Meg"), longest=3000, in_picture=True),
    }
    presets = {
        **{f"after {moment} steps": {"moment": moment, "look": LOOKS[0]} for moment in MOMENTS},
        "who found the hat?": {"moment": MOMENTS[-1], "text": WHO, "look": LOOKS[0]},
        "what it keeps": {"moment": MOMENTS[-1], "text": WHO, "look": "cache"},
    }
    view = StoryGPT.view_path()
    reading = (
        "The framed word asks, and the bars are what may come next. The buttons at the top change "
        "how long this GPT has been trained; the story and the dice stay. It has two blocks of "
        "four heads; 1.0 is the first head of block 1. The bluer a word, the more the chosen head "
        "looks at it. It knows 180 words and signs, and reads 63. ↵ is the end of a line, before "
        "each story and after it."
    )

    def __init__(
        self,
        # by their steps as text; None for the packaged ones
        models: Mapping[str, nn.Module] | None = None,
        **values: Any,
    ) -> None:
        self._models = load_moments() if models is None else models
        super().__init__(**values)

    def given(self, **served: Any) -> Mapping[str, Any]:
        """The words, and the weights of each moment."""
        dice = torch.Generator().manual_seed(0)
        rows, _ = story_batch(SIZES.max_positions, MEAN_OF[0], SHORT_STORIES)(dice)
        moments = {}
        for name, model in self._models.items():
            gpt = as_gpt2(model)
            if gpt is None:
                raise ValueError("models must compute what a GPT-2 does, for the page to run them")
            moments[name] = {"gpt": packed(gpt), "means": mean_outputs(gpt, [rows])}
        return {**KINDS, "whose": "ours", "longest": SIZES.max_positions, "moments": moments}

"""The story GPT in the page: it writes, answers, is taken apart; or the reader's own GPT does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from course_utils.explorers import Explorer
from course_utils.explorers.gpt.own import as_gpt2, spoken
from course_utils.explorers.gpt.weights import mean_outputs, packed
from course_utils.explorers.inputs import Cells, Choice, Slider, Text, Toggle
from course_utils.models.gpt2 import GPT2Config
from course_utils.models.story_gpt import STORY_GPT, load_story_gpt, story_batch
from course_utils.stories.words import ALL_WORDS, FILLERS

HAT = (
    "Ann was in the park. She found an old red hat. Ben was in the park. Ann gave the hat to him. "
    "He went to the kitchen."
)
COLOUR = f"{HAT} What colour is the hat? It is"
WHO = f"{HAT} Who has the hat?"
FINDS_THE_COLOUR, READS_THE_QUESTION, FINDS_THE_GIFT = 12, 13, 10
MEAN_OF = (20, 128)  # rows of stories, words: over these a head's mean is taken
KINDS = {
    "words": ALL_WORDS,
    "kinds": {"things": FILLERS["noun"], "he": FILLERS["he"], "she": FILLERS["she"]},
}
LAST = STORY_GPT.max_positions - 1
LOOKS = ("dice", "heads", "lens", "cache")
LENS = {"when it knows": {"look": "lens"}}
COSTS = {"what it costs": {"look": "cache"}}  # of what is written: the story stays
PACKAGED = {
    "who has the hat?": {"text": WHO, "look": "heads", "head": FINDS_THE_GIFT},
    "without head 3.1": {
        "look": "heads",
        "head": READS_THE_QUESTION,
        "heads": ["####", "####", "####", "#.##"],
    },
}


def inputs_of(sizes: GPT2Config) -> dict[str, Any]:
    """The controls of a model of these sizes."""
    heads = ("#" * sizes.num_heads,) * sizes.num_layers
    last_head = sizes.num_layers * sizes.num_heads - 1
    head = min(FINDS_THE_COLOUR, last_head)
    return {
        "text": Text(
            "the story",
            COLOUR,
            examples=("", "Meg", "ann met a <b>dragon</b> & שלום", "Ben was in the park. " * 33),
            longest=3000,
            in_picture=True,
        ),
        "at": Slider("word to go on from", 0, LAST, LAST, in_picture=True),
        "seed": Slider("dice", 0, 999, 1, in_picture=True),
        "temperature": Slider("temperature", 0.0, 2.0, 1.0, step=0.05),
        "k": Slider("top-k words", 1, sizes.vocab_size, sizes.vocab_size),
        "p": Slider("top-p share", 0.05, 1.0, 1.0, step=0.01),
        "look": Choice("what to look at", LOOKS, LOOKS[0], in_picture=True),
        "head": Slider("chosen head", 0, last_head, head, in_picture=True),
        "heads": Cells("heads that are on", heads),
        "cached": Toggle("use the cache", True, in_picture=True),
    }


def _presets(sizes: GPT2Config, **others: Mapping[str, Any]) -> dict[str, Any]:
    """A new story, a question, and the question with other values."""
    heads = ["#" * sizes.num_heads] * sizes.num_layers
    asked = {name: each.default for name, each in inputs_of(sizes).items()} | {"heads": heads}
    return {
        "a new story": {**asked, "text": ""},
        "what colour is the hat?": asked,
        **{label: {**asked, **values} for label, values in others.items()},
    }


class StoryGPT(Explorer):
    """A story and switches for heads → the next word, what heads look at, the lens, the cache."""

    title = "A GPT writes in this page: where does each word come from?"
    inputs = inputs_of(STORY_GPT)
    presets = _presets(STORY_GPT, **PACKAGED, **LENS) | COSTS
    view = "story.js"
    reading = (
        "The framed word asks. A head is one reader: it looks back, and fetches something from "
        "what it looks at. There are four in each of four blocks; 2.0 is the first of block 2. The "
        "bluer a word, the more the chosen head looks at it. Switched off, a head gives what it "
        "gives on average. Press a word to ask from there, a bar to go on with it. The model knows "
        "180 words and signs, and reads 191 at most. Of its own stories one in six has a "
        "fault. ↵ is the end of a line, before each story and after it."
    )

    def __init__(self, model: nn.Module | None = None, **values: Any) -> None:
        self._own = model
        self._model = load_story_gpt() if model is None else as_gpt2(model)
        if self._model is None:
            self.served, self.presets = ("text",), _presets(STORY_GPT)
        elif model is not None:
            self.inputs = inputs_of(self._model.config)
            named = PACKAGED if self._model.config == STORY_GPT else {}
            self.presets = _presets(self._model.config, **named, **LENS) | COSTS
        super().__init__(**values)

    def given(self, **served: Any) -> Mapping[str, Any]:
        """The words, and the model; or where it is none that the page can compute, its scores."""
        if self._model is None:
            assert self._own is not None
            return {**KINDS, **spoken(self._own, served["text"])}
        longest = self._model.config.max_positions
        rows, _ = story_batch(MEAN_OF[1], MEAN_OF[0])(torch.Generator().manual_seed(0))
        return {
            **KINDS,
            "whose": "ours" if self._own is None else "yours",
            "longest": longest,
            "gpt": packed(self._model, half=self._own is None),
            "means": mean_outputs(self._model, [rows[:, :longest]]),
        }

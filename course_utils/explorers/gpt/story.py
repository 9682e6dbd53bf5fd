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
WHO = f"{HAT} Who has the hat?"
MEAN_OF = (20, 128)  # rows of stories, words: over these a head's mean is taken
_KINDS = {
    "words": ALL_WORDS,
    "kinds": {"things": FILLERS["noun"], "he": FILLERS["he"], "she": FILLERS["she"]},
}
LAST = STORY_GPT.max_positions - 1
LOOKS = ("heads", "lens", "cache")


def _inputs(sizes: GPT2Config) -> dict[str, Any]:
    heads = ("#" * sizes.num_heads,) * sizes.num_layers
    return {
        "text": Text(
            "the story",
            WHO,
            examples=("", "Meg", "ann met a <b>dragon</b> & שלום", "Ben was in the park. " * 33),
            longest=3000,
            in_picture=True,
        ),
        "at": Slider("word that asks", 0, sizes.max_positions - 1, LAST, in_picture=True),
        "seed": Slider("dice", 0, 999, 1, in_picture=True),
        "temperature": Slider("temperature", 0.0, 2.0, 1.0, step=0.05),
        "k": Slider("top-k words", 1, sizes.vocab_size, sizes.vocab_size),
        "p": Slider("top-p share", 0.05, 1.0, 1.0, step=0.01),
        "look": Choice("what to look at", LOOKS, LOOKS[0], in_picture=True),
        "head": Slider(
            "chosen head", 0, sizes.num_layers * sizes.num_heads - 1, 15, in_picture=True
        ),
        "heads": Cells("heads that are on", heads),
        "cached": Toggle("use the cache", True, in_picture=True),
    }


def _preset(text: str = WHO, look: str = LOOKS[0], off: str = "") -> dict[str, Any]:
    heads = [
        "".join(".#"[f"{block}.{head}" != off] for head in range(STORY_GPT.num_heads))
        for block in range(STORY_GPT.num_layers)
    ]
    dice = {"temperature": 1.0, "k": STORY_GPT.vocab_size, "p": 1.0, "seed": 1}
    return {"text": text, "at": LAST, **dice, "look": look, "heads": heads, "cached": True}


class StoryGPT(Explorer):
    """A story and switches for heads → the next word, what heads look at, the lens, the cache."""

    title = "A GPT writes in this page: where does each word come from?"
    inputs = _inputs(STORY_GPT)
    presets = {
        "a new story": _preset(""),
        "who has the hat?": {**_preset(), "head": 15},
        "without head 3.3": {**_preset(off="3.3"), "head": 15},
        "which head reads “Who”?": {**_preset(), "head": 7},
        "block by block": _preset(look="lens"),
        "what it keeps": _preset(look="cache"),
    }
    view = "story.js"
    reading = (
        "The blue word asks: the darker another word is, the more the chosen head looks at it. "
        "Press a word to ask from there, a bar to choose what comes next, a head to see what it "
        "looks at; its switch puts its mean in its place. The dice draw among the bars: the same "
        "dice draw the same words. ↵ is the end of the line before each story, and the end of a "
        "story. It knows 180 words and reads at most 191."
    )

    def __init__(self, model: nn.Module | None = None, **values: Any) -> None:
        self._own = model
        self._model = load_story_gpt() if model is None else as_gpt2(model)
        if self._model is None:
            self.served = ("text",)
        else:
            self.inputs = _inputs(self._model.config)
        super().__init__(**values)

    def given(self, **served: Any) -> Mapping[str, Any]:
        if self._model is None:
            assert self._own is not None
            return {**_KINDS, **spoken(self._own, served["text"])}
        rows, _ = story_batch(MEAN_OF[1], MEAN_OF[0])(torch.Generator().manual_seed(0))
        return {
            **_KINDS,
            "whose": "ours" if self._own is None else "yours",
            "longest": self._model.config.max_positions,
            "gpt": packed(self._model, half=self._own is None),
            "means": mean_outputs(self._model, rows[:, : self._model.config.max_positions]),
        }

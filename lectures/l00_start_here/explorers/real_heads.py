"""Lecture 00: a sentence in a real model, every head of it, and which word attends to which."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from course_utils.explorers import Explorer
from course_utils.explorers.data import Weights
from course_utils.explorers.inputs import Choice, Slider, Text
from course_utils.models.minilm_or_random import SENTENCES, TIRED, WIDE, minilm_is_here, read_text

LAYERS, HEADS = 6, 12
MAX_TOKENS = 22  # so many words can be written beside the rows of a map on a phone
BAT = SENTENCES[2]
# Which token asks, counted from [CLS]: "it", the second "bat", "street".
IT, SECOND_BAT, STREET = 10, 11, 8


@lru_cache(maxsize=16)  # typing asks for many
def read_sentence(text: str) -> Mapping[str, Any]:
    """A text's tokens, the weights (LAYERS, HEADS, T, T) of all heads, and whether it is cut."""
    reading = read_text(text, max_tokens=MAX_TOKENS)
    attentions = Weights(torch.stack(reading.attentions).numpy())
    return {"tokens": reading.tokens, "attentions": attentions, "cut": reading.truncated}


def _preset(sentence: str, layer: int, head: int, word: int) -> dict[str, Any]:
    return {"sentence": sentence, "own_text": "", "layer": layer, "head": head, "word": word}


class RealHeads(Explorer):
    """A sentence, a head and a word → which words it attends to, in every head."""

    title = "72 heads read one sentence: which word attends to which?"
    inputs = {
        "sentence": Choice("sentence", SENTENCES, TIRED),
        "own_text": Text(
            "or your own",
            "",
            examples=("Cats chase mice.", "a $5 bill_x^2 \\alpha", "naïve 茶 🙂", "w " * 90),
            placeholder="type a sentence",
            without_kernel="Run the notebook to try a sentence of your own.",
        ),
        "layer": Slider("layer", 0, LAYERS - 1, 3, in_picture=True),
        "head": Slider("head", 0, HEADS - 1, 1, in_picture=True),
        "word": Slider("word that asks", 0, MAX_TOKENS - 1, IT, in_picture=True),
    }
    presets = {
        "it → animal": _preset(TIRED, 3, 1, IT),
        "it … too wide": _preset(WIDE, 3, 1, IT),
        "looks one word back": _preset(TIRED, 0, 2, STREET),
        "finds the same word": _preset(BAT, 2, 9, SECOND_BAT),
        "looks at the start mark": _preset(TIRED, 4, 5, STREET),
    }
    view = "real_heads.js"
    served = ("own_text",)
    reading = (
        "Choose a word: the bluer another word is, the more the chosen one attends to it. All "
        "weights of a word add up to 1. Each small square is a head; in the large one, a row has "
        "the weights of one word's query, a column belongs to one word's key. [CLS] and [SEP] mark "
        "the start and the end of a text, and ## continues a word."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        own = served["own_text"].strip()
        sentences = () if own else SENTENCES
        return {
            "sentences": sentences,
            "readings": [read_sentence(each) for each in sentences],
            "own": read_sentence(own) if own else None,
            "real": minilm_is_here(),
        }

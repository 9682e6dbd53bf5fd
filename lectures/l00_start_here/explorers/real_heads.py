"""Lecture 00: a sentence in a real model, every head of it, and which word attends to which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.data import Weights
from course_utils.explorers.inputs import Choice, Slider, Text
from course_utils.models.minilm_or_random import SENTENCES, TIRED, WIDE, minilm_is_here, read_text

LAYERS, HEADS = 6, 12
MAX_TOKENS = 22  # so many words can be written beside the rows of a map on a phone
LITTLE = 0.05  # a weight that a caption does not name
LEVELS = 65_535  # what two bytes can tell apart: the browser gets two for each weight
BAT = SENTENCES[2]
# Which token asks, counted from [CLS]: "it", the second "bat", "street".
IT, SECOND_BAT, STREET = 10, 11, 8


@dataclass(frozen=True)
class SentenceRead:
    """The tokens of a text, and the weights (LAYERS, HEADS, T, T) of all heads over them."""

    tokens: tuple[str, ...]
    attentions: np.ndarray
    cut: bool


@dataclass(frozen=True)
class HeadState:
    """One head's weights (T, T): row `row` is the word that asks.

    `most` is the token with the largest weight of that row, `next` the one with the second largest.
    `cut` says that the text was too long, `real` that MiniLM read it, not random weights.
    """

    weights: np.ndarray
    layer: int
    head: int
    row: int
    asks: str
    most: str
    most_weight: float
    next: str
    next_weight: float
    cut: bool
    real: bool


@lru_cache(maxsize=16)  # typing asks for many
def read_sentence(text: str) -> SentenceRead:
    """Every head's weights over a text, rounded to what the browser gets."""
    reading = read_text(text, max_tokens=MAX_TOKENS)
    attentions = np.stack([each.numpy() for each in reading.attentions])
    rounded = np.rint(attentions.astype(np.float64) * LEVELS) / LEVELS
    return SentenceRead(reading.tokens, rounded.astype(np.float32), reading.truncated)


def _sent(reading: SentenceRead) -> dict[str, Any]:
    return {
        "tokens": reading.tokens,
        "attentions": Weights(reading.attentions),
        "cut": reading.cut,
    }


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
        "Choose a word: the darker another word is, the more the chosen one attends to it. All "
        "weights of a word add up to 1. Each small square is a head; in the large one, a row has "
        "the weights of one word's query, a column belongs to one word's key. [CLS] and [SEP] mark "
        "the start and the end of a text, and ## continues a word."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        own = served["own_text"].strip()
        sentences = () if own else SENTENCES
        return {
            "sentences": sentences,
            "readings": [_sent(read_sentence(each)) for each in sentences],
            "own": _sent(read_sentence(own)) if own else None,
            "real": minilm_is_here(),
        }

    def compute(self, sentence: str, own_text: str, layer: int, head: int, word: int) -> HeadState:
        reading = read_sentence(own_text.strip() or sentence)
        tokens, weights = reading.tokens, reading.attentions[layer, head]
        row = min(word, len(tokens) - 1)
        most, after = np.argsort(-weights[row], kind="stable")[:2]
        return HeadState(
            weights=weights,
            layer=layer,
            head=head,
            row=row,
            asks=tokens[row],
            most=tokens[most],
            most_weight=float(weights[row, most]),
            next=tokens[after],
            next_weight=float(weights[row, after]),
            cut=reading.cut,
            real=minilm_is_here(),
        )

    def caption(self, state: HeadState) -> str:
        where = f"layer {state.layer}, head {state.head}"
        if state.cut:
            where = f"only the first {MAX_TOKENS} tokens, {where}"
        if not state.real:
            where = f"random weights (run make setup), {where}"
        then = f", then to {_quoted('k', state.next)}, [b:{number(state.next_weight, 2)}]"
        if state.next_weight < LITTLE:
            then = f"; no other word gets {LITTLE}"
        return (
            f"{where[0].upper()}{where[1:]}: {_quoted('q', state.asks)} attends most to "
            f"{_quoted('k', state.most)}, [b:{number(state.most_weight, 2)}]{then}."
        )


def _quoted(kind: str, token: str) -> str:
    """A token in its colour, unless it is a single bracket, which would end the colour's own."""
    is_single = ("[" in token) != ("]" in token)
    return f"“{token}”" if is_single else f"[{kind}:“{token}”]"

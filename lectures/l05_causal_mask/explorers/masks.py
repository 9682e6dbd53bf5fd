"""Who may attend to whom: a painted mask, and what each output depends on through L layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Cells, Choice, Slider
from course_utils.masks import (
    causal_mask,
    padding_mask,
    prefix_mask,
    same_document_mask,
    sliding_window_mask,
)

SENTENCE, DOCUMENTS, PADDED = "one sentence", "two documents", "a sentence and padding"
T = 8
MOST_LAYERS = 6
LEAK = (2, 6)  # "the" may attend to "it"


def rows(may_attend: Tensor) -> list[str]:
    """A mask as a row of # (may attend) and . for each query, as `Cells` has it."""
    return ["".join("#" if cell else "." for cell in row) for row in may_attend.tolist()]


def with_leak() -> Tensor:
    """The causal mask and one cell of the future."""
    mask = causal_mask(T)
    mask[LEAK] = True
    return mask


def first_and_window(window: int) -> Tensor:
    """A window that keeps the first word too.

    Source: Xiao et al., "Efficient streaming language models with attention sinks", 2023.
    """
    mask = sliding_window_mask(T, window)
    mask[:, 0] = True
    return mask


def preset(may_attend: Tensor, text: str = SENTENCE) -> dict[str, Any]:
    """The mask and its text; the chosen word and the layers stay."""
    return {"mask": rows(may_attend), "text": text}


class Masks(Explorer):
    """A mask, a word, a number of layers → the paths to the word's output, and all that leaks."""

    title = "Who may attend to whom, and can anyone peek at the answer?"
    inputs = {
        "mask": Cells("mask: who may attend to whom", rows(causal_mask(T))),
        "word": Slider("the word that asks", 0, T - 1, 5, in_picture=True),
        "layers": Slider("layers", 1, MOST_LAYERS, 2, in_picture=True),
        "text": Choice("sentence", (SENTENCE, DOCUMENTS, PADDED), SENTENCE, in_picture=True),
    }
    presets = {
        "causal": preset(causal_mask(T)),
        "one leak": preset(with_leak()),
        "window of 3": preset(sliding_window_mask(T, 3)),
        "first word + window": preset(first_and_window(3)),
        "prefix of 4": preset(prefix_mask(T, 4)),
        "two documents": preset(causal_mask(T) & same_document_mask([4, 4]), DOCUMENTS),
        "padding": preset(padding_mask([5], T)[0, 0].expand(T, T), PADDED),
        "all see all": preset(torch.ones(T, T, dtype=torch.bool)),
    }
    view = "masks.js"
    reading = (
        "A filled cell lets the word of its row attend to the word of its column. In each layer "
        "a word collects what those words have collected before and keeps its own vector (the "
        "ring), so an output depends on more words than it attends to (the dots). × marks a later "
        "word: a position that can read the next word has nothing left to predict."
    )

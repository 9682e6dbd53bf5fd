"""Who may attend to whom: a painted mask, and what each output depends on through L layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Cells, Choice, Slider
from course_utils.masks import (
    causal_mask,
    padding_mask,
    prefix_mask,
    same_document_mask,
    sliding_window_mask,
)
from course_utils.measure.dependence import reach_through

SENTENCE, DOCUMENTS, PADDED = "one sentence", "two documents", "a sentence and padding"
PAD = "pad"
# One word more than is read: the last is the answer of the last position.
TEXTS = {
    SENTENCE: ["Leo", "fed", "the", "cat", "and", "then", "it", "slept", "."],
    DOCUMENTS: ["The", "cat", "slept", ".", "We", "drink", "tea", "now", "."],
    PADDED: ["Leo", "fed", "the", "cat", ".", *[PAD] * 4],
}
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


@dataclass(frozen=True)
class MaskState:
    """What the positions know, as 0 and 1; t asks, s is asked, l = 0 are the words themselves.

    `knows` (L+1, T, T) is whether position t depends on word s after l layers, `feeds` (L+1, T)
    whether the chosen output depends on position t after layer l, `ahead` (L+1, T) whether position
    t knows a later word, `carries` (L+1, T) whether it knows a word later than the chosen one.
    `answered` (T,) says which outputs know the word that they are to predict, `empty` (T,) which
    words may attend to nothing. `sees`, `depends` and `later` count words for the chosen one.
    """

    mask: np.ndarray
    knows: np.ndarray
    feeds: np.ndarray
    ahead: np.ndarray
    carries: np.ndarray
    answered: np.ndarray
    empty: np.ndarray
    sees: int
    depends: int
    later: int
    cheats: int
    layers: int
    word: int
    name: str


class Masks(Explorer):
    """A mask, a word, a number of layers → the paths to the word's output, and all that leaks.

    After l layers with residual connections, position t depends on word s if there is a path of l
    steps, each along a cell of the mask or straight up: the l-th power of (mask or identity), as a
    matrix of truth values.
    """

    title = "Who may attend to whom, and can anyone peek at the answer?"
    inputs = {
        "mask": Cells("mask: who may attend to whom", rows(causal_mask(T))),
        "word": Slider("the word that asks", 0, T - 1, 5, in_picture=True),
        "layers": Slider("layers", 1, MOST_LAYERS, 2, in_picture=True),
        "text": Choice("sentence", tuple(TEXTS), SENTENCE, in_picture=True),
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

    def given(self, **served: Any) -> Mapping[str, Any]:
        return {"texts": TEXTS, "pad": PAD}

    def compute(self, mask: list[str], word: int, layers: int, text: str) -> MaskState:
        may_attend = torch.tensor([[cell == "#" for cell in row] for row in mask])
        reached = [reach_through(may_attend, depth) for depth in range(1, layers + 1)]
        knows = torch.stack([torch.eye(T, dtype=torch.bool), *reached])
        # The chosen output's dependence on each layer: what is left of the layers above it.
        feeds = knows.flip(0)[:, word]
        later = torch.ones(T, T, dtype=torch.bool).triu(1)
        graded = [word != PAD for word in TEXTS[text][1:T]]  # the last answer is not in the text
        answered = np.append(knows[-1].diagonal(1).numpy() & graded, False)
        return MaskState(
            mask=may_attend.numpy(),
            knows=knows.numpy(),
            feeds=feeds.numpy(),
            ahead=(knows & later).any(-1).numpy(),
            carries=knows[:, :, word + 1 :].any(-1).numpy(),
            answered=answered,
            empty=(~may_attend.any(-1)).numpy(),
            sees=int(may_attend[word].sum()),
            depends=int(knows[-1, word].sum()),
            later=int(knows[-1, word, word + 1 :].sum()),
            cheats=int(answered.sum()),
            layers=layers,
            word=word,
            name=TEXTS[text][word],
        )

    def caption(self, state: MaskState) -> str:
        name = f"[q:{state.name}]"
        if not state.sees:
            return (
                f"{name} may attend to nothing. Softmax divides 0 by 0 and gives “NaN”; the "
                f"course's attend gives zeros, and {name} keeps its own vector."
            )
        layers = "layer" if state.layers == 1 else "layers"
        later = f"[b:{number(state.later)}] of them" if state.later else "and on [b:nothing]"
        whose = "its" if state.cheats < 2 else "their"
        return (
            f"{name} attends to [k:{number(state.sees)}] of {T} words; through "
            f"[b:{number(state.layers)}] {layers} it depends on [k:{number(state.depends)}], "
            f"{later} later. [b:{number(state.cheats) if state.cheats else 'No'}] "
            f"{'position' if state.cheats < 2 else 'positions'} can read {whose} own answer."
        )

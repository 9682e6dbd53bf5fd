"""Lecture 06: the logit lens, what each layer of a GPT-2 would say if it were the last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Slider, Text, Toggle
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.threads import one_thread
from lectures.l06_gpt2_block.explorers.prompts import read_prompt, token_name

MOST_TOKENS = 9  # rows of the picture
NAMED = 5  # guesses of a layer that are shown
LAST = SMALL_GPT.num_layers  # layer 0 is the embedding, layer l what block l - 1 gives
SMALL = 0.01  # a probability below it is said to be below
QUERIES = "Each head has its own queries, keys and"
SOFTMAX = "The softmax of the scores"
PIECES = "It depends on the size of"
ROWS = "The weights of each row sum to one"
PROMPTS = (QUERIES, SOFTMAX, ROWS, PIECES, "A query is compared with every key")


class Lens(NamedTuple):
    """What the lens gives for one text of T tokens and L + 1 layers (0: the embedding).

    `own`, `final` (T,): the token that is read, and the guess of the last layer for the token after
    it. `probability`, `rank` (T, L + 1): of that final guess, rank 1 for the first. `best`,
    `best_share` (T, L + 1, NAMED): the layer's own most probable tokens.
    """

    own: np.ndarray
    final: np.ndarray
    probability: np.ndarray
    rank: np.ndarray
    best: np.ndarray
    best_share: np.ndarray


@torch.no_grad()
def look_through(model: GPT2, ids: tuple[int, ...]) -> Lens:
    """The logit lens: ``softmax(logits(h_l))`` for every hidden state of one text.

    Source: nostalgebraist, "Interpreting GPT: the logit lens", 2020.
    """
    with one_thread():
        states = model.trace(torch.tensor([ids])).hidden_states
        shares = model.logits(torch.cat(states)).double().softmax(dim=-1)  # (L + 1, T, V)
    shares = shares.transpose(0, 1)
    final = shares[:, -1].argmax(dim=-1)  # (T,)
    of_final = shares.gather(-1, final[:, None, None].expand(-1, shares.shape[1], 1))
    best = shares.sort(dim=-1, descending=True, stable=True)
    return Lens(
        own=np.array(ids),
        final=final.numpy(),
        probability=of_final[..., 0].numpy(),
        rank=1 + (shares > of_final).sum(dim=-1).numpy(),
        best=best.indices[..., :NAMED].numpy(),
        best_share=best.values[..., :NAMED].numpy(),
    )


class Reading(NamedTuple):
    """A lens and whether its text was too long."""

    lens: Lens
    cut: bool


@dataclass(frozen=True)
class LensState:
    """One cell: the guess of a layer after a token. `text` counts the texts, -1 for one's own.

    `settled` is the first layer from which on the final guess is in front.
    """

    text: int
    position: int
    layer: int
    inside: bool
    count: int
    cut: bool
    read: str
    says: str
    share: float
    final: str
    final_share: float
    own_again: bool
    rank: int
    settled: int


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    return tuple(token_name(token) for token in small_gpt_tokenizer().tokens)


@lru_cache(maxsize=1)
def _model() -> GPT2:
    return load_small_gpt()


@lru_cache(maxsize=32)  # typing asks for many
def read_through(text: str) -> Reading:
    """The lens over the last tokens of a text."""
    ids, cut = read_prompt(text, small_gpt_tokenizer(), MOST_TOKENS)
    return Reading(look_through(_model(), ids), cut)


def _preset(prompt: str, position: int, layer: int, inside: bool = True) -> dict[str, Any]:
    own = {"own_text": "", "inside": inside}
    return {"prompt": prompt, **own, "position": position, "layer": layer}


class LogitLens(Explorer):
    """A text, a token and a layer → what the model would say next if it ended there."""

    title = "At which layer does the model know what it will say?"
    inputs = {
        "prompt": Choice("text", PROMPTS, QUERIES),
        "own_text": Text(
            "or your own",
            "",
            examples=("The softmax of", "a $5 bill_x^2, naïve 茶 🙂", "w " * 60),
            placeholder="type the beginning of a sentence",
            without_kernel="Run the notebook to try a text of your own.",
        ),
        "position": Slider("last token that is read", 0, MOST_TOKENS - 1, 8, in_picture=True),
        "layer": Slider("layer that speaks", 0, LAST, LAST, in_picture=True),
        "inside": Toggle("show what earlier layers would say", in_picture=True),
    }
    presets = {
        "guess first": _preset(QUERIES, 8, LAST, inside=False),
        "queries, keys and …": _preset(QUERIES, 8, 1),
        "the embedding alone": _preset(QUERIES, 5, 0),
        "found, lost, found": _preset(SOFTMAX, 4, 2),
        "only at the end": _preset(ROWS, 7, 2),
        "a word in pieces": _preset(PIECES, 2, 1),
    }
    served = ("own_text",)
    view = "logit_lens.js"
    reading = (
        "Each row has read the text down to its token and guesses the next one. From left to right "
        "the same row passes through the layers; a cell has the word that the model would say if "
        "that layer were its last, darker for a higher probability. A teal frame marks a cell that "
        "agrees with the last layer. ␣ is a space, which belongs to its token."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        own = served["own_text"]
        return {
            "texts": [_sent(read_through(each).lens) for each in PROMPTS],
            "own": _sent(read_through(own).lens) if own else None,
        }

    def compute(
        self, prompt: str, own_text: str, position: int, layer: int, inside: bool
    ) -> LensState:
        lens, cut = read_through(own_text or prompt)
        names = _names()
        at = min(position, len(lens.own) - 1)
        shown = layer if inside else LAST
        behind = np.flatnonzero(lens.rank[at] > 1)
        best = lens.best[at, shown, 0]
        return LensState(
            text=-1 if own_text else PROMPTS.index(prompt),
            position=at,
            layer=shown,
            inside=inside,
            count=len(lens.own),
            cut=cut,
            read=names[lens.own[at]],
            says=names[best],
            share=float(lens.best_share[at, shown, 0]),
            final=names[lens.final[at]],
            final_share=float(lens.probability[at, shown]),
            own_again=bool(best == lens.own[at]),
            rank=int(lens.rank[at, shown]),
            settled=int(behind.max(initial=-1)) + 1,
        )

    def caption(self, state: LensState) -> str:
        read = f"Having read {state.position + 1} of {state.count} tokens, up to “{state.read}”"
        if state.cut:
            read = f"Reading the last {state.count} tokens, up to “{state.read}”"
        guess = f"“{state.says}”, [b:{number(state.share, 2)}]"
        if not state.inside:
            return f"{read}, the model guesses that {guess}, comes next."
        then = ""
        if state.layer == LAST:
            then = f"It leads {_since(state.settled)}."
        elif state.layer == 0 and state.own_again:
            then = "That is the token itself."
        elif state.rank > 1:
            then = f"The final guess, “{state.final}”, is only at place [b:{state.rank}]."
        else:
            then = "The last layer agrees."
        return f"{read}, {_layer(state.layer)} would say {guess}. {then}"


def _layer(layer: int) -> str:
    return f"block {layer - 1}" if layer else "the embedding"


def _since(settled: int) -> str:
    if settled == LAST:
        return "only after the last block"
    return f"from {_layer(settled)} on"


def _sent(lens: Lens) -> dict[str, Any]:
    """What the browser draws: names and numbers of every cell."""
    names = _names()
    return {
        "tokens": [names[each] for each in lens.own],
        "final": [names[each] for each in lens.final],
        "best": [names[each] for each in lens.best.ravel()],
        "shares": lens.best_share,
        "chances": lens.probability,
        "ranks": lens.rank,
    }

"""Lecture 06: the next token's probabilities under temperature, top-k and top-p, and a draw."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Slider, Text
from course_utils.models.gpt2 import GPT2
from course_utils.models.small_gpt import SMALL_GPT, load_small_gpt, small_gpt_tokenizer
from course_utils.threads import one_thread
from lectures.l06_gpt2_block.explorers.prompts import read_prompt, token_name

V = SMALL_GPT.vocab_size
SOFTMAX, SURE, KEYS = "The softmax of", "scores are divid", "queries, keys and"
PROMPTS = (SOFTMAX, "The model has", "The largest of the", KEYS, SURE)
PLAIN = {"own_text": "", "temperature": 1.0, "k": V, "p": 1.0, "chance": 0.28}


class Scores(NamedTuple):
    """What the model says of the token after a text: ids (V,) and logits (V,), largest first."""

    ids: np.ndarray
    logits: np.ndarray
    cut: bool


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    return tuple(token_name(token) for token in small_gpt_tokenizer().tokens)


@lru_cache(maxsize=1)
def _model() -> GPT2:
    return load_small_gpt()


@lru_cache(maxsize=32)  # typing asks for many
@torch.no_grad()
def scores_after(text: str) -> Scores:
    """The model's logits for the token after a text; of equal ones the lower id is first."""
    ids, cut = read_prompt(text, small_gpt_tokenizer(), SMALL_GPT.max_positions)
    with one_thread():
        logits = _model()(torch.tensor([ids]))[0, -1]
    order = logits.argsort(descending=True, stable=True)
    return Scores(order.numpy().astype(np.int32), logits[order].numpy(), cut)


class NextToken(Explorer):
    """A text, temperature, top-k and top-p → the next token's probabilities, and a draw."""

    title = "Which token comes next, and which tokens may be drawn?"
    inputs = {
        "prompt": Choice("text so far", PROMPTS, SOFTMAX),
        "own_text": Text(
            "or your own",
            "",
            examples=("Each query reads ", "a $5 bill_x^2, naïve 茶 🙂", "w " * 60),
            placeholder="type a beginning",
            without_kernel="Run the notebook to write your own text, and to let the model go on.",
        ),
        "temperature": Slider("temperature", 0.0, 2.0, 1.0, step=0.05, in_picture=True),
        "k": Slider("top-k: tokens that are kept", 1, V, V, in_picture=True),
        "p": Slider("top-p: share that is kept", 0.05, 1.0, 1.0, step=0.01, in_picture=True),
        "chance": Slider("where the draw falls", 0.0, 0.999, 0.28, step=0.001, in_picture=True),
    }
    presets = {
        "as the model says": {"prompt": SOFTMAX, **PLAIN},
        "greedy": {"prompt": SOFTMAX, **PLAIN, "temperature": 0.0},
        "hot": {"prompt": SOFTMAX, **PLAIN, "temperature": 2.0},
        "hot, top-k 5": {"prompt": SOFTMAX, **PLAIN, "temperature": 2.0, "k": 5},
        "top-p 0.9, unsure": {"prompt": SOFTMAX, **PLAIN, "p": 0.9},
        "top-p 0.9, sure": {"prompt": SURE, **PLAIN, "p": 0.9},
    }
    served = ("own_text",)
    view = "next_token.js"
    reading = (
        "Each bar is a token's probability at this temperature: drag the knob of the first bar. "
        "The line across the bars is top-k, the line through the strip top-p. Tokens behind a line "
        "are cut, and those that stay share their probability (the pale ends of the bars). The "
        "strip has all tokens end to end. A draw is a place on its filled part: whose piece is it? "
        "A thin mark at a bar is the model's own probability. ␣ is a space, part of its token."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        own = served["own_text"]
        return {
            "names": _names(),
            "texts": [_sent(scores_after(each)) for each in PROMPTS],
            "prompts": PROMPTS,
            "own": _sent(scores_after(own)) if own else None,
        }


def _sent(scores: Scores) -> dict[str, Any]:
    return {"ids": scores.ids, "logits": scores.logits, "cut": scores.cut}

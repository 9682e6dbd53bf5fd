"""Lecture 06: small GPTs that copy a row; each of their heads can be switched off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Slider, Toggle
from lectures.l06_gpt2_block.experiments.induction import LENGTH
from lectures.l06_gpt2_block.experiments.induction_runs import INDUCTION_RUNS
from lectures.l06_gpt2_block.explorers.induction_rows import (
    ROWS,
    loaded,
    rows_of_tokens,
    run_without,
)

WITH, WITHOUT, ONE = INDUCTION_RUNS
HEADS = tuple((layer, head) for layer in range(2) for head in range(2))
NAMES = tuple(f"layer{layer}_head{head}" for layer, head in HEADS)


@dataclass(frozen=True)
class InductionState:
    """What a model makes of one row and its copy, without the heads that are off.

    Attributes:
        tokens: the row and its copy (16,).
        position: of the token that asks.
        earlier: where that token was before; -1 in the first half.
        target: where the token is that followed it there; -1 in the first half.
        truth: the token that comes next; -1 after the last one.
        heads: pairs (layer, head) that the model has; ``off`` those that are off.
        weights: how each head's weight is spread for the token that asks (heads, 16).
        expected: the probability of each token to be the next one (16,).
        right: the probability of the token that comes next, at each position but the last (15,).
        loss: of the copy, in nats; ``whole_loss`` with all heads on.
    """

    model: str
    tokens: np.ndarray
    position: int
    earlier: int
    target: int
    truth: int
    heads: list[tuple[int, int]]
    off: list[tuple[int, int]]
    weights: np.ndarray
    expected: np.ndarray
    right: np.ndarray
    loss: float
    whole_loss: float


def _preset(model: str = WITH, start: int = 0, position: int = 12, off: str = "") -> dict[str, Any]:
    return {
        "model": model,
        "row": 2,
        "start": start,
        "position": position,
        **{name: name != off for name in NAMES},
    }


class Induction(Explorer):
    """A trained model, a row with its copy, heads to switch off → weights, predictions, loss."""

    title = "Which head knows what comes next?"
    inputs = {
        "model": Choice("model", tuple(INDUCTION_RUNS), WITH),
        "row": Slider("row of tokens", 1, ROWS, 2),
        "start": Slider("position where the copy starts", 0, LENGTH - 1, 0),
        "position": Slider("token that asks", 0, 2 * LENGTH - 1, 12, in_picture=True),
        **{
            name: Toggle(f"layer {layer}, head {head}", True, in_picture=True)
            for name, (layer, head) in zip(NAMES, HEADS, strict=True)
        },
    }
    presets = {
        "whole model": _preset(),
        "first half": _preset(position=5),
        "copy wraps": _preset(start=3),
        "layer 1, one off": _preset(off="layer1_head1"),
        "layer 0, one off": _preset(off="layer0_head1"),
        "learned without one": _preset(WITHOUT),
        "one layer": _preset(ONE, position=10),
    }
    view = "induction.js"
    reading = (
        "The blue token asks for the next one. Each strip is a head: the darker a cell, the more "
        "weight the head gives to that token. Its switch takes away what the head writes. In the "
        "copy, the blue ring is the earlier occurrence, the orange frame the token after it. The "
        "bars show the probability of the token that really comes next, and the loss is the mean "
        "of −ln of the seven that can be known. The first half was never trained, so a model may "
        "be sure of nonsense there. At the right, grey numbers are tokens outside this row."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        models = {
            name: {key: value.float().numpy() for key, value in loaded(name).state_dict().items()}
            for name in INDUCTION_RUNS
        }
        return {"models": models, "rows": rows_of_tokens().astype(np.uint8)}

    def compute(
        self, model: str, row: int, start: int, position: int, **switches: bool
    ) -> InductionState:
        layers = loaded(model).config.num_layers
        heads = [each for each in HEADS if each[0] < layers]
        off = [each for each in heads if not switches[NAMES[HEADS.index(each)]]]
        run = run_without(model, row, start, tuple(off))
        inside, last = position >= LENGTH, 2 * LENGTH - 1
        earlier = (start + position) % LENGTH
        return InductionState(
            model=model,
            tokens=run.tokens,
            position=position,
            earlier=earlier if inside else -1,
            target=(earlier + 1) % LENGTH if inside else -1,
            truth=int(run.tokens[position + 1]) if position < last else -1,
            heads=heads,
            off=off,
            weights=run.weights[:, position],
            expected=run.shares[position],
            right=run.shares[np.arange(last), run.tokens[1:]],
            loss=run.loss,
            whole_loss=run_without(model, row, start, ()).loss,
        )

    def caption(self, state: InductionState) -> str:
        best, which = int(state.expected.argmax()), "first" if state.earlier < 0 else "second"
        after = f"fter the {which} [q:{state.tokens[state.position]}] the model expects"
        start = f"Without {_named(state)}, a{after}" if state.off else f"A{after}"
        return (
            f"{start} [b:{best}], {number(state.expected[best], 2)}{_judged(state, best)}. "
            f"Loss of the copy: [b:{number(state.loss, 2)}] nats."
        )


def _named(state: InductionState) -> str:
    """The heads that are off, in at most five words."""
    (layer, head), count = state.off[0], len(state.off)
    if count == 1:
        return f"layer {layer}'s head {head}"
    if count == len(state.heads):
        return "any head"
    same = state.off[0][0] == state.off[1][0]
    return f"both heads of layer {layer}" if count == 2 and same else f"{count} of its 4 heads"


def _judged(state: InductionState, best: int) -> str:
    """Whether what is expected comes next."""
    if state.truth < 0:
        return "; the row ends here"
    if state.earlier < 0:
        return "; nobody can know"
    return ": right" if best == state.truth else f"; [k:{state.truth}] would be right"

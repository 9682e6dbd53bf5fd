"""Lecture 06: what three published scaling laws make of a budget, and models that were trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider
from lectures.l06_gpt2_block.experiments.scaling_law import (
    CHINCHILLA,
    KAPLAN_BATCH,
    KAPLAN_STEPS,
    LAWS,
    chinchilla_loss,
    compute_optimal,
)

POWERS = (18.0, 26.0)  # of ten, of the floating-point operations of a training
RATIOS = (-1.0, 4.0)  # of ten, of the tokens for each parameter
SIZES = (6.5, 13.5)  # of ten, of the parameters at which curves are drawn
COUNT = 101
KAPLAN, FIRST, AGAIN = LAWS


class Trained(NamedTuple):
    """A published model: its parameters, and the tokens that it read."""

    parameters: float
    tokens: float

    @property
    def at(self) -> dict[str, float]:
        """The values of the controls that are nearest to the model."""
        compute = math.log10(6 * self.parameters * self.tokens)
        ratio = math.log10(self.tokens / self.parameters)
        return {"compute": round(20 * compute) / 20, "ratio": round(20 * ratio) / 20}


# Brown et al., "Language models are few-shot learners", 2020, table 2.1; Hoffmann et al.,
# "Training compute-optimal large language models", 2022, table 1; Touvron et al., "Llama 2",
# 2023, table 1; Llama team, "The Llama 3 herd of models", 2024, section 3.1 (15.6 trillion tokens
# for 405B; the 8B model's card: more than 15 trillion).
MODELS = {
    "GPT-3": Trained(175e9, 300e9),
    "Chinchilla": Trained(70e9, 1.4e12),
    "Llama 2 7B": Trained(6.7e9, 2e12),
    "Llama 3 8B": Trained(8e9, 15e12),
    "Llama 3.1 405B": Trained(405e9, 15.6e12),
}


@dataclass(frozen=True)
class ScalingState:
    """One way to spend a budget, the ways of the laws, and the loss of every way.

    `losses` and `losses_again` (sizes,) are those of Chinchilla's law and of its later fit, at
    this budget. `best_sizes`, `best_tokens` (laws,) are in the order of `LAWS`; `best_losses`
    (laws,) are what the first fit says of Kaplan's choice, and each fit of its own.
    """

    losses: np.ndarray
    losses_again: np.ndarray
    best_sizes: np.ndarray
    best_tokens: np.ndarray
    best_losses: np.ndarray
    power: float
    parameters: float
    tokens: float
    loss: float


class ScalingLaws(Explorer):
    """Compute and tokens per parameter → parameters, tokens, loss, and what the laws advise."""

    title = "A larger model, or more text: how would you spend the compute?"
    inputs = {
        "compute": Slider("compute, as a power of ten", *POWERS, 23.5, step=0.05, in_picture=True),
        "ratio": Slider(
            "tokens for each parameter, as a power of ten", *RATIOS, 0.25, step=0.05,
            in_picture=True,
        ),
    }  # fmt: skip
    presets = {
        **{name: MODELS[name].at for name in ("GPT-3", "Chinchilla", "Llama 3 8B")},
        "GPT-3's compute, 20 tokens each": {"compute": 23.5, "ratio": 1.3},
        "a small budget": {"compute": 18.5, "ratio": 1.3},
    }
    view = "scaling_laws.js"
    reading = (
        "Left: each point is a way to train, so many parameters on so many tokens. All points of "
        "the dotted line cost the same, 6 × parameters × tokens. Drag the ring, or the line. Each "
        "law's line goes through the best split of every budget. Right: the loss along the dotted "
        "line; a law's dot lies at its own choice. The fits rest on models of 70 million to 16 "
        "billion parameters (Chinchilla); outside they are a guess, and this lecture's four sizes, "
        "far to the left, say nothing about them."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        return {
            "fits": [CHINCHILLA[law] for law in LAWS[1:]],
            "kaplan": {**KAPLAN_STEPS, **KAPLAN_BATCH},
            "models": [{"name": name, **model._asdict()} for name, model in MODELS.items()],
            "sizes": np.logspace(*SIZES, COUNT),
        }

    def compute(self, compute: float, ratio: float) -> ScalingState:
        budget = 10.0**compute
        parameters = math.sqrt(budget / 6 / 10.0**ratio)
        tokens = budget / 6 / parameters
        sizes = np.logspace(*SIZES, COUNT)
        losses, again = (
            np.array([chinchilla_loss(size, budget / 6 / size, law) for size in sizes])
            for law in LAWS[1:]
        )
        best = [compute_optimal(budget, law) for law in LAWS]
        of_kaplan = chinchilla_loss(best[0].parameters, best[0].tokens)
        return ScalingState(
            losses=losses,
            losses_again=again,
            best_sizes=np.array([each.parameters for each in best]),
            best_tokens=np.array([each.tokens for each in best]),
            best_losses=np.array([of_kaplan, best[1].loss, best[2].loss]),
            power=compute,
            parameters=parameters,
            tokens=tokens,
            loss=chinchilla_loss(parameters, tokens),
        )

    def caption(self, state: ScalingState) -> str:
        return (
            f"[b:{describe_number(state.parameters)}] parameters, "
            f"[b:{describe_number(state.tokens)}] tokens: Chinchilla's law says loss "
            f"[b:{number(state.loss, 3)}]. Its best split of {describe_flop(state.power)} "
            f"gives [b:{number(state.best_losses[1], 3)}], with "
            f"{describe_number(state.best_sizes[1])} parameters."
        )


def describe_flop(power: float) -> str:
    """A power of ten of FLOP as a number.

    >>> describe_flop(23.5), describe_flop(18.0)
    ('3.2 × 10²³ FLOP', '1.0 × 10¹⁸ FLOP')
    """
    whole = math.floor(power)
    raised = str(whole).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{number(10 ** (power - whole), 1)} × 10{raised} FLOP"


def describe_number(value: float) -> str:
    """A number of three digits in words of size.

    >>> describe_number(175e9), describe_number(1.4e12), describe_number(1e9)
    ('175 billion', '1.40 trillion', '1.00 billion')
    """
    for unit, words in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if value >= unit * 0.9995:
            part = value / unit
            return number(part, 2 if part < 9.995 else 1 if part < 99.95 else 0) + words
    return number(value)

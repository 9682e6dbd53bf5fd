"""Lecture 06b: what three published scaling laws make of a budget, and models that were trained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Slider

POWERS = (18.0, 26.0)  # of ten, of the floating-point operations of a training
RATIOS = (-1.0, 4.0)  # of ten, of the tokens for each parameter


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
        return {"models": [{"name": name, **model._asdict()} for name, model in MODELS.items()]}

"""Lecture 07b: which tokens pass which block of a small GPT, and what that saves and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Steps
from course_utils.measure.costs import attention_mixing_flops, attention_projection_flops
from course_utils.models.small_gpt import SMALL_GPT
from lectures.l07b_sharing.experiments.depth_runs import CAPACITIES, depth_runs

TEXTS = ("first", "second", "third", "fourth", "fifth")
ROUTER, PREDICTOR = "router", "predictor"
BLOCKS = SMALL_GPT.num_layers


@dataclass(frozen=True)
class DepthsState:
    """The way of a text's tokens through the blocks, and what it costs.

    `passes` is (blocks, T), the first block first. `work` are shares of the multiplications with
    every token: in feed-forward and projections, in scores and mixing, and in all, with what the
    routers and the predictors add. `loss` and `share` are medians of the runs.
    """

    tokens: list[str]
    passes: np.ndarray
    work: np.ndarray
    loss: float
    share: float
    by_chance: float
    in_full: float
    capacity: float
    chooser: str


class Depths(Explorer):
    """Capacity → which tokens pass which block, the multiplications, and the loss."""

    title = "Which tokens does a block need, and what do the others save?"
    inputs = {
        "capacity": Steps("share of the tokens that a block takes", CAPACITIES, 0.5,
                          in_picture=True),
        "text": Choice("text", TEXTS, TEXTS[0], in_picture=True),
        "chooser": Choice("chosen by the", (ROUTER, PREDICTOR), ROUTER, in_picture=True),
    }  # fmt: skip
    presets = {
        "every token": {"capacity": 1.0, "chooser": ROUTER},
        "half of them": {"capacity": 0.5, "chooser": ROUTER},
        "an eighth": {"capacity": 0.125, "chooser": ROUTER},
        "half, predicted": {"capacity": 0.5, "chooser": PREDICTOR},
        "a quarter, predicted": {"capacity": 0.25, "chooser": PREDICTOR},
    }
    view = "depths.js"
    reading = (
        "Each token goes up through three blocks: a full box is a block that computes it, a thin "
        "line a block that it skips. A grey word skips all three. The router sees the whole text "
        "and takes the best; the predictor sees one token at a time, as a model that writes must. "
        "In the chart, each line is the median of three runs, small dots are the runs; drag the "
        "ring, or choose above the words."
    )

    def given(self, **served: Any) -> Mapping[str, Any]:
        found = depth_runs()
        shares = np.median(_runs(found.predicted_share), axis=1)
        return {
            "capacities": list(CAPACITIES),
            "lines": [
                {"name": name, "shares": x, "runs": runs, "medians": np.median(runs, axis=1)}
                for name, x, runs in (
                    ("chance", np.array(CAPACITIES[:-1]), _runs(found.random)),
                    (PREDICTOR, shares, _runs(found.predicted)),
                    (ROUTER, np.array(CAPACITIES), _runs(found.routed)),
                )
            ],
        }

    def compute(self, capacity: float, text: str, chooser: str) -> DepthsState:
        found = depth_runs()
        shown = found.texts[TEXTS.index(text)]
        passes = (shown.routed if chooser == ROUTER else shown.predicted)[capacity].numpy()
        losses = found.routed if chooser == ROUTER else found.predicted
        share = capacity if chooser == ROUTER else _median(found.predicted_share[capacity])
        chance = found.random.get(capacity, found.routed[1.0])
        return DepthsState(
            tokens=list(shown.tokens),
            passes=passes,
            work=_work(passes),
            loss=_median(losses[capacity]),
            share=share,
            by_chance=_median(chance),
            in_full=_median(found.routed[1.0]),
            capacity=capacity,
            chooser=chooser,
        )

    def caption(self, state: DepthsState) -> str:
        T, idle = state.passes.shape[1], int((~state.passes.any(axis=0)).sum())
        taken = _taken(state.passes.sum(axis=1))
        loss = f"Loss [b:{number(state.loss, 2)}]"
        if state.capacity == 1 and state.chooser == ROUTER:
            return f"Every block takes all [b:{T}] tokens of this text. {loss}: the full model."
        rest = f"by chance {number(state.by_chance, 2)}, full model {number(state.in_full, 2)}"
        return f"{taken} of {T} tokens; [b:{idle}] skip all three. {loss}, {rest}."


def _taken(counts: np.ndarray) -> str:
    if len(set(counts)) == 1:
        return f"Each block takes [b:{counts[0]}]"
    *others, last = (f"[b:{count}]" for count in counts)
    return f"The blocks take {', '.join(others)} and {last}"


def _runs(found: Mapping[float, Any]) -> np.ndarray:
    return np.array([runs.numpy() for runs in found.values()])


def _median(runs: Any) -> float:
    return float(np.median(runs.numpy()))


def _work(passes: np.ndarray) -> np.ndarray:
    """Shares of the multiplications that are left: products with weights, mixing, all."""
    T = passes.shape[1]
    spent = sum((_flops(int(count)) for count in passes.sum(axis=1)), np.zeros(2))
    full = BLOCKS * _flops(T)
    everything = (spent.sum() + BLOCKS * _deciding_flops(T)) / full.sum()
    return np.array([*(spent / full), everything])


def _flops(count: int) -> np.ndarray:
    """What a block costs with so many tokens: feed-forward and projections, scores and mixing."""
    if not count:
        return np.zeros(2)
    C = SMALL_GPT.width
    products = attention_projection_flops(count, C) + 4 * count * C * SMALL_GPT.hidden
    return np.array([products, attention_mixing_flops(count, C)], float)


def _deciding_flops(count: int) -> int:
    """What a router and a predictor cost for so many tokens, each a product or two."""
    C, hidden = SMALL_GPT.width, -(-SMALL_GPT.width // 4)
    return 2 * count * (C + C * hidden + hidden)

"""Lecture 01's first picture: the weights of 64 random keys, while their vectors grow longer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Slider, Steps
from lectures.l01_scaling.experiments.score_variance import (
    KEYS,
    QUERIES,
    TYPICAL,
    WIDTHS,
    query_sums,
    scores_from,
)


@dataclass(frozen=True)
class LargestWeightState:
    """`weights` (64,) of the chosen query, and the `largest` (12,) of each of the queries."""

    weights: np.ndarray
    largest: np.ndarray
    best: int
    query: int
    width: int


class LargestWeight(Explorer):
    """How many numbers a vector has, and which query → the weights of its keys."""

    title = "How much of the weight does one key take?"
    inputs = {
        "width": Steps("numbers in a vector, d", WIDTHS, 4),
        "query": Slider("which random query", 1, QUERIES, TYPICAL),
    }
    presets = {
        "d = 4": {"width": 4, "query": TYPICAL},
        "d = 64": {"width": 64, "query": TYPICAL},
        "d = 512": {"width": 512, "query": TYPICAL},
        "a close race": {"width": 512, "query": 2},
    }
    view = "largest_weight.js"
    reading = (
        "Left: each bar is the weight that one query gives to one of its 64 keys; the dashed line "
        "is 1/64, an equal share. Choose a bar to read it. Right: the largest weight of each of "
        "12 queries, and their mean; choose one to see its bars. All vectors are random, and the "
        "scores are not divided by anything."
    )

    def compute(self, width: int, query: int) -> LargestWeightState:
        rows = np.stack([self._weights(width, each + 1) for each in range(QUERIES)])
        weights = rows[query - 1]
        return LargestWeightState(weights, rows.max(axis=1), int(weights.argmax()), query, width)

    @staticmethod
    def _weights(width: int, query: int) -> np.ndarray:
        scores = scores_from(query_sums("normal", query, KEYS)[width], width)
        grown = np.exp(scores - scores.max())
        return (grown / grown.sum()).astype(np.float32)

    def caption(self, state: LargestWeightState) -> str:
        largest, mean = state.largest[state.query - 1], state.largest.mean()
        return (
            f"With d = {state.width}, [q:query {state.query}] gives key {state.best} a weight of "
            f"[b:{number(float(largest), 2)}]. On average over {QUERIES} queries, the largest of "
            f"{KEYS} weights is [b:{number(float(mean), 2)}]."
        )

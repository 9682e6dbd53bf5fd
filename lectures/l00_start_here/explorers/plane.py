"""A query, three keys and three values as arrows in the plane, dragged or made by matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from course_utils.explorers import Explorer
from course_utils.explorers.captions import number
from course_utils.explorers.inputs import Choice, Point

WORDS = ("cat", "milk", "it")
FARTHEST = 3.0
SAME = 1e-9  # scores that differ by less count as equal

# A word's numbers are how much of an animal it is, and how much of a pronoun.
TOKENS = [[2.3, 0.2], [-2.0, 0.2], [0.2, 2.3]]
IDENTITY = [[1.0, 0.0], [0.0, 1.0]]
ASK = [[0.0, 0.0], [0.5, 0.0]]  # from the pronoun's number to the animal's
HALF = [[1.0, 0.0], [0.0, 0.5]]
SHORT = {
    "query": (0.8, 0.4),
    "keys": [[2.4, 0.6], [0.2, 2.3], [-1.8, -1.4]],
    "values": [[2.5, 1.2], [-0.8, 2.4], [-1.9, -1.8]],
}
MATRICES = {"tokens": TOKENS, "w_q": ASK, "w_k": IDENTITY, "w_v": HALF}


@dataclass(frozen=True)
class Points:
    """Several points of the plane, or the rows of a matrix, that the picture lets readers move."""

    label: str
    default: list[list[float]]

    def check(self, name: str, value: Any) -> list[list[float]]:
        point = Point(self.label, (0, 0), -FARTHEST, FARTHEST)
        if not isinstance(value, Sequence) or len(value) != len(self.default):
            raise TypeError(f"{name} must be {len(self.default)} points, got {value!r}")
        return [point.check(name, each) for each in value]

    def spec(self) -> dict[str, Any]:
        ends = {"min": -FARTHEST, "max": FARTHEST, "step": 0.1}
        return {"kind": "points", "label": self.label, **ends, "in_picture": True}

    def sweep(self) -> list[Any]:
        count = len(self.default)
        corners = [[[x, y]] * count for x in (-FARTHEST, 0.0) for y in (0.0, FARTHEST)]
        line = [[FARTHEST * i / count, 1.0] for i in range(count)]
        return [self.default, line, *corners]

    def sample(self, random: Random) -> Any:
        return [[random.uniform(-FARTHEST, FARTHEST) for _ in "xy"] for _ in self.default]


@dataclass(frozen=True)
class PlaneState:
    """One query q (2,), keys k and values v (3, 2), and what attention makes of them.

    `feet` (3, 2) are the keys' projections on the query's line, `scores` (3,) are q·k / √2,
    `weights` (3,) their softmax. `steps` (4, 2) lays the weighted values head to tail, from the
    origin to the output `out` (2,). `asks` is the word that the query was made from, if any.
    """

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    feet: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    steps: np.ndarray
    out: np.ndarray
    asks: str


def mixture(q: np.ndarray, k: np.ndarray, v: np.ndarray, asks: str = "") -> PlaneState:
    """Attention with one query, and what the picture draws of it."""
    products = k[:, 0] * q[0] + k[:, 1] * q[1]
    square = float(q[0] * q[0] + q[1] * q[1])
    scores = products / math.sqrt(2)
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    steps = np.concatenate([np.zeros((1, 2)), np.cumsum(weights[:, None] * v, axis=0)])
    return PlaneState(
        q=q,
        k=k,
        v=v,
        feet=(products / square if square else 0 * products)[:, None] * q,
        scores=scores,
        weights=weights,
        steps=steps,
        out=steps[-1],
        asks=asks,
    )


def times(rows: Any, matrix: Any) -> np.ndarray:
    """Each row x as x W, in an order of operations that the browser repeats exactly."""
    x, w = np.asarray(rows, float), np.asarray(matrix, float)
    return x[..., :1] * w[0] + x[..., 1:] * w[1]


class InThePlane(Explorer):
    """What both pictures share: the view and the caption."""

    view = "plane.js"

    def caption(self, state: PlaneState) -> str:
        best = int(np.argmax(state.scores))
        score = number(state.scores[best], 2)
        share = number(state.weights[best], 2)
        at = ", ".join(number(each, 1) for each in state.out)
        if np.ptp(state.scores) < SAME:
            return (
                f"All three scores are [k:{score}], so each weight is [b:{share}]: the output "
                f"[v:({at})] is the average of the values."
            )
        if state.asks:
            return (
                f"[q:{state.asks}] attends most to [k:{WORDS[best]}], with the score [k:{score}] "
                f"and the weight [b:{share}]. It receives [v:({at})]."
            )
        return (
            f"[k:{WORDS[best]}] has the highest score, [k:{score}], and gets the weight "
            f"[b:{share}]. The mixture of the values is [v:({at})]."
        )


class AttentionInThePlane(InThePlane):
    """A query, keys and values in the hand → shadows, weights, the mixture."""

    title = "How does one query mix three values?"
    inputs = {
        "query": Point("query", SHORT["query"], -FARTHEST, FARTHEST, step=0.1),
        "keys": Points("key of the word", SHORT["keys"]),
        "values": Points("value of the word", SHORT["values"]),
    }
    presets = {
        "short query": SHORT,
        "three times as long": {**SHORT, "query": (2.4, 1.2)},
        "the other way": {**SHORT, "query": (-2.4, -1.2)},
        "equal shadows": {
            **SHORT,
            "query": (2.0, 0.0),
            "keys": [[1.6, 2.5], [1.6, 0.8], [1.6, -1.8]],
        },
    }
    reading = (
        "A key's score is its shadow on the query's line, times the query's length, divided by √2. "
        "Softmax turns the three scores into weights. Each value is multiplied by its "
        "weight; laid head to tail, the three pieces lead to the output, which never leaves the "
        "triangle. Drag q, a key or a value."
    )

    def compute(self, query: Any, keys: Any, values: Any) -> PlaneState:
        q, k, v = (np.asarray(each, float) for each in (query, keys, values))
        return mixture(q, k, v)


class ThreeMatrices(InThePlane):
    """Words and three matrices in the hand → their queries, keys and values, and one word's row."""

    title = "What do W_Q, W_K and W_V decide?"
    inputs = {
        "asks": Choice("word that asks", WORDS, "it", in_picture=True),
        "tokens": Points("word", TOKENS),
        "w_q": Points("matrix W_Q", ASK),
        "w_k": Points("matrix W_K", IDENTITY),
        "w_v": Points("matrix W_V", HALF),
    }
    presets = {
        "q = k = v": {**MATRICES, "asks": "it", "w_q": IDENTITY, "w_v": IDENTITY},
        "it asks for an animal": {**MATRICES, "asks": "it"},
        "what cat asks for": {**MATRICES, "asks": "cat"},
    }
    reading = (
        "A word is a point: how much of an animal it is, and how much of a pronoun. The matrices "
        "turn each word into a key and a value, and the word that asks into a query; the rest is "
        "as before. Drag a word, or a number of a matrix up or down. Press a word, and it asks."
    )

    def compute(self, asks: str, tokens: Any, w_q: Any, w_k: Any, w_v: Any) -> PlaneState:
        q = times(tokens, w_q)[WORDS.index(asks)]
        return mixture(q, times(tokens, w_k), times(tokens, w_v), asks)

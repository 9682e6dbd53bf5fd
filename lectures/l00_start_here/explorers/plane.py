"""A query, three keys and three values as arrows in the plane, dragged or made by matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from course_utils.explorers import Explorer
from course_utils.explorers.inputs import Choice, Point

WORDS = ("cat", "milk", "it")
FARTHEST = 3.0

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


class AttentionInThePlane(Explorer):
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
    view = "plane.js"
    reading = (
        "A key's score is its shadow on the query's line, times the query's length, divided by √2. "
        "Softmax turns the three scores into weights. Each value is multiplied by its "
        "weight; laid head to tail, the three pieces lead to the output, which never leaves the "
        "triangle. Drag q, a key or a value."
    )


class ThreeMatrices(Explorer):
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
    view = "plane.js"
    reading = (
        "A word is a point: how much of an animal it is, and how much of a pronoun. The matrices "
        "turn each word into a key and a value, and the word that asks into a query; the rest is "
        "as before. Drag a word, or a number of a matrix up or down. Press a word, and it asks."
    )

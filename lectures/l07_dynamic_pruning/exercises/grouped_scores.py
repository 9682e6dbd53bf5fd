"""Exercise 4: many query heads read few heads of keys, without a copy of them.

Head h reads key head ``h // (H / G)`` (Ainslie et al. 2023, section 2.2); the products are not
scaled. Judged are the scores and the memory held at the peak: there is no room for the keys of all
H heads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.measure.peak_memory import peak_bytes
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance

__all__ = ["GROUPED_SCORES"]


def _measured(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The scores, and 1 if all H heads' keys would fit into what the call held at its peak."""

    def measured(q: Tensor, k: Tensor) -> Any:
        results: list[Any] = []
        peak = peak_bytes(lambda: results.append(answer(q, k)))
        if results[0] is None or results[0] is ...:  # a stub's
            return results[0]
        return results[0], int(peak >= k.nbytes * q.shape[1] // k.shape[1])

    return measured


def _fold(q: Tensor, G: int) -> Tensor:
    """The queries of a group below each other: (B, H, T, D) to (B, G, H / G * T, D)."""
    return q.unflatten(1, (G, -1)).flatten(2, 3)


def _scores(q, k):
    return (_fold(q, k.shape[1]) @ k.mT).reshape(*q.shape[:3], k.shape[2])


def _reading(which: Callable[[int, int], int]) -> Callable[..., Tensor]:
    """Scores where head h reads the keys of head ``which(h, G)``."""

    def scores(q, k):
        G = k.shape[1]
        return torch.stack([q[:, h] @ k[:, which(h, G)].mT for h in range(q.shape[1])], dim=1)

    return scores


def _repeating(q, k):
    return q @ k.repeat_interleave(q.shape[1] // k.shape[1], dim=1).mT


def _tokens_first(q, k):
    """The queries of a group folded with the tokens before the heads, and undone as if not."""
    folded = q.unflatten(1, (k.shape[1], -1)).transpose(2, 3).flatten(2, 3)
    return (folded @ k.mT).reshape(*q.shape[:3], k.shape[2])


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, k = inputs["q"], inputs["k"]
    (_, H, T, D), (_, G, S, _) = q.shape, k.shape
    facts: dict[str, Any] = {"H": H, "G": G, "R": H // G, "T": T, "D": D, "root": math.sqrt(D)}
    facts |= {"shared": k.numel(), "repeated": k.numel() * H // G}
    right = _scores(q, k)
    if isinstance(got, tuple) and isinstance(got[0], Tensor) and got[0].shape == right.shape:
        worst = int((got[0] - right).abs().argmax())
        head = worst // (T * S) % H
        facts |= {"head": head, "group": head // (H // G), "tile": head % G}
        facts |= {"gave": float(got[0].flatten()[worst]), "want": float(right.flatten()[worst])}
    return facts


def _probe(B: int, H: int, G: int, T: int, S: int, D: int, phase: float) -> Mapping[str, Tensor]:
    def wave(*shape: int, speed: float) -> Tensor:
        return torch.sin(torch.arange(math.prod(shape)) * speed + phase).reshape(shape)

    return {"q": wave(B, H, T, D, speed=1.7), "k": wave(B, G, S, D, speed=2.3)}


_AT = "A score of head {head} is {gave}, expected {want}. "

GROUPED_SCORES = Exercise(
    title="Shared keys without a copy",
    difficulty=3,
    minutes=12,
    function="grouped_scores",
    reference=_scores,
    watch=_measured,
    probes=(
        # Few queries and wide heads: the repeated keys would be by far the largest tensor.
        _probe(2, 6, 2, 1, 11, 19, 0.3),
        _probe(1, 10, 5, 2, 23, 17, 1.2),
        _probe(2, 6, 3, 3, 13, 29, 2.1),
    ),
    parts=("scores", "copies of all heads' keys"),
    facts=_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="No key was written twice. To its head of keys, a group's H/G query heads are only more "
    "rows: below each other they make one matrix product, which reads the cache once.",
    mistakes=(
        Mistake(
            "keys repeated",
            _repeating,
            "The scores are right, and to get them your function held {repeated} new numbers or "
            "more: the keys of all {H} heads, where there are {shared}. `repeat_interleave` "
            "writes them out; so does `reshape` after `expand`; and so, out of sight, does a "
            "product with a broadcast axis, `… @ k[:, :, None].mT`. Put the queries of a group "
            "below each other instead: (B, G, H/G·T, D).",
        ),
        Mistake(
            "head h reads h mod G",
            _reading(lambda h, G: h % G),
            _AT + "It reads key head {tile}; it belongs to group {group}: neighbours share, "
            "g = h // (H/G), {R} heads to a group. `repeat` and `unflatten(1, (-1, G))` deal them "
            "out in turn, as cards.",
            part=0,
        ),
        Mistake(
            "all read the first",
            _reading(lambda h, G: 0),
            _AT + "All heads read key head 0: that is multi-query attention. Here there are "
            "G = {G}.",
            part=0,
        ),
        Mistake(
            "tokens before heads",
            _tokens_first,
            _AT + "Right for one query, wrong for {T}: in your fold the tokens stand before the "
            "heads of a group, and when it is undone they are taken for each other. From "
            "(B, G, H/G, T, D), `flatten(2, 3)`, without a transposition.",
            part=0,
        ),
        Mistake(
            "scaled",
            lambda q, k: _scores(q, k) / q.shape[-1] ** 0.5,
            _AT + "You divide by √D = √{D} = {root}. Asked for are the products alone.",
            part=0,
        ),
        Mistake(
            "left folded",
            lambda q, k: _fold(q, k.shape[1]) @ k.mT,
            "You return (B, G, H/G·T, S), with the queries of a group still below each other. The "
            "product is right; unfold it to (B, H, T, S) with one `reshape`, which copies nothing.",
            part=0,
        ),
        Mistake(
            "left in groups",
            lambda q, k: (_fold(q, k.shape[1]) @ k.mT).unflatten(2, (-1, q.shape[2])),
            "You return (B, G, H/G, T, S), five axes. Groups and heads lie in order, so "
            "`flatten(1, 2)` makes the H heads of them.",
            part=0,
        ),
        Mistake(
            "queries averaged",
            lambda q, k: q.unflatten(1, (k.shape[1], -1)).mean(dim=2) @ k.mT,
            "You average the queries of a group, and get G = {G} heads of scores. Queries are not "
            "shared: each of H = {H} heads asks its own.",
            part=0,
        ),
        Mistake(
            "heads not matched",
            lambda q, k: q @ k.mT,
            "{H} heads of queries meet {G} of keys, which torch cannot line up: each key head is "
            "read by {R}.",
        ),
    ),
)

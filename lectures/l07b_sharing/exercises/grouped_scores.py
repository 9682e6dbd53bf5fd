"""Exercise 2: many query heads read few heads of keys, without a copy of them.

Head h reads key head ``h // (H / G)`` (Ainslie et al. 2023, section 2.2); the products are not
scaled. Judged are the scores and how many numbers are held at the peak: there is no room for the
keys of all H heads. In float64 they are as many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from course_utils.measure.peak_memory import peak_numbers
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance


def _measured(answer: Callable[..., Any]) -> Callable[..., Any]:
    """The scores, and 1 if all H heads' keys would fit into what the call held at its peak."""

    def measured(q: Tensor, k: Tensor) -> Any:
        results: list[Any] = []
        peak = peak_numbers(lambda: results.append(answer(q, k)))
        if results[0] is None or results[0] is ...:  # a stub's
            return results[0]
        return results[0], int(peak >= k.numel() * q.shape[1] // k.shape[1])

    return measured


def _fold(q: Tensor, G: int) -> Tensor:
    """The queries of a group below each other: (B, H, T, D) to (B, G, H / G * T, D)."""
    return q.unflatten(1, (G, -1)).flatten(2, 3)


def _scores(q, k):
    return (_fold(q, k.shape[1]) @ k.mT).reshape(*q.shape[:3], k.shape[2])


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    q, k = inputs["q"], inputs["k"]
    (_, H, T, D), (_, G, S, _) = q.shape, k.shape
    facts: dict[str, Any] = {"H": H, "G": G, "R": H // G, "T": T, "D": D, "root": math.sqrt(D)}
    facts |= {"shared": k.numel(), "repeated": k.numel() * H // G}
    right = _scores(q, k)
    if isinstance(got, tuple) and isinstance(got[0], Tensor) and got[0].shape == right.shape:
        worst = int((got[0] - right).abs().argmax())
        head = worst // (T * S) % H
        facts |= {"head": head, "group": head // (H // G), "tile": head % G, "over": head // G}
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
)


@GROUPED_SCORES.mistake()
def keys_repeated(q, k):
    """The scores are right, and to get them your function held {repeated} new numbers or more: the
    keys of all {H} heads, where there are {shared}. `repeat_interleave` writes them out; so does
    `reshape` after `expand`; and so, out of sight, does a product with a broadcast axis, `… @ k[:,
    :, None].mT`. Put the queries of a group below each other instead: (B, G, H/G·T, D)."""
    return q @ k.repeat_interleave(q.shape[1] // k.shape[1], dim=1).mT


@GROUPED_SCORES.mistake(part=0, begins=_AT)
def head_h_reads_h_mod_G(q, k):
    """It reads key head {tile}; it belongs to group {group}: neighbours share, g = h // (H/G), {R}
    heads to a group. `repeat` and `unflatten(1, (-1, G))` deal them out in turn, as cards."""
    return q @ k[:, torch.arange(q.shape[1]) % k.shape[1]].mT


@GROUPED_SCORES.mistake(part=0, begins=_AT)
def head_h_reads_h_over_G(q, k):
    """Your head {head} reads key head {head} // {G} = {over}. A group has H/G = {R} heads, so
    divide by that: g = h // (H/G), which is {group}."""
    G = k.shape[1]
    return torch.stack([q[:, h] @ k[:, h // G].mT for h in range(q.shape[1])], dim=1)


@GROUPED_SCORES.mistake(part=0, begins=_AT)
def all_read_the_first(q, k):
    """All heads read key head 0: that is multi-query attention. Here there are G = {G}."""
    return q @ k[:, :1].mT


@GROUPED_SCORES.mistake(part=0, begins=_AT)
def tokens_before_heads(q, k):
    """Right for one query, wrong for {T}: in your fold the tokens stand before the heads of a
    group, and when it is undone they are taken for each other. From (B, G, H/G, T, D),
    `flatten(2, 3)`, without a transposition."""
    folded = q.unflatten(1, (k.shape[1], -1)).transpose(2, 3).flatten(2, 3)
    return (folded @ k.mT).reshape(*q.shape[:3], k.shape[2])


@GROUPED_SCORES.mistake(part=0, begins=_AT)
def scaled(q, k):
    """You divide by √D = √{D} = {root}. Asked for are the products alone."""
    return _scores(q, k) / q.shape[-1] ** 0.5


@GROUPED_SCORES.mistake(part=0)
def left_folded(q, k):
    """You return (B, G, H/G·T, S), with the queries of a group still below each other. The product
    is right; unfold it to (B, H, T, S) with one `reshape`, which copies nothing."""
    return _fold(q, k.shape[1]) @ k.mT


@GROUPED_SCORES.mistake(part=0)
def left_in_groups(q, k):
    """You return (B, G, H/G, T, S), five axes. Groups and heads lie in order, so `flatten(1, 2)`
    makes the H heads of them."""
    return (_fold(q, k.shape[1]) @ k.mT).unflatten(2, (-1, q.shape[2]))


@GROUPED_SCORES.mistake(part=0)
def queries_averaged(q, k):
    """You average the queries of a group, and get G = {G} heads of scores. Queries are not shared:
    each of H = {H} heads asks its own."""
    return q.unflatten(1, (k.shape[1], -1)).mean(dim=2) @ k.mT


@GROUPED_SCORES.mistake()
def heads_not_matched(q, k):
    """{H} heads of queries meet {G} of keys, which torch cannot line up: each key head is read by
    {R}."""
    return q @ k.mT

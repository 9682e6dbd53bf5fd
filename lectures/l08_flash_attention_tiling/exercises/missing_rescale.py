"""Exercise 3: an online softmax that lacks a rescale, to be fixed.

Results alone are judged: a softmax over whole rows passes as well, since that both agree is what
the exercise is about.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.outcomes import NanAlike
from lectures.l08_flash_attention_tiling.exercises.to_fix import ToFix

AS_GIVEN = '''\
def online_attention(q, k, v, block_n):
    """Softmax attention, block_n keys at a time. One factor is missing."""
    m = torch.full((len(q),), -torch.inf)
    l, acc = torch.zeros(len(q)), torch.zeros(len(q), v.shape[1])
    for start in range(0, len(k), block_n):
        tile = slice(start, start + block_n)
        scores = q @ k[tile].T / q.shape[1] ** 0.5
        m_new = torch.maximum(m, scores.max(dim=1).values)
        alpha = torch.exp(m - m_new)
        p = torch.exp(scores - m_new[:, None])
        l = alpha * l + p.sum(dim=1)
        acc = acc + p @ v[tile]
        m = m_new
    return acc / l[:, None]
'''


def _loop(
    q,
    k,
    v,
    block_n,
    *,
    on_l=lambda alpha: alpha,
    on_acc=lambda alpha: alpha,
    on_p=lambda alpha: 1,
    on_tile=lambda alpha, total: 1,
    maximum=torch.maximum,
):
    """The fixed loop but for what is given: the factors, or the maximum."""
    m = torch.full((len(q), 1), -torch.inf)
    l, acc = torch.zeros_like(m), torch.zeros(len(q), v.shape[1])  # noqa: E741
    for keys, values in zip(k.split(block_n), v.split(block_n), strict=True):
        scores = q @ keys.T / math.sqrt(q.shape[1])
        m_new = maximum(m, scores.amax(dim=1, keepdim=True))
        alpha = torch.exp(m - m_new)
        p = on_p(alpha) * torch.exp(scores - m_new)
        l = on_l(alpha) * l + p.sum(dim=1, keepdim=True)  # noqa: E741
        acc = on_acc(alpha) * acc + on_tile(alpha, l) * (p @ values)
        m = m_new
    return acc / l


def _probe(slope: float, phase: float) -> Mapping[str, Any]:
    """5 queries, 11 keys in tiles of 4; scores rise with the key's place, or fall if slope < 0."""
    q = 1 + 0.3 * torch.sin(torch.arange(15) * 1.7 + phase).reshape(5, 3)
    noise = torch.sin(torch.arange(33) * 2.3 + phase).reshape(11, 3)
    k = slope * torch.linspace(-1, 1, 11)[:, None] + noise
    v = torch.cos(torch.arange(22) * 1.9 + phase).reshape(11, 2)
    return {"q": q, "k": k, "v": v, "block_n": 4}


def _opposed() -> Mapping[str, Any]:
    """The first query has large scores with every key, the others low ones."""
    probe = dict(_probe(0.0, 0.5))
    probe["k"] = probe["k"] + 80
    probe["q"] = torch.cat((probe["q"][:1], -probe["q"][1:]))
    return probe


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The query whose maximum rises most after the first tile, and the student's output there."""
    q, k, v, block_n = inputs.values()
    scores = q @ k.T / math.sqrt(q.shape[1])
    first, last = scores[:, :block_n].amax(dim=1), scores.amax(dim=1)
    row = int((last - first).argmax())
    facts: dict[str, Any] = {"T": len(q), "E": v.shape[1], "row": row}
    facts |= {"first": float(first[row]), "last": float(last[row])}
    facts["factor"] = math.exp(facts["first"] - facts["last"])
    if isinstance(got, torch.Tensor):
        facts |= {"gave": float(got[row, 0]), "right": float(attend(q, k, v)[0][row, 0])}
    return facts


_OFF = "The first output of query {row} is {gave}, expected {right}. "

MISSING_RESCALE = ToFix(
    title="Find the missing rescale",
    difficulty=1,
    minutes=8,
    function="online_attention",
    as_given=AS_GIVEN,
    untouched="The loop is untouched. It is right where the first tile holds every query's largest "
    "score, and wrong where a later tile raises the maximum. Fix it, run its cell, then this one.",
    reference=lambda q, k, v, block_n: attend(q, k, v)[0],
    probes=(
        _probe(1.5, 0.3),
        _probe(-3.0, 0.9),
        # exp of the largest of these scores does not fit in float32.
        _probe(80.0, 1.1),
        _probe(-80.0, 2.0),
        _opposed(),
    ),
    parts=("out",),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="When the maximum rises, all that was summed so far shrinks by `alpha`: `acc` as well "
    "as `l`. The loop now agrees with `attend`, on rising, falling and very large scores.",
)


@MISSING_RESCALE.mistake(begins=_OFF)
def acc_not_rescaled(*inputs):
    """The largest score there is {first} in the first tile and {last} in the end. What the first
    tile gave was summed against {first}. As the maximum rises, `l` shrinks it by {factor}, and
    `acc` still does not. (A product alone on its line is thrown away: assign it to `acc`.)"""
    return _loop(*inputs, on_acc=lambda alpha: 1)


@MISSING_RESCALE.mistake(begins=_OFF)
def l_not_rescaled(*inputs):
    """`acc` is rescaled now, and `l` is not: it keeps what the first tile gave at full size, where
    {factor} of it is due. Both need `alpha`."""
    return _loop(*inputs, on_l=lambda alpha: 1)


@MISSING_RESCALE.mistake(begins=_OFF)
def nothing_rescaled(*inputs):
    """Neither `l` nor `acc` is rescaled. Either both lines lack `alpha`, or `alpha` is 1 because
    `m` became `m_new` before `alpha` was computed."""
    return _loop(*inputs, on_l=lambda alpha: 1, on_acc=lambda alpha: 1)


@MISSING_RESCALE.mistake()
def factor_upside_down(*inputs):
    """Every output is NaN. In the first tile `m` is −∞, so two slips make an infinite factor there:
    upside down, `1/alpha` or exp(m_new − m); or `p` made with the old `m`, exp(scores − m).
    `alpha` is exp(m − m_new), and `p` is made with `m_new`."""
    return _loop(*inputs, on_acc=lambda alpha: 1 / alpha)


@MISSING_RESCALE.mistake(begins=_OFF)
def rescaled_after_adding(*inputs):
    """You add the new tile first and rescale then. The tile was summed against m_new already, and
    in the first one `alpha` is 0, which wipes it out. Rescale what was there, then add."""
    return _loop(*inputs, on_tile=lambda alpha, total: alpha)


@MISSING_RESCALE.mistake(begins=_OFF)
def the_new_tile_rescaled(*inputs):
    """You multiply the new tile by `alpha`. It was summed against `m_new` already; `acc` is what
    was summed against the old `m`."""
    return _loop(*inputs, on_acc=lambda alpha: 1, on_tile=lambda alpha, total: alpha)


@MISSING_RESCALE.mistake(begins=_OFF)
def p_rescaled(*inputs):
    """You multiply `p` by `alpha`. `p` was made with `m_new`, so nothing is left to correct in it,
    and in the first tile `alpha` is 0. `acc` was summed against the old `m`: the factor belongs
    there."""
    return _loop(*inputs, on_acc=lambda alpha: 1, on_p=lambda alpha: alpha)


@MISSING_RESCALE.mistake(begins=_OFF)
def each_tile_divided_and_acc_not_rescaled(*inputs):
    """You divide the new tile by `l`. The missing factor is no division, which comes once, after
    the loop; it is `alpha`, and belongs to the old `acc`."""
    return _loop(*inputs, on_acc=lambda alpha: 1, on_tile=lambda alpha, total: 1 / total)


@MISSING_RESCALE.mistake()
def no_maximum(*inputs):
    """Right while scores are small. You subtract no maximum, so nothing needs a rescale; but exp of
    a score above 88.7 overflows in float32, and the output is NaN."""
    return _loop(*inputs, maximum=lambda m, tile: torch.zeros_like(m))


@MISSING_RESCALE.mistake()
def maximum_far_above_a_row(*inputs):
    """Right while scores are alike. Here your maximum is far above all scores of some queries:
    every exp(score − m) of theirs is 0, and 0/0 is NaN. Two causes are usual: one maximum for all
    queries, where each row has its own (`dim=1`); or a maximum that starts at 0, not at −∞."""
    return _loop(*inputs, maximum=lambda m, tile: torch.maximum(m, tile.max()))


_VECTOR = "`alpha` has shape ({T},), `acc` ({T}, {E}); torch lines up the last axes, {T} against "
_VECTOR += "{E}. A factor belongs to a row: make it a column, "


@MISSING_RESCALE.mistake(begins=_VECTOR)
def factor_along_the_width(q, k, v, block_n):
    """`alpha[:, None] * acc`."""
    return torch.ones(len(q)) * torch.zeros(len(q), v.shape[1])


@MISSING_RESCALE.mistake(begins=_VECTOR)
def factor_behind_along_the_width(q, k, v, block_n):
    """`acc * alpha[:, None]`."""
    return torch.zeros(len(q), v.shape[1]) * torch.ones(len(q))

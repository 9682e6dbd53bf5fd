"""Exercise 3 of lecture 03: attention to another sequence, of which a part is padding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.rows import wave

__all__ = ["CROSS_ATTENTION"]

Answer = Callable[..., tuple[torch.Tensor, torch.Tensor]]


def _probe(lengths: list[int], T: int, S: int, sizes: tuple[int, int, int]) -> Mapping[str, Any]:
    """Inputs with T queries and S keys, ``lengths`` of them real in each sentence.

    ``sizes`` are C, D and E.
    """
    B, (C, D, E) = len(lengths), sizes
    return {
        "x": 0.35 * wave(B, T, C, phase=0.3),
        "memory": 0.35 * wave(B, S, C, phase=1.9),
        "may_attend": torch.arange(S) < torch.tensor(lengths)[:, None],
        "w_q": 0.5 * wave(C, D, phase=0.7),
        "w_k": 0.5 * wave(C, D, phase=2.9),
        "w_v": 0.5 * wave(C, E, phase=4.2),
    }


def _cross_attention(x, memory, may_attend, w_q, w_k, w_v):
    mask = may_attend[:, None, :]
    return attend(x @ w_q, memory @ w_k, memory @ w_v, may_attend=mask)


def _of_itself(x, memory, may_attend, w_q, w_k, w_v):
    return attend(x @ w_q, x @ w_k, x @ w_v, may_attend=may_attend[:, None, :])


def _scaled(factor_of: Callable[[Any, Any], float]) -> Answer:
    """Cross-attention that is right but for its scale, made of x and q."""

    def answer(x, memory, may_attend, w_q, w_k, w_v):
        q, mask = x @ w_q, may_attend[:, None, :]
        return attend(q, memory @ w_k, memory @ w_v, may_attend=mask, scale=factor_of(x, q))

    return answer


def _weighed(weights_of: Callable[[Any, Any], torch.Tensor]) -> Answer:
    """Cross-attention that is right but for the step from scores and mask to weights."""

    def answer(x, memory, may_attend, w_q, w_k, w_v):
        q, k = x @ w_q, memory @ w_k
        weights = weights_of(q @ k.mT / math.sqrt(q.shape[-1]), may_attend[:, None, :])
        return weights @ (memory @ w_v), weights

    return answer


def _softmax(scores: torch.Tensor, may_attend: torch.Tensor, dim: int = -1) -> torch.Tensor:
    return torch.softmax(scores.masked_fill(~may_attend, -torch.inf), dim=dim)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes of the probe, and sums of the student's weights where there are weights."""
    S, (C, D) = inputs["memory"].shape[1], inputs["w_q"].shape
    may_attend = inputs["may_attend"][0]
    facts: dict[str, Any] = {"S": S, "D": D, "root_C": math.sqrt(C), "root_D": math.sqrt(D)}
    facts["real"] = int(may_attend.sum())
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if isinstance(weights, torch.Tensor) and weights.ndim == 3 and weights.shape[-1] == S:
        first = weights[0, 0]
        facts |= {"row_sum": float(first.sum()), "on_padding": float(first[~may_attend].sum())}
        facts["column_sum"] = float(weights[0, :, 0].sum())
    return facts


_BATCH = Exercise(
    title="Masked cross-attention",
    difficulty=2,
    minutes=10,
    reference=_cross_attention,
    probes=(
        # As many sentences as queries: a mask without an axis for the queries fits, and is wrong.
        _probe([2, 5, 3], 3, 5, (7, 3, 2)),
        _probe([7, 4], 3, 7, (5, 2, 3)),
        _probe([1, 11], 7, 11, (3, 5, 2)),
    ),
    parts=("out", "weights"),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="It agrees with `attend`: the same attention, with keys and values from elsewhere. No "
    "weight falls on padding, however many queries ask.",
    mistakes=(
        Mistake(
            "a mask without an axis for the queries",
            _weighed(lambda scores, m: _softmax(scores, m[:, 0])),
            "Your mask has shape (B, S), the scores (B, T, S). torch lines up the last axes, so B "
            "meets T: where both are 3, as here, each query gets another sentence's mask, and "
            "elsewhere it does not fit. Give it an axis for the queries: `may_attend[:, None, :]`.",
        ),
    ),
)

CROSS_ATTENTION = Exercise(
    title=_BATCH.title,
    function="cross_attention",
    difficulty=_BATCH.difficulty,
    minutes=_BATCH.minutes,
    reference=_cross_attention,
    # As many queries as keys, and one sentence: nothing stops whoever takes the wrong source.
    probes=(_probe([3], 5, 5, (7, 3, 2)), _probe([4], 7, 7, (5, 2, 3))),
    parts=_BATCH.parts,
    facts=_facts,
    tolerance=_BATCH.tolerance,
    praise="One sentence comes out right.",
    then=(_BATCH,),
    mistakes=(
        Mistake(
            "self-attention of x",
            _of_itself,
            "You never read the memory: q, k and v all come from x, which is self-attention. "
            "Queries from x; keys and values from the memory.",
        ),
        Mistake(
            "no scale",
            _scaled(lambda x, q: 1.0),
            "Your scores are not scaled: divide them by √D = √{D} = {root_D} before the softmax.",
        ),
        Mistake(
            "divides by the root of C",
            _scaled(lambda x, q: x.shape[-1] ** -0.5),
            "Your scores are divided by √C = {root_C}, from the width of x. They are dot products "
            "of queries and keys, of width D = {D}: √{D} = {root_D}.",
        ),
        Mistake(
            "the mask ignored",
            _weighed(lambda scores, m: torch.softmax(scores, dim=-1)),
            "Padding gets {on_padding} of the first query's weight. The memory has {real} real "
            "tokens of {S}: hide the scores of the others before the softmax.",
        ),
        Mistake(
            "the opposite mask",
            _weighed(lambda scores, m: _softmax(scores, ~m)),
            "Your mask is the other way round: padding gets {on_padding} of the first query's "
            "weight. In `may_attend` True means: may be read. Hide where it is False, "
            "`masked_fill(~may_attend, ...)`.",
        ),
        Mistake(
            "hidden after the softmax",
            _weighed(lambda scores, m: torch.softmax(scores, dim=-1) * m),
            "You take padding out after the softmax: the first row sums to {row_sum}. The padding "
            "has had its share by then. Hide the scores before, by −∞, and each row sums to 1.",
        ),
        Mistake(
            "hidden scores set to 0",
            _weighed(lambda scores, m: torch.softmax(scores * m, dim=-1)),
            "You set hidden scores to 0, and a score of 0 is a score like any other: padding gets "
            "{on_padding} of the first query's weight. Only −∞ becomes a weight of 0.",
        ),
        Mistake(
            "softmax over the queries",
            _weighed(lambda scores, m: _softmax(scores, m, dim=-2)),
            "Your softmax runs over the queries: the first column of weights sums to {column_sum}, "
            "and a hidden column, −∞ throughout, becomes NaN. A query shares weight 1 among the "
            "keys: `dim=-1`.",
        ),
        Mistake(
            "only the output",
            lambda *inputs: _cross_attention(*inputs)[0],
            "Your output is right, and the weights are missing: `return out, weights`.",
        ),
    ),
)

"""Exercise 1: attention for every model to come, the first part of the reader's GPT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.masks import sliding_window_mask
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike, Tolerance
from course_utils.teaching.rows import wave

__all__ = ["ATTEND"]


CLOSE = Tolerance(relative=1e-4, absolute=1e-5)


def _attention_probe(T: int, S: int, D: int, E: int) -> Mapping[str, torch.Tensor]:
    return {"q": wave(T, D, phase=0.3), "k": wave(S, D, phase=1.1), "v": wave(S, E, phase=2.2)}


def _attention_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes of the probe, and sums of the student's weights where there are weights."""
    (T, D), (S, E) = inputs["q"].shape, inputs["v"].shape
    facts: dict[str, Any] = {"T": T, "S": S, "D": D, "E": E}
    facts |= {"root_T": math.sqrt(T), "root_D": math.sqrt(D)}
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if isinstance(weights, torch.Tensor) and weights.ndim == 2:
        facts["row_sum"] = weights[0].sum().item()
        facts["column_sum"] = weights[:, 0].sum().item()
    return facts


def _with_weights(weights_of):
    """Attention that is right but for the step from q and k to the weights."""

    def answer(q, k, v, may_attend=None):
        weights = weights_of(q, k)
        return weights @ v, weights

    return answer


def _softmax_of(scores_of):
    return _with_weights(lambda q, k: torch.softmax(scores_of(q, k), dim=-1))


def _right(q, k, v, may_attend=None):
    return attend(q, k, v, may_attend=may_attend)


def _keys_mixed(q, k, v, may_attend=None):
    weights = attend(q, k, v)[1]
    return weights @ k, weights


def _many(*leading: int, T: int, S: int, D: int, E: int) -> dict[str, Any]:
    """Queries, keys and values with leading axes: sentences, heads."""
    return {
        "q": wave(*leading, T, D, phase=0.3),
        "k": wave(*leading, S, D, phase=1.1),
        "v": wave(*leading, S, E, phase=2.2),
    }


def _many_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The shape of the probe."""
    return {"shape": str(tuple(inputs["q"].shape)), "D": inputs["q"].shape[-1]}


MANY = Exercise(
    title="Build attend",
    difficulty=2,
    minutes=10,
    reference=_right,
    probes=(_many(2, 3, T=5, S=7, D=4, E=2), _many(3, T=5, S=5, D=4, E=2)),
    parts=("out", "weights"),
    facts=_many_facts,
    tolerance=CLOSE,
    praise="Right for one sentence and for many.",
    mistakes=(
        Mistake(
            "all axes transposed",
            _softmax_of(lambda q, k: q @ k.permute(*reversed(range(k.ndim))) / q.shape[-1] ** 0.5),
            "One sentence works, and q of shape {shape} does not: `k.T` reverses all axes. Only "
            "the last two should change places: `k.mT`.",
        ),
        Mistake(
            "width from the second axis",
            _softmax_of(lambda q, k: q @ k.mT / q.shape[1] ** 0.5),
            "One sentence works, and q of shape {shape} does not: you take the width from "
            "`q.shape[1]`, which is another axis here. The width {D} is the last: `q.shape[-1]`.",
        ),
        Mistake(
            "softmax over the second axis",
            _with_weights(lambda q, k: (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=1)),
            "One sentence works, and q of shape {shape} does not: your softmax runs over the "
            "second axis. The keys are the last: `dim=-1`.",
        ),
    ),
)


def _masked_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """How much weight the first query gives to what it may not see, and its whole weight."""
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if not isinstance(weights, torch.Tensor):
        return {}
    row, seen = weights.reshape(-1, weights.shape[-1])[0], inputs["may_attend"][0]
    return {"hidden": row[~seen].sum().item(), "whole": row.sum().item()}


def _scaled(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def _masked(weights_of):
    """Attention that is right but for what it does with the mask."""

    def answer(q, k, v, may_attend=None):
        weights = weights_of(_scaled(q, k), may_attend)
        return weights @ v, weights

    return answer


WINDOW = sliding_window_mask(5, 3)
MASKED = Exercise(
    title="Build attend",
    difficulty=2,
    minutes=10,
    reference=_right,
    probes=(
        {**_many(T=5, S=5, D=3, E=2), "may_attend": WINDOW},
        {**_many(2, 3, T=5, S=5, D=4, E=2), "may_attend": WINDOW},
    ),
    parts=("out", "weights"),
    facts=_masked_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Scores, mask, softmax over the keys, mixture of the values: all agree with the "
    "course's `attend`.",
    mistakes=(
        Mistake(
            "no mask",
            _masked(lambda scores, may_attend: scores.softmax(dim=-1)),
            "Without a mask all is right; with one nothing changes. The first query gives {hidden} "
            "of its weight to keys that it may not attend to. Set their scores to −∞ before the "
            "exponential.",
        ),
        Mistake(
            "mask upside down",
            _masked(lambda s, may_attend: s.masked_fill(may_attend, -torch.inf).softmax(dim=-1)),
            "Your mask is upside down: True means that the query *may* attend to the key. "
            "`masked_fill` fills where its mask is True, so give it `~may_attend`.",
        ),
        Mistake(
            "hidden scores of zero",
            _masked(lambda s, may_attend: s.masked_fill(~may_attend, 0.0).softmax(dim=-1)),
            "You set hidden scores to 0, and exp(0) is 1: the first query still gives {hidden} of "
            "its weight to them. Only −∞ has the exponential 0.",
        ),
        Mistake(
            "hidden weights set to zero",
            _masked(lambda s, may_attend: s.softmax(dim=-1).masked_fill(~may_attend, 0.0)),
            "You hide keys after the softmax, so the weights of the first query sum to {whole}. "
            "Hide them before: then what they would have got goes to the others.",
        ),
        Mistake(
            "the mask added",
            _masked(lambda s, may_attend: (s + may_attend).softmax(dim=-1)),
            "You add the mask to the scores, which gives allowed keys 1 more, and the first query "
            "still gives {hidden} of its weight to hidden ones. Replace hidden scores by −∞.",
        ),
    ),
)

ATTEND = Exercise(
    title="Build attend",
    difficulty=2,
    minutes=10,
    function="attend",
    kept_as="attend",
    reference=_right,
    probes=(_attention_probe(5, 7, 3, 2), _attention_probe(5, 5, 3, 2)),
    parts=("out", "weights"),
    facts=_attention_facts,
    tolerance=CLOSE,
    praise="Right for one sentence.",
    mistakes=(
        Mistake(
            "no scale",
            _softmax_of(lambda q, k: q @ k.T),
            "Your scores are not scaled. They are sums of D = {D} products: divide them by "
            "√{D} = {root_D} before the softmax.",
        ),
        Mistake(
            "divides by D",
            _softmax_of(lambda q, k: q @ k.T / q.shape[-1]),
            "Your scores are divided by D = {D}; the scale is its root, √{D} = {root_D}.",
        ),
        Mistake(
            "multiplies by the root",
            _softmax_of(lambda q, k: q @ k.T * math.sqrt(q.shape[-1])),
            "Your scores are multiplied by √{D} = {root_D}; they should be divided by it.",
        ),
        Mistake(
            "divides by the root of T",
            _softmax_of(lambda q, k: q @ k.T / math.sqrt(q.shape[0])),
            "Your scores are divided by √T = {root_T}, from the number of queries. "
            "The scale comes from the width of q and k: √{D} = {root_D}. Is it `q.shape[-1]`?",
        ),
        Mistake(
            "scales after the softmax",
            _with_weights(lambda q, k: torch.softmax(q @ k.T, dim=-1) / math.sqrt(q.shape[-1])),
            "You divide by √{D} after the softmax, so each row of weights sums to {row_sum}. "
            "Scale the scores first; the softmax then makes rows that sum to 1.",
        ),
        Mistake(
            "softmax over the queries",
            _with_weights(lambda q, k: torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=0)),
            "Your softmax runs over the wrong axis: the first column of your weights sums to "
            "{column_sum}, the first row to {row_sum}. A query shares weight 1 among the keys, so "
            "each row sums to 1: `dim=-1`.",
        ),
        Mistake(
            "keys not transposed",
            _softmax_of(lambda q, k: q @ k / math.sqrt(q.shape[-1])),
            "`q @ k` multiplies ({T}, {D}) by ({S}, {D}), which does not fit. A score is the dot "
            "product of a row of q with a row of k: `q @ k.mT`.",
        ),
        Mistake(
            "mixes the keys",
            _keys_mixed,
            "Your weights are right, and then you mix the keys: an output of width {D}. "
            "Keys decide where to look; what is read are the values, of width {E}: `weights @ v`.",
        ),
        Mistake(
            "only the output",
            lambda q, k, v: attend(q, k, v)[0],
            "Your output is right, and the weights are missing: `return out, weights`.",
        ),
        Mistake(
            "swapped results",
            lambda q, k, v: attend(q, k, v)[::-1],
            "Both results are right but in the other order: `return out, weights`.",
        ),
    ),
    then=(MANY, MASKED),
)

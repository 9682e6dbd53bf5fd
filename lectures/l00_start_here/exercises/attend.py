"""Exercise 1: attention for every model to come, the first part of the reader's GPT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.masks import sliding_window_mask
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike, Tolerance
from course_utils.teaching.rows import wave

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


def _mixed(weights, v):
    """What attention returns that has these weights."""
    return weights @ v, weights


def _right(q, k, v, may_attend=None):
    return attend(q, k, v, may_attend=may_attend)


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


def _masked_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """How much weight the first query gives to what it may not see, and its whole weight."""
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if not isinstance(weights, torch.Tensor):
        return {}
    row, seen = weights.reshape(-1, weights.shape[-1])[0], inputs["may_attend"][0]
    return {"hidden": row[~seen].sum().item(), "whole": row.sum().item()}


def _scaled(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


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
)


@ATTEND.mistake()
def no_scale(q, k, v, may_attend=None):
    """Your scores are not scaled. They are sums of D = {D} products: divide them by √{D} = {root_D}
    before the softmax."""
    return _mixed(torch.softmax(q @ k.T, dim=-1), v)


@ATTEND.mistake()
def divides_by_D(q, k, v, may_attend=None):
    """Your scores are divided by D = {D}; the scale is its root, √{D} = {root_D}."""
    return _mixed(torch.softmax(q @ k.T / q.shape[-1], dim=-1), v)


@ATTEND.mistake()
def multiplies_by_the_root(q, k, v, may_attend=None):
    """Your scores are multiplied by √{D} = {root_D}; they should be divided by it."""
    return _mixed(torch.softmax(q @ k.T * math.sqrt(q.shape[-1]), dim=-1), v)


@ATTEND.mistake()
def divides_by_the_root_of_T(q, k, v, may_attend=None):
    """Your scores are divided by √T = {root_T}, from the number of queries. The scale comes from
    the width of q and k: √{D} = {root_D}. Is it `q.shape[-1]`?"""
    return _mixed(torch.softmax(q @ k.T / math.sqrt(q.shape[0]), dim=-1), v)


@ATTEND.mistake()
def scales_after_the_softmax(q, k, v, may_attend=None):
    """You divide by √{D} after the softmax, so each row of weights sums to {row_sum}. Scale the
    scores first; the softmax then makes rows that sum to 1."""
    return _mixed(torch.softmax(q @ k.T, dim=-1) / math.sqrt(q.shape[-1]), v)


@ATTEND.mistake()
def softmax_over_the_queries(q, k, v, may_attend=None):
    """Your softmax runs over the wrong axis: the first column of your weights sums to {column_sum},
    the first row to {row_sum}. A query shares weight 1 among the keys, so each row sums to 1:
    `dim=-1`."""
    return _mixed(torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=0), v)


@ATTEND.mistake()
def keys_not_transposed(q, k, v, may_attend=None):
    """`q @ k` multiplies ({T}, {D}) by ({S}, {D}), which does not fit. A score is the dot product
    of a row of q with a row of k: `q @ k.mT`."""
    return _mixed(torch.softmax(q @ k / math.sqrt(q.shape[-1]), dim=-1), v)


@ATTEND.mistake()
def mixes_the_keys(q, k, v, may_attend=None):
    """Your weights are right, and then you mix the keys: an output of width {D}. Keys decide where
    to look; what is read are the values, of width {E}: `weights @ v`."""
    weights = attend(q, k, v)[1]
    return weights @ k, weights


@ATTEND.mistake()
def only_the_output(q, k, v):
    """Your output is right, and the weights are missing: `return out, weights`."""
    return attend(q, k, v)[0]


@ATTEND.mistake()
def swapped_results(q, k, v):
    """Both results are right but in the other order: `return out, weights`."""
    return attend(q, k, v)[::-1]


MANY = ATTEND.stage(
    probes=(_many(2, 3, T=5, S=7, D=4, E=2), _many(3, T=5, S=5, D=4, E=2)),
    facts=_many_facts,
    praise="Right for one sentence and for many.",
)


@MANY.mistake()
def all_axes_transposed(q, k, v, may_attend=None):
    """One sentence works, and q of shape {shape} does not: `k.T` reverses all axes. Only the last
    two should change places: `k.mT`."""
    return _mixed(
        torch.softmax(q @ k.permute(*reversed(range(k.ndim))) / q.shape[-1] ** 0.5, dim=-1), v
    )


@MANY.mistake()
def width_from_the_second_axis(q, k, v, may_attend=None):
    """One sentence works, and q of shape {shape} does not: you take the width from `q.shape[1]`,
    which is another axis here. The width {D} is the last: `q.shape[-1]`."""
    return _mixed(torch.softmax(q @ k.mT / q.shape[1] ** 0.5, dim=-1), v)


@MANY.mistake()
def softmax_over_the_second_axis(q, k, v, may_attend=None):
    """One sentence works, and q of shape {shape} does not: your softmax runs over the second axis.
    The keys are the last: `dim=-1`."""
    return _mixed((q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=1), v)


WINDOW = sliding_window_mask(5, 3)
MASKED = ATTEND.stage(
    probes=(
        {**_many(T=5, S=5, D=3, E=2), "may_attend": WINDOW},
        {**_many(2, 3, T=5, S=5, D=4, E=2), "may_attend": WINDOW},
    ),
    facts=_masked_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Scores, mask, softmax over the keys, mixture of the values: all agree with the "
    "course's `attend`.",
)


@MASKED.mistake()
def no_mask(q, k, v, may_attend):
    """Without a mask all is right; with one nothing changes. The first query gives {hidden} of its
    weight to keys that it may not attend to. Set their scores to −∞ before the exponential."""
    return _mixed(_scaled(q, k).softmax(dim=-1), v)


@MASKED.mistake()
def mask_upside_down(q, k, v, may_attend):
    """Your mask is upside down: True means that the query *may* attend to the key. `masked_fill`
    fills where its mask is True, so give it `~may_attend`."""
    return _mixed(_scaled(q, k).masked_fill(may_attend, -torch.inf).softmax(dim=-1), v)


@MASKED.mistake()
def hidden_scores_of_zero(q, k, v, may_attend):
    """You set hidden scores to 0, and exp(0) is 1: the first query still gives {hidden} of its
    weight to them. Only −∞ has the exponential 0."""
    return _mixed(_scaled(q, k).masked_fill(~may_attend, 0.0).softmax(dim=-1), v)


@MASKED.mistake()
def hidden_weights_set_to_zero(q, k, v, may_attend):
    """You hide keys after the softmax, so the weights of the first query sum to {whole}. Hide them
    before: then what they would have got goes to the others."""
    return _mixed(_scaled(q, k).softmax(dim=-1).masked_fill(~may_attend, 0.0), v)


@MASKED.mistake()
def the_mask_added(q, k, v, may_attend):
    """You add the mask to the scores, which gives allowed keys 1 more, and the first query still
    gives {hidden} of its weight to hidden ones. Replace hidden scores by −∞."""
    return _mixed((_scaled(q, k) + may_attend).softmax(dim=-1), v)

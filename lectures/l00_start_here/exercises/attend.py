"""Exercise 1: attention for every model to come; here the first stage, one text."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.rows import wave

CLOSE = Tolerance(relative=1e-4, absolute=1e-5)


def _attention_probe(T: int, S: int, D: int, E: int) -> Mapping[str, torch.Tensor]:
    return {"q": wave(T, D, phase=0.3), "k": wave(S, D, phase=1.1), "v": wave(S, E, phase=2.2)}


def _attention_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes of the probe, and sums of the student's weights where there are weights."""
    (T, D), (S, E) = inputs["q"].shape, inputs["v"].shape
    facts: dict[str, Any] = {"T": T, "S": S, "D": D, "E": E}
    facts |= {"root_T": math.sqrt(T), "root_D": math.sqrt(D), "twice_D": 2 * D}
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if isinstance(weights, torch.Tensor) and weights.ndim == 2:
        facts["row_sum"] = weights[0].sum().item()
        facts["column_sum"] = weights[:, 0].sum().item()
    return facts


def mixed(weights, v):
    """What attention returns that has these weights."""
    return weights @ v, weights


def _right(q, k, v, may_attend=None):
    return attend(q, k, v, may_attend=may_attend)


def scaled(q, k):
    """The scores, divided by the root of the width."""
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
    return mixed(torch.softmax(q @ k.T, dim=-1), v)


@ATTEND.mistake()
def divides_by_D(q, k, v, may_attend=None):
    """Your scores are divided by D = {D}; the scale is its root, √{D} = {root_D}."""
    return mixed(torch.softmax(q @ k.T / q.shape[-1], dim=-1), v)


@ATTEND.mistake()
def divides_by_twice_D(q, k, v, may_attend=None):
    """Your scores are divided by 2·D = {twice_D}; the scale is √{D} = {root_D}. Did you write
    `/ D**1/2`? Python takes the power first, so that is `/ D / 2`. Write `D**0.5`."""
    return mixed(torch.softmax(q @ k.T / q.shape[-1] / 2, dim=-1), v)


@ATTEND.mistake()
def the_scale_of_the_picture(q, k, v, may_attend=None):
    """Your scores are divided by √2, the scale for width 2. Here the width is {D}: take it from q,
    as `q.shape[-1]`."""
    return mixed(torch.softmax(q @ k.T / math.sqrt(2), dim=-1), v)


@ATTEND.mistake()
def multiplies_by_the_root(q, k, v, may_attend=None):
    """Your scores are multiplied by √{D} = {root_D}; they should be divided by it."""
    return mixed(torch.softmax(q @ k.T * math.sqrt(q.shape[-1]), dim=-1), v)


@ATTEND.mistake()
def divides_by_the_root_of_T(q, k, v, may_attend=None):
    """Your scores are divided by √T = {root_T}, from the number of queries. The scale comes from
    the width of q and k: √{D} = {root_D}. Is it `q.shape[-1]`?"""
    return mixed(torch.softmax(q @ k.T / math.sqrt(q.shape[0]), dim=-1), v)


@ATTEND.mistake()
def scales_after_the_softmax(q, k, v, may_attend=None):
    """You divide by √{D} after the softmax, so each row of weights sums to {row_sum}. Scale the
    scores first; the softmax then makes rows that sum to 1."""
    return mixed(torch.softmax(q @ k.T, dim=-1) / math.sqrt(q.shape[-1]), v)


@ATTEND.mistake()
def softmax_over_the_queries(q, k, v, may_attend=None):
    """Your softmax runs over the wrong axis: the first column of your weights sums to {column_sum},
    the first row to {row_sum}. A query shares weight 1 among the keys, so each row sums to 1:
    `dim=-1`."""
    return mixed(torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=0), v)


@ATTEND.mistake()
def exponentials_not_divided(q, k, v, may_attend=None):
    """Your weights are the exponentials themselves: the first row sums to {row_sum}. Divide each
    row by its sum, so that a query shares weight 1."""
    return mixed(scaled(q, k).exp(), v)


@ATTEND.mistake()
def one_sum_for_the_whole_table(q, k, v, may_attend=None):
    """You divide by one sum for the whole table, so the first row of weights sums to {row_sum}.
    Each row has its own sum: `sum(dim=-1, keepdim=True)`."""
    exponentials = scaled(q, k).exp()
    return mixed(exponentials / exponentials.sum(), v)


@ATTEND.mistake()
def sums_without_keepdim(q, k, v, may_attend=None):
    """`sum(dim=-1)` has one number per query, and the division then gives one to each *column*.
    `sum(dim=-1, keepdim=True)` keeps the axis, so each *row* is divided by its own sum."""
    exponentials = scaled(q, k).exp()
    return mixed(exponentials / exponentials.sum(dim=-1), v)


@ATTEND.mistake()
def no_exponential(q, k, v, may_attend=None):
    """You divide the scores by their sum, and some of your weights are negative. Take the
    exponentials first: they are all positive."""
    scores = scaled(q, k)
    return mixed(scores / scores.sum(dim=-1, keepdim=True), v)


@ATTEND.mistake()
def no_softmax(q, k, v, may_attend=None):
    """Your scores are right, and you mix the values with them as they are: the first row sums to
    {row_sum}. The softmax makes weights of them, positive and with sum 1."""
    return mixed(scaled(q, k), v)


@ATTEND.mistake()
def scores_returned(q, k, v, may_attend=None):
    """Your output is right, but the second thing you return is the scores. Return the weights that
    the softmax makes of them."""
    return attend(q, k, v)[0], scaled(q, k)


@ATTEND.mistake()
def queries_and_keys_exchanged(q, k, v, may_attend=None):
    """Your table has a row for each key: `k @ q.mT`. It should have one for each query, since a
    query shares weight 1 among the keys: `q @ k.mT`."""
    return mixed(scaled(k, q).softmax(dim=-1), v)


@ATTEND.mistake()
def keys_not_transposed(q, k, v, may_attend=None):
    """`q @ k` multiplies ({T}, {D}) by ({S}, {D}), which does not fit. A score is the dot product
    of a row of q with a row of k: `q @ k.mT`."""
    return mixed(torch.softmax(q @ k / math.sqrt(q.shape[-1]), dim=-1), v)


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

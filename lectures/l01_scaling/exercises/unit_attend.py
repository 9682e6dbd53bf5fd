"""Exercise 2: attention by angles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch.nn.functional as F

from course_utils.attention import cosine_attend
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.rows import wave


def _by_angle(q, k, v, q_to, k_to, scale, *, of_values=lambda v: v, dim=-1):
    """Attention with some treatment of q, k and v, a scale, and a softmax over some axis."""
    weights = (scale(q.shape[-1]) * q_to(q) @ k_to(k).mT).softmax(dim=dim)
    return weights @ of_values(v), weights


def _unit(x):
    return x / x.norm(dim=-1, keepdim=True)


def _unit_columns(x):
    return x / x.norm(dim=-2, keepdim=True)


def _unit_table(x):
    return x / x.norm(dim=(-2, -1), keepdim=True)


def _by_squares(x):
    return x / x.square().sum(dim=-1, keepdim=True)


def _along_the_second_axis(x):
    return F.normalize(x, dim=1)


def _as_is(x):
    return x


def _texts(*leading: int, T: int, S: int, D: int) -> dict[str, Any]:
    return {
        "q": 3 * wave(*leading, T, D, phase=0.3),
        "k": 3 * wave(*leading, S, D, phase=1.1),
        "v": wave(*leading, S, 2, phase=2.2),
    }


def _text_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    T, D = inputs["q"].shape[-2:]
    return {"T": T, "D": D, "root": math.sqrt(D), "shape": str(tuple(inputs["q"].shape))}


# Random unit vectors have Var(q·k) = 1/d, so the factor is √d (Loshchilov et al. 2024, nGPT,
# section 2.3.2).
UNIT_ATTEND = Exercise(
    title="Build attention by angles",
    difficulty=2,
    minutes=10,
    function="unit_attend",
    reference=lambda q, k, v: cosine_attend(q, k, v, scale=math.sqrt(q.shape[-1])),
    probes=(_texts(T=5, S=7, D=6), _texts(T=5, S=5, D=3)),
    parts=("out", "weights"),
    facts=_text_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Right for one text.",
)


@UNIT_ATTEND.mistake()
def the_usual_division(q, k, v):
    """You divide the cosines by √{D}. Cosines of random directions have variance 1/{D} already;
    yours end at 1/{D}², and all weights are nearly equal."""
    return _by_angle(q, k, v, _unit, _unit, lambda D: 1 / math.sqrt(D))


@UNIT_ATTEND.mistake()
def no_scale(q, k, v):
    """You take the cosines as they are. Random ones have variance 1/{D}: they shrink as the width
    grows. Which factor makes that 1?"""
    return _by_angle(q, k, v, _unit, _unit, lambda D: 1.0)


@UNIT_ATTEND.mistake()
def the_variance_not_its_root(q, k, v):
    """You multiply by {D}. A factor c multiplies the variance by c², so yours makes it {D}²·(1/{D})
    = {D}; take the root."""
    return _by_angle(q, k, v, _unit, _unit, lambda D: float(D))


@UNIT_ATTEND.mistake()
def scaled_not_normalised(q, k, v):
    """You multiply by √{D}, but the queries and keys still have their own lengths. Divide each of
    them by its length first."""
    return _by_angle(q, k, v, _as_is, _as_is, math.sqrt)


@UNIT_ATTEND.mistake()
def plain_attention(q, k, v):
    """That is ordinary attention: the lengths of queries and keys still count. Divide each of them
    by its length first."""
    return _by_angle(q, k, v, _as_is, _as_is, lambda D: 1 / math.sqrt(D))


@UNIT_ATTEND.mistake()
def only_the_queries(q, k, v):
    """Your queries have length 1, your keys do not: a long key still has large scores with every
    query."""
    return _by_angle(q, k, v, _unit, _as_is, math.sqrt)


@UNIT_ATTEND.mistake()
def only_the_keys(q, k, v):
    """Your keys have length 1, your queries do not: a long query still sharpens its row."""
    return _by_angle(q, k, v, _as_is, _unit, math.sqrt)


@UNIT_ATTEND.mistake()
def lengths_of_columns(q, k, v):
    """You took the length over the tokens: each *column* has length 1 now. A vector is a row, so
    `dim=-1`, with `keepdim=True`."""
    return _by_angle(q, k, v, _unit_columns, _unit_columns, math.sqrt)


@UNIT_ATTEND.mistake()
def length_of_the_whole_table(q, k, v):
    """You divided by one length for the whole table. Each row has its own: `dim=-1`, with
    `keepdim=True`."""
    return _by_angle(q, k, v, _unit_table, _unit_table, math.sqrt)


@UNIT_ATTEND.mistake()
def no_root_in_the_length(q, k, v):
    """You divided by the sum of squares. The length is its root."""
    return _by_angle(q, k, v, _by_squares, _by_squares, math.sqrt)


@UNIT_ATTEND.mistake()
def values_normalised_too(q, k, v):
    """Your weights are right, but you normalised the values too. They are what is handed over:
    leave them."""
    return _by_angle(q, k, v, _unit, _unit, math.sqrt, of_values=_unit)


@UNIT_ATTEND.mistake()
def softmax_over_the_queries(q, k, v):
    """Your scores are right, but your softmax runs over the queries. The weights of one query add
    up to 1: `dim=-1`."""
    return _by_angle(q, k, v, _unit, _unit, math.sqrt, dim=-2)


@UNIT_ATTEND.mistake()
def lengths_without_keepdim(q, k, v):
    """`norm(dim=-1)` has one length per row, and the division then gives one to each *column*, if
    it fits at all. `keepdim=True` keeps the axis, so each row is divided by its own length."""
    return _by_angle(q / q.norm(dim=-1), k / k.norm(dim=-1), v, _as_is, _as_is, math.sqrt)


@UNIT_ATTEND.mistake()
def scaled_after_the_softmax(q, k, v):
    """You multiply by √{D} after the softmax, so each row of weights sums to {root}. Scale the
    scores first."""
    weights = math.sqrt(q.shape[-1]) * _by_angle(q, k, v, _unit, _unit, lambda D: 1.0)[1]
    return weights @ v, weights


@UNIT_ATTEND.mistake()
def scaled_by_these_scores(q, k, v):
    """You divide by the standard deviation of the scores you were given. Scale by what holds for
    random directions: in width {D} their cosines have variance 1/{D}, whatever is in q and k."""
    return _by_angle(q, k, v, _unit, _unit, lambda D: 1 / (_unit(q) @ _unit(k).mT).std())


@UNIT_ATTEND.mistake()
def scaled_by_the_number_of_queries(q, k, v):
    """You multiply by √{T}, from the number of queries. The scale comes from the width {D}: is it
    `q.shape[-1]`?"""
    return _by_angle(q, k, v, _unit, _unit, lambda D: math.sqrt(q.shape[-2]))


@UNIT_ATTEND.mistake()
def swapped_results(q, k, v):
    """Both results are right but in the other order: `return out, weights`."""
    return cosine_attend(q, k, v, scale=math.sqrt(q.shape[-1]))[::-1]


@UNIT_ATTEND.mistake()
def only_the_output(q, k, v):
    """Your output is right, and the weights are missing: `return out, weights`."""
    return cosine_attend(q, k, v, scale=math.sqrt(q.shape[-1]))[0]


BEGINS = "One text works, and q of shape {shape} does not: "
MANY = UNIT_ATTEND.stage(
    probes=(_texts(2, 3, T=5, S=7, D=4), _texts(3, T=5, S=5, D=4)),
    praise="Only angles count now, and random directions have scores of variance 1. nGPT and "
    "query-key normalisation do this, with a scale that may be learned.",
)


@MANY.mistake(begins=BEGINS)
def normalised_along_the_second_axis(q, k, v):
    """you take the length along the second axis, as `F.normalize(q)` does by itself. The numbers
    of a vector are on the last: `dim=-1`."""
    return _by_angle(q, k, v, _along_the_second_axis, _along_the_second_axis, math.sqrt)


@MANY.mistake(begins=BEGINS)
def width_from_the_second_axis(q, k, v):
    """you take the width from `q.shape[1]`, which is another axis here. The width {D} is the last:
    `q.shape[-1]`."""
    return _by_angle(q, k, v, _unit, _unit, lambda D: math.sqrt(q.shape[1]))


@MANY.mistake(begins=BEGINS)
def softmax_over_the_second_axis(q, k, v):
    """your softmax runs over the second axis. The keys are the last: `dim=-1`."""
    return _by_angle(q, k, v, _unit, _unit, math.sqrt, dim=1)


@MANY.mistake(begins=BEGINS)
def two_names_for_the_shape(q, k, v):
    """it has more sizes than `T, D = q.shape` has names. You need only the width, the last:
    `q.shape[-1]`."""
    _, D = q.shape
    return _by_angle(q, k, v, _unit, _unit, lambda width: math.sqrt(D))


@MANY.mistake(begins=BEGINS)
def all_axes_transposed(q, k, v):
    """`k.T` reverses all axes. Only the last two should change places: `k.mT`."""
    scores = _unit(q) @ _unit(k).permute(*reversed(range(k.ndim))) * math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ v, scores.softmax(dim=-1)


@MANY.mistake(begins=BEGINS)
def first_two_axes_transposed(q, k, v):
    """`transpose(0, 1)` swaps the *first* two axes. Swap the last two: `k.mT`, or
    `k.transpose(-2, -1)`."""
    scores = _unit(q) @ _unit(k).transpose(0, 1) * math.sqrt(q.shape[-1])
    return scores.softmax(dim=-1) @ v, scores.softmax(dim=-1)

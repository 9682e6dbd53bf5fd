"""Exercises of lecture 01: a model with a wrong scale, attention by angles, a variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_utils.attention import cosine_attend
from course_utils.teaching.asks import asks
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance, describe
from course_utils.teaching.rows import wave
from lectures.l01_scaling.experiments.mystery_models import (
    D_MODEL,
    HEAD_WIDTH,
    mystery_models,
    name_of,
)


def _variance_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """What was given, and what came out."""
    d_k, var_q, var_k, said = map(describe, (*inputs.values(), got))
    return {"at": f"Your variance at d_k = {d_k}, σ²_q = {var_q}, σ²_k = {var_k} is {said}"}


# Var(q·k) = Σ Var(q_i k_i) = d_k · σ²_q · σ²_k for independent coordinates of mean 0.
SCORE_VARIANCE = Exercise(
    title="The variance of a score",
    difficulty=1,
    minutes=5,
    function="score_variance",
    reference=lambda d_k, var_q, var_k: d_k * var_q * var_k,
    probes=(
        {"d_k": 64, "var_q": 2.0, "var_k": 3.0},
        {"d_k": 7, "var_q": 0.5, "var_k": 5.0},
        {"d_k": 1, "var_q": 1.5, "var_k": 0.25},
    ),
    parts=("variance",),
    facts=_variance_facts,
    praise="d_k independent products, each of variance σ²_q·σ²_k, and variances of independent "
    "terms add.",
)


@SCORE_VARIANCE.mistake()
def ignores_the_variances(d_k, var_q, var_k):
    """{at} = d_k. That holds only for variance 1; each product q_i·k_i has variance σ²_q·σ²_k."""
    return d_k


@SCORE_VARIANCE.mistake()
def standard_deviations_instead_of_variances(d_k, var_q, var_k):
    """{at} = d_k·σ_q·σ_k. You took roots: the variance of q_i·k_i is σ²_q·σ²_k, and `var_q`,
    `var_k` are variances already."""
    return d_k * math.sqrt(var_q * var_k)


@SCORE_VARIANCE.mistake()
def standard_deviation_of_the_score(d_k, var_q, var_k):
    """{at}, the root of {expected}. That is the standard deviation of the score; the question asks
    for its variance."""
    return math.sqrt(d_k * var_q * var_k)


@SCORE_VARIANCE.mistake()
def adds_the_variances(d_k, var_q, var_k):
    """{at} = d_k·(σ²_q + σ²_k). Variances add for a sum q_i + k_i; for a product of zero-mean
    factors they multiply."""
    return d_k * (var_q + var_k)


@SCORE_VARIANCE.mistake()
def squares_d_k(d_k, var_q, var_k):
    """{at}, with d_k squared. That is d_k equal terms, all moving together; independent terms add
    their variances, d_k times."""
    return d_k**2 * var_q * var_k


@SCORE_VARIANCE.mistake()
def forgets_the_sum(d_k, var_q, var_k):
    """{at} = σ²_q·σ²_k. That is one product q_i·k_i, or the score after the division by √d_k; the
    score itself sums d_k of them."""
    return var_q * var_k


@SCORE_VARIANCE.mistake()
def squares_the_variances(d_k, var_q, var_k):
    """{at}. You squared `var_q` and `var_k`, as one does with standard deviations; they are
    variances already."""
    return d_k * var_q**2 * var_k**2


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


def _as_is(x):
    return x


def _texts(*leading: int, T: int, S: int, D: int) -> dict[str, Any]:
    return {
        "q": 3 * wave(*leading, T, D, phase=0.3),
        "k": 3 * wave(*leading, S, D, phase=1.1),
        "v": wave(*leading, S, 2, phase=2.2),
    }


def _text_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    D = inputs["q"].shape[-1]
    return {"D": D, "root": math.sqrt(D)}


# Random unit vectors have Var(q·k) = 1/d, so the factor is √d (Loshchilov et al. 2024, nGPT,
# section 2.3.2).
UNIT_ATTEND = Exercise(
    title="Build attention by angles",
    difficulty=2,
    minutes=10,
    function="unit_attend",
    reference=lambda q, k, v: cosine_attend(q, k, v, scale=math.sqrt(q.shape[-1])),
    probes=(_texts(T=5, S=7, D=6), _texts(2, 3, T=5, S=7, D=3)),
    parts=("out", "weights"),
    facts=_text_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Only angles count now, and random directions have scores of variance 1. nGPT and "
    "query-key normalisation do this, with a scale that may be learned.",
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


def _model_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    pair = got if isinstance(got, tuple | list) and len(got) == 2 else (None, None)
    return {
        "named": pair[0],
        "divisor": pair[1],
        "root_model": math.sqrt(D_MODEL),
        "width": HEAD_WIDTH,
        "root_width": math.sqrt(HEAD_WIDTH),
    }


def _named(models, kind, divisor=None):
    """What someone answers who takes ``kind`` for the model that is asked for."""
    return name_of(models, kind), divisor


_ASKED_FOR = "root of model width"


MYSTERY_MODEL = Exercise(
    title="The model that divides by √d_model",
    difficulty=3,
    minutes=10,
    function="find_suspect",
    reference=lambda models: _named(models, _ASKED_FOR, math.sqrt(D_MODEL)),
    probes=tuple({"models": mystery_models(seed)} for seed in (0, 3, 11)),
    parts=("name", "divisor"),
    facts=_model_facts,
    tolerance=Tolerance(relative=0.02),
    praise="Its scores are divided by √d_model = √512 = 22.6; a head has width 64, so √64 = 8. "
    "They reach the softmax 2.8 times too small.",
)


@MYSTERY_MODEL.mistake()
def measures_the_first_six_only(models):
    """Right for the first six models. The check also shuffles the names, and there {named} is
    another model: let the function measure instead of naming."""
    return (name_of(mystery_models(), _ASKED_FOR), math.sqrt(D_MODEL))


@MYSTERY_MODEL.mistake(part=0)
def names_the_right_model(models):
    """{named} divides by √d_k = √{width} = {root_width}: it is the one that does it right. Look for
    scores divided by √512 = {root_model}."""
    return _named(models, "root of head width")


@MYSTERY_MODEL.mistake(part=0)
def names_the_division_by_d_k(models):
    """{named} divides by d_k = {width} itself, as μP has it. √d_model would be {root_model}."""
    return _named(models, "head width")


@MYSTERY_MODEL.mistake(part=0)
def names_the_model_without_a_scale(models):
    """{named} does not divide at all: its scores are q·k. √d_model would be {root_model}."""
    return _named(models, "nothing")


@MYSTERY_MODEL.mistake(part=0)
def measures_at_512_keys_only(models):
    """In one of the shuffles {named} divides by the root of the number of keys. At 512 keys that is
    {root_model} too, so you cannot distinguish the two: use another length."""
    equal_there = (_ASKED_FOR, "root of length")
    return next(name for name, model in models.items() if model.kind in equal_there), None


@MYSTERY_MODEL.mistake()
def gives_the_square(models):
    """{named} is the one. Its divisor is not d_model = {divisor} but the root of it: divide q·k by
    the model's score."""
    return _named(models, _ASKED_FOR, float(D_MODEL))


@MYSTERY_MODEL.mistake()
def gives_the_factor(models):
    """{named} is the one. {divisor} is what it multiplies by; the divisor is 1 over it."""
    return _named(models, _ASKED_FOR, 1 / math.sqrt(D_MODEL))


@MYSTERY_MODEL.mistake()
def gives_the_right_model_s_divisor(models):
    """{named} is the one. {divisor} = √{width} is what it should divide by; the question is what it
    does divide by."""
    return _named(models, _ASKED_FOR, math.sqrt(HEAD_WIDTH))


globals().update(
    asks(
        Path(__file__).parent,
        suspect=MYSTERY_MODEL,
        unit_attend=UNIT_ATTEND,
        score_variance=SCORE_VARIANCE,
    )
)

"""Exercise 3: the variance of a score, with pen and paper."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import describe


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


@SCORE_VARIANCE.mistake()
def the_sum_of_the_variances(d_k, var_q, var_k):
    """{at} = σ²_q + σ²_k, the variance of a sum q_i + k_i. Here the two are multiplied, and there
    are d_k such products."""
    return var_q + var_k


@SCORE_VARIANCE.mistake()
def divides_the_variance_by_the_root(d_k, var_q, var_k):
    """{at} = √d_k·σ²_q·σ²_k. The question is about q·k itself, without the division by √d_k (which
    would divide the variance by d_k)."""
    return math.sqrt(d_k) * var_q * var_k

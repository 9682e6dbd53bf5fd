"""Exercises of lecture 01: the variance of a score, the scale for unit vectors, a wrong scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_utils.lectures.l01_scaling.mystery_models import D_MODEL, HEAD_WIDTH, named, suspects
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.quiz import read_quiz
from course_utils.teaching.verdict import Verdict

__all__ = [
    "QUIZ",
    "SCORE_VARIANCE",
    "SUSPECT",
    "UNIT_NORM_SCALE",
    "check_score_variance",
    "check_suspect",
    "check_unit_norm_scale",
]

_AT = "Your variance at d_k = {d_k}, σ²_q = {var_q}, σ²_k = {var_k} is {got}"

SCORE_VARIANCE = Exercise(
    title="The variance of a score",
    difficulty=1,
    minutes=5,
    reference=lambda d_k, var_q, var_k: d_k * var_q * var_k,
    probes=(
        {"d_k": 64, "var_q": 2.0, "var_k": 3.0},
        {"d_k": 7, "var_q": 0.5, "var_k": 5.0},
        {"d_k": 1, "var_q": 1.5, "var_k": 0.25},
    ),
    parts=("variance",),
    praise="d_k independent products, each of variance σ²_q·σ²_k, and variances of independent "
    "terms add.",
    mistakes=(
        Mistake(
            "ignores the variances",
            lambda d_k, var_q, var_k: d_k,
            _AT + " = d_k. That holds for unit variance alone; each product q_i·k_i has variance "
            "σ²_q·σ²_k.",
        ),
        Mistake(
            "only the variance of q",
            lambda d_k, var_q, var_k: d_k * var_q,
            _AT + " = d_k·σ²_q. The keys vary as well: a product of independent, zero-mean factors "
            "has the product of both variances.",
        ),
        Mistake(
            "only the variance of k",
            lambda d_k, var_q, var_k: d_k * var_k,
            _AT + " = d_k·σ²_k. The queries vary as well: a product of independent, zero-mean "
            "factors has the product of both variances.",
        ),
        Mistake(
            "standard deviations instead of variances",
            lambda d_k, var_q, var_k: d_k * math.sqrt(var_q * var_k),
            _AT + " = d_k·σ_q·σ_k. You took roots: the variance of q_i·k_i is σ²_q·σ²_k, and "
            "`var_q`, `var_k` are variances already.",
        ),
        Mistake(
            "standard deviation of the score",
            lambda d_k, var_q, var_k: math.sqrt(d_k * var_q * var_k),
            _AT + ", the root of {expected}. That is the standard deviation of the score; the "
            "question asks for its variance.",
        ),
        Mistake(
            "adds the variances",
            lambda d_k, var_q, var_k: d_k * (var_q + var_k),
            _AT + " = d_k·(σ²_q + σ²_k). Variances add for a sum q_i + k_i; for a product of "
            "zero-mean factors they multiply.",
        ),
        Mistake(
            "squares d_k",
            lambda d_k, var_q, var_k: d_k**2 * var_q * var_k,
            _AT + ", with d_k squared. That is d_k equal terms, all moving together; "
            "independent terms add their variances, d_k times.",
        ),
        Mistake(
            "forgets the sum",
            lambda d_k, var_q, var_k: var_q * var_k,
            _AT + " = σ²_q·σ²_k. That is one product q_i·k_i, or the score after the division by "
            "√d_k; the score itself sums d_k of them.",
        ),
        Mistake(
            "takes the mean of the products",
            lambda d_k, var_q, var_k: var_q * var_k / d_k,
            _AT + " = σ²_q·σ²_k/d_k. That is the variance of the mean of d_k products; a dot "
            "product is their sum.",
        ),
        Mistake(
            "squares the variances",
            lambda d_k, var_q, var_k: d_k * var_q**2 * var_k**2,
            _AT + ". You squared `var_q` and `var_k`, as one does with standard deviations; they "
            "are variances already.",
        ),
    ),
)


def check_score_variance(score_variance: Any) -> Verdict:
    """Judge ``score_variance(d_k, var_q, var_k)``: Var(q·k) for independent zero-mean coordinates.

    Var(q·k) = Σ Var(q_i k_i) = d_k · σ²_q · σ²_k.

    >>> check_score_variance(lambda d_k, var_q, var_k: d_k * var_q * var_k).passed
    True
    """
    return SCORE_VARIANCE.check(score_variance)


UNIT_NORM_SCALE = Exercise(
    title="The scale for unit vectors",
    difficulty=2,
    minutes=5,
    reference=math.sqrt,
    probes=({"d_k": 64}, {"d_k": 7}, {"d_k": 3}),
    parts=("scale",),
    praise="Var(q·k) = 1/d_k for random unit vectors, so the factor is √d_k: nGPT multiplies "
    "where the Transformer divides.",
    mistakes=(
        Mistake(
            "the usual division",
            lambda d_k: 1 / math.sqrt(d_k),
            "At d_k = {d_k} you gave {got} = 1/√d_k, the factor for unit-variance coordinates. "
            "Unit vectors have scores of variance 1/d_k already: yours would end at 1/d_k².",
        ),
        Mistake(
            "the variance, not its root",
            lambda d_k: d_k,
            "At d_k = {d_k} you gave {got} = d_k. A factor c multiplies the variance by c², so "
            "yours makes it d_k²·(1/d_k) = d_k; take the root.",
        ),
        Mistake(
            "no scale",
            lambda d_k: 1,
            "At d_k = {d_k} you gave 1. The scores then keep variance 1/d_k: they are cosines, and "
            "random cosines shrink as the width grows.",
        ),
        Mistake(
            "the variance of the cosine",
            lambda d_k: 1 / d_k,
            "At d_k = {d_k} you gave {got} = 1/d_k. That is the variance of the scores, not the "
            "factor that brings it to 1.",
        ),
        Mistake(
            "split between q and k",
            lambda d_k: d_k**0.25,
            "At d_k = {d_k} you gave {got}, the fourth root of d_k. That is the factor on q and on "
            "k, one each; on the score it is their product.",
        ),
        Mistake(
            "both norms squared",
            lambda d_k: d_k**2,
            "At d_k = {d_k} you gave {got} = d_k². A factor c multiplies the variance 1/d_k by c²; "
            "solve c²/d_k = 1.",
        ),
        Mistake(
            "two vectors, two widths",
            lambda d_k: math.sqrt(2 * d_k),
            "At d_k = {d_k} you gave {got} = √(2·d_k). Two vectors do not double the count: the "
            "dot product sums d_k products, and its variance here is 1/d_k.",
        ),
    ),
)


def check_unit_norm_scale(unit_norm_scale: Any) -> Verdict:
    """Judge ``unit_norm_scale(d_k)``: the factor that gives q·k of random unit vectors variance 1.

    For independent, uniformly random unit vectors Var(q·k) = 1/d_k; the factor is √d_k
    (Loshchilov et al. 2024, nGPT, section 2.3.2).

    >>> check_unit_norm_scale(lambda d_k: d_k**0.5).passed
    True
    """
    return UNIT_NORM_SCALE.check(unit_norm_scale)


def _suspect_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    pair = got if isinstance(got, tuple | list) and len(got) == 2 else (None, None)
    return {
        "named": pair[0],
        "divisor": pair[1],
        "root_model": math.sqrt(D_MODEL),
        "width": HEAD_WIDTH,
        "root_width": math.sqrt(HEAD_WIDTH),
    }


def _culprit(models):
    return named(models, "root of model width"), math.sqrt(D_MODEL)


def _names(kind):
    """The answer of someone who takes ``kind`` for the culprit, whatever divisor they give."""
    return lambda models: (named(models, kind), None)


def _right_name(divisor):
    return lambda models: (_culprit(models)[0], divisor)


def _first_at_512_keys(models):
    """The first model that divides by 22.6 when there are as many keys as d_model."""
    alike = ("root of model width", "root of length")
    return next(name for name, model in models.items() if model.kind in alike), None


SUSPECT = Exercise(
    title="Spot the model that divides by √d_model",
    difficulty=3,
    minutes=10,
    reference=_culprit,
    probes=tuple({"models": suspects(seed)} for seed in (0, 3, 11)),
    parts=("name", "divisor"),
    facts=_suspect_facts,
    tolerance=Tolerance(relative=0.02),
    praise="Its scores are divided by √d_model = √512 = 22.6; a head has width 64, so √64 = 8. "
    "They reach the softmax 2.8 times too small.",
    mistakes=(
        Mistake(
            "measures the first six only",
            lambda models: _culprit(suspects()),
            "Right for the first six models. The check also shuffles the names, and there {named} "
            "is another model: let the function measure instead of naming.",
        ),
        Mistake(
            "accuses the right model",
            _names("root of head width"),
            "{named} divides by √d_k = √{width} = {root_width}: it is the one that does it right. "
            "Look for scores divided by √512 = {root_model}.",
            part=0,
        ),
        Mistake(
            "accuses the division by d_k",
            _names("head width"),
            "{named} divides by d_k = {width} itself, as μP has it. "
            "√d_model would be {root_model}.",
            part=0,
        ),
        Mistake(
            "accuses the model without a scale",
            _names("nothing"),
            "{named} does not divide at all: its scores are q·k. √d_model would be {root_model}.",
            part=0,
        ),
        Mistake(
            "accuses the division by the root of the length",
            _names("root of length"),
            "{named} divides by the root of the number of keys, so its divisor changes with the "
            "length; at 512 keys it happens to be {root_model}. Measure at two lengths.",
            part=0,
        ),
        Mistake(
            "accuses the multiplication",
            _names("multiplies"),
            "{named} multiplies by √d_k = {root_width}, as is right for unit vectors: its divisor "
            "is 1/8. √d_model would be {root_model}.",
            part=0,
        ),
        Mistake(
            "measures at 512 keys only",
            _first_at_512_keys,
            "In one of the shuffles {named} divides by the root of the number of keys. At 512 keys "
            "that is {root_model} as well, so two models look alike: measure at another length.",
            part=0,
        ),
        Mistake(
            "gives the square",
            _right_name(float(D_MODEL)),
            "{named} is the one. Its divisor is not d_model = {divisor} but the root of it: divide "
            "q·k by the model's score.",
        ),
        Mistake(
            "gives the factor",
            _right_name(1 / math.sqrt(D_MODEL)),
            "{named} is the one. {divisor} is what it multiplies by; the divisor is 1 over it.",
        ),
        Mistake(
            "gives the right model's divisor",
            _right_name(math.sqrt(HEAD_WIDTH)),
            "{named} is the one. {divisor} = √{width} is what it should divide by; the question "
            "is what it does divide by.",
        ),
        Mistake(
            "gives the ratio to the right scale",
            _right_name(math.sqrt(D_MODEL / HEAD_WIDTH)),
            "{named} is the one. {divisor} = √8 is how much too large its divisor is; compare its "
            "scores with the plain q·k, not with those of another model.",
        ),
    ),
)


def check_suspect(find_suspect: Any) -> Verdict:
    """Judge ``find_suspect(models)``: the (name, divisor) of the model that divides by √d_model.

    ``models`` is what :func:`~course_utils.lectures.l01_scaling.mystery_models.suspects` returns; the check
    also shuffles the names, so the function has to measure. The divisor may be 2 % off.

    >>> check_suspect(lambda models: ("amber", 8.0)).passed
    False
    """
    return SUSPECT.check(find_suspect)


QUIZ = read_quiz(Path(__file__).with_name("quiz.toml"))

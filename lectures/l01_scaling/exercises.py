"""Exercises of lecture 01: a model with a wrong scale, attention by angles, a variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_utils.attention import cosine_attend
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from course_utils.teaching.rows import wave
from lectures.l01_scaling.experiments.mystery_models import (
    D_MODEL,
    HEAD_WIDTH,
    mystery_models,
    name_of,
)

_AT = "Your variance at d_k = {d_k}, σ²_q = {var_q}, σ²_k = {var_k} is {got}"

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
    praise="d_k independent products, each of variance σ²_q·σ²_k, and variances of independent "
    "terms add.",
    mistakes=(
        Mistake(
            "ignores the variances",
            lambda d_k, var_q, var_k: d_k,
            _AT + " = d_k. That holds only for variance 1; each product q_i·k_i has variance "
            "σ²_q·σ²_k.",
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
            "squares the variances",
            lambda d_k, var_q, var_k: d_k * var_q**2 * var_k**2,
            _AT + ". You squared `var_q` and `var_k`, as one does with standard deviations; they "
            "are variances already.",
        ),
    ),
)


def _by_angle(q_to, k_to, scale, *, of_values=lambda v: v, dim=-1):
    """Attention with some treatment of q, k and v, a scale, and a softmax over some axis."""

    def answer(q, k, v):
        weights = (scale(q.shape[-1]) * q_to(q) @ k_to(k).mT).softmax(dim=dim)
        return weights @ of_values(v), weights

    return answer


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
    mistakes=(
        Mistake(
            "the usual division",
            _by_angle(_unit, _unit, lambda D: 1 / math.sqrt(D)),
            "You divide the cosines by √{D}. Cosines of random directions have variance 1/{D} "
            "already; yours end at 1/{D}², and all weights are nearly equal.",
        ),
        Mistake(
            "no scale",
            _by_angle(_unit, _unit, lambda D: 1.0),
            "You take the cosines as they are. Random ones have variance 1/{D}: they shrink as the "
            "width grows. Which factor makes that 1?",
        ),
        Mistake(
            "the variance, not its root",
            _by_angle(_unit, _unit, lambda D: float(D)),
            "You multiply by {D}. A factor c multiplies the variance by c², so yours makes it "
            "{D}²·(1/{D}) = {D}; take the root.",
        ),
        Mistake(
            "scaled, not normalised",
            _by_angle(_as_is, _as_is, math.sqrt),
            "You multiply by √{D}, but the queries and keys still have their own lengths. Divide "
            "each of them by its length first.",
        ),
        Mistake(
            "plain attention",
            _by_angle(_as_is, _as_is, lambda D: 1 / math.sqrt(D)),
            "That is ordinary attention: the lengths of queries and keys still count. Divide each "
            "of them by its length first.",
        ),
        Mistake(
            "only the queries",
            _by_angle(_unit, _as_is, math.sqrt),
            "Your queries have length 1, your keys do not: a long key still has large scores with "
            "every query.",
        ),
        Mistake(
            "only the keys",
            _by_angle(_as_is, _unit, math.sqrt),
            "Your keys have length 1, your queries do not: a long query still sharpens its row.",
        ),
        Mistake(
            "lengths of columns",
            _by_angle(_unit_columns, _unit_columns, math.sqrt),
            "You took the length over the tokens: each *column* has length 1 now. A vector is a "
            "row, so `dim=-1`, with `keepdim=True`.",
        ),
        Mistake(
            "length of the whole table",
            _by_angle(_unit_table, _unit_table, math.sqrt),
            "You divided by one length for the whole table. Each row has its own: `dim=-1`, with "
            "`keepdim=True`.",
        ),
        Mistake(
            "no root in the length",
            _by_angle(_by_squares, _by_squares, math.sqrt),
            "You divided by the sum of squares. The length is its root.",
        ),
        Mistake(
            "values normalised too",
            _by_angle(_unit, _unit, math.sqrt, of_values=_unit),
            "Your weights are right, but you normalised the values too. They are what is handed "
            "over: leave them.",
        ),
        Mistake(
            "softmax over the queries",
            _by_angle(_unit, _unit, math.sqrt, dim=-2),
            "Your scores are right, but your softmax runs over the queries. The weights of one "
            "query add up to 1: `dim=-1`.",
        ),
    ),
)


def _model_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    pair = got if isinstance(got, tuple | list) and len(got) == 2 else (None, None)
    return {
        "named": pair[0],
        "divisor": pair[1],
        "root_model": math.sqrt(D_MODEL),
        "width": HEAD_WIDTH,
        "root_width": math.sqrt(HEAD_WIDTH),
    }


def _answer(kind, divisor=None):
    """The answer of someone who takes ``kind`` for the model that is asked for."""
    return lambda models: (name_of(models, kind), divisor)


_ASKED_FOR = "root of model width"


def _first_at_512_keys(models):
    """The first model that divides by 22.6 when there are as many keys as d_model."""
    equal_there = (_ASKED_FOR, "root of length")
    return next(name for name, model in models.items() if model.kind in equal_there), None


MYSTERY_MODEL = Exercise(
    title="The model that divides by √d_model",
    difficulty=3,
    minutes=10,
    function="find_suspect",
    reference=_answer(_ASKED_FOR, math.sqrt(D_MODEL)),
    probes=tuple({"models": mystery_models(seed)} for seed in (0, 3, 11)),
    parts=("name", "divisor"),
    facts=_model_facts,
    tolerance=Tolerance(relative=0.02),
    praise="Its scores are divided by √d_model = √512 = 22.6; a head has width 64, so √64 = 8. "
    "They reach the softmax 2.8 times too small.",
    mistakes=(
        Mistake(
            "measures the first six only",
            lambda models: (name_of(mystery_models(), _ASKED_FOR), math.sqrt(D_MODEL)),
            "Right for the first six models. The check also shuffles the names, and there {named} "
            "is another model: let the function measure instead of naming.",
        ),
        Mistake(
            "names the right model",
            _answer("root of head width"),
            "{named} divides by √d_k = √{width} = {root_width}: it is the one that does it right. "
            "Look for scores divided by √512 = {root_model}.",
            part=0,
        ),
        Mistake(
            "names the division by d_k",
            _answer("head width"),
            "{named} divides by d_k = {width} itself, as μP has it. "
            "√d_model would be {root_model}.",
            part=0,
        ),
        Mistake(
            "names the model without a scale",
            _answer("nothing"),
            "{named} does not divide at all: its scores are q·k. √d_model would be {root_model}.",
            part=0,
        ),
        Mistake(
            "measures at 512 keys only",
            _first_at_512_keys,
            "In one of the shuffles {named} divides by the root of the number of keys. At 512 keys "
            "that is {root_model} too, so you cannot distinguish the two: use another length.",
            part=0,
        ),
        Mistake(
            "gives the square",
            _answer(_ASKED_FOR, float(D_MODEL)),
            "{named} is the one. Its divisor is not d_model = {divisor} but the root of it: divide "
            "q·k by the model's score.",
        ),
        Mistake(
            "gives the factor",
            _answer(_ASKED_FOR, 1 / math.sqrt(D_MODEL)),
            "{named} is the one. {divisor} is what it multiplies by; the divisor is 1 over it.",
        ),
        Mistake(
            "gives the right model's divisor",
            _answer(_ASKED_FOR, math.sqrt(HEAD_WIDTH)),
            "{named} is the one. {divisor} = √{width} is what it should divide by; the question "
            "is what it does divide by.",
        ),
    ),
)

EXERCISES = (MYSTERY_MODEL, UNIT_ATTEND, SCORE_VARIANCE)
check_score_variance = SCORE_VARIANCE.check
check_unit_attend = UNIT_ATTEND.check
check_suspect = MYSTERY_MODEL.check
QUIZ = read_quiz(Path(__file__).with_name("quiz.toml"))
PREDICTIONS = read_predictions(Path(__file__).with_name("predictions.toml"))
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

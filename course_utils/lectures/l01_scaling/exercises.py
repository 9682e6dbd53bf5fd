"""Exercises of lecture 01: the variance of a score, the scale for unit vectors, a wrong scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from course_utils.lectures.l01_scaling.experiments.mystery_models import (
    D_MODEL,
    HEAD_WIDTH,
    mystery_models,
    name_of,
)
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_score_variance",
    "check_suspect",
    "check_unit_norm_scale",
    "guesses",
    "predict",
]

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
            _AT + " = d_k. That holds for unit variance alone; each product q_i·k_i has variance "
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

# Var(q·k) = 1/d_k for independent, uniformly random unit vectors, so the factor is √d_k
# (Loshchilov et al. 2024, nGPT, section 2.3.2).
UNIT_NORM_SCALE = Exercise(
    title="The scale for unit vectors",
    difficulty=2,
    minutes=5,
    function="unit_norm_scale",
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
    alike = (_ASKED_FOR, "root of length")
    return next(name for name, model in models.items() if model.kind in alike), None


MYSTERY_MODEL = Exercise(
    title="Spot the model that divides by √d_model",
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
            "that is {root_model} as well, so two models look alike: measure at another length.",
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

EXERCISES = (SCORE_VARIANCE, UNIT_NORM_SCALE, MYSTERY_MODEL)
check_score_variance = SCORE_VARIANCE.check
check_unit_norm_scale = UNIT_NORM_SCALE.check
check_suspect = MYSTERY_MODEL.check
QUIZ = read_quiz(Path(__file__).with_name("quiz.toml"))
PREDICTIONS = read_predictions(Path(__file__).with_name("predictions.toml"))
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

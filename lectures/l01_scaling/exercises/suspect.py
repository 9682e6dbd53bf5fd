"""Exercise 1: a model with a wrong scale, found by measuring."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance
from lectures.l01_scaling.experiments.mystery_models import (
    D_MODEL,
    HEAD_WIDTH,
    mystery_models,
    name_of,
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


def _named(models, kind, divisor=None):
    """What someone answers who takes ``kind`` for the model that is asked for."""
    return name_of(models, kind), divisor


_ASKED_FOR = "root of model width"
OF_THE_NOTEBOOK = 1  # its `SEED`


MYSTERY_MODEL = Exercise(
    title="The model that divides by √d_model",
    difficulty=3,
    minutes=10,
    function="find_suspect",
    reference=lambda models: _named(models, _ASKED_FOR, math.sqrt(D_MODEL)),
    probes=tuple({"models": mystery_models(seed)} for seed in (0, 3, 11, OF_THE_NOTEBOOK)),
    parts=("name", "divisor"),
    facts=_model_facts,
    tolerance=Tolerance(relative=0.02),
    praise="Its scores are divided by √d_model = √512 = 22.6; a head has width 64, so √64 = 8. "
    "They reach the softmax 2.8 times too small.",
)


@MYSTERY_MODEL.mistake()
def named_from_the_notebook(models):
    """Right for the six models of the notebook. The check shuffles the names, and there {named} is
    another model: let the function measure instead of naming."""
    return (name_of(mystery_models(OF_THE_NOTEBOOK), _ASKED_FOR), math.sqrt(D_MODEL))


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

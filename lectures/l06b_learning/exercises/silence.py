"""Take a head away: the columns through which it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.rows import wave


def _silence(weight, head, num_heads):
    D = weight.shape[1] // num_heads
    silent = weight.clone()
    silent[:, head * D : (head + 1) * D] = 0
    return silent


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    weight, H = inputs["weight"], inputs["num_heads"]
    D = weight.shape[1] // H
    first = inputs["head"] * D
    return {"C": weight.shape[1], "D": D, "first": first, "last": first + D - 1}


SILENCE = Exercise(
    title="Take a head away",
    difficulty=1,
    minutes=6,
    function="silence",
    reference=_silence,
    probes=(
        {"weight": wave(6, 6, phase=0.3), "head": 1, "num_heads": 3},
        {"weight": wave(15, 15, phase=1.2), "head": 3, "num_heads": 5},
        {"weight": wave(14, 14, phase=0.7), "head": 0, "num_heads": 2},
    ),
    parts=("weight",),
    facts=_facts,
    praise="Whatever the head looks at, nothing of it reaches the stream, and the model that you "
    "were given stays whole. The output's bias belongs to no head, and stays.",
)

_OF = "C = {C} and {num_heads} heads: head {head} hands over numbers {first} to {last}. "


@SILENCE.mistake(begins=_OF)
def rows_for_columns(weight, head, num_heads):
    """You set rows {first} to {last} to 0. A row makes one number of the *output*, for all heads
    together. What a head hands over comes in, and is multiplied by columns."""
    return _silence(weight.T, head, num_heads).T


@SILENCE.mistake(begins=_OF)
def one_column(weight, head, num_heads):
    """You set one column to 0. A head is {D} numbers wide, C divided by the number of heads."""
    silent = weight.clone()
    silent[:, head] = 0
    return silent


@SILENCE.mistake(begins=_OF)
def as_many_columns_as_heads(weight, head, num_heads):
    """You set {num_heads} columns to 0, as many as there are heads. A head has {D}."""
    silent = weight.clone()
    silent[:, head * num_heads : (head + 1) * num_heads] = 0
    return silent


@SILENCE.mistake(begins=_OF)
def interleaved(weight, head, num_heads):
    """You set every {num_heads}th column to 0. The heads are joined one after the other, so a
    head's numbers are next to each other."""
    silent = weight.clone()
    silent[:, head::num_heads] = 0
    return silent


@SILENCE.mistake(begins=_OF)
def only_this_head_left(weight, head, num_heads):
    """You kept this head, and silenced all others."""
    return weight - _silence(weight, head, num_heads)


@SILENCE.mistake(begins=_OF)
def the_next_head(weight, head, num_heads):
    """You counted heads from 1: another head is silent now."""
    return _silence(weight, head - 1 if head else num_heads - 1, num_heads)


@SILENCE.mistake(begins=_OF)
def minus_infinity(weight, head, num_heads):
    """You set its columns to −∞. That is for scores, before a softmax. These are weights of a sum:
    what adds nothing is 0."""
    silent = weight.clone()
    D = weight.shape[1] // num_heads
    silent[:, head * D : (head + 1) * D] = -torch.inf
    return silent


@SILENCE.mistake(begins=_OF)
def columns_cut_out(weight, head, num_heads):
    """You cut its columns out, and the matrix is no longer (C, C): the heads' joined output has C
    numbers still. Set the columns to 0."""
    D = weight.shape[1] // num_heads
    return torch.cat([weight[:, : head * D], weight[:, (head + 1) * D :]], dim=1)

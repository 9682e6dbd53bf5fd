"""Exercises of lecture 00: attention in three lines, and where it becomes the costlier layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from course_utils.attention import attend
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.predict import read_predictions
from course_utils.teaching.quiz import read_quiz
from course_utils.teaching.rows import wave

__all__ = [
    "EXERCISES",
    "PREDICTIONS",
    "QUIZ",
    "check_attention",
    "check_crossover",
    "guesses",
    "predict",
]


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


def _with_weights(weights_of):
    """Attention that is right but for the step from q and k to the weights."""

    def attention(q, k, v):
        weights = weights_of(q, k)
        return weights @ v, weights

    return attention


def _softmax_of(scores_of):
    return _with_weights(lambda q, k: torch.softmax(scores_of(q, k), dim=-1))


def _keys_mixed(q, k, v):
    weights = attend(q, k, v)[1]
    return weights @ k, weights


ATTENTION = Exercise(
    title="Attention in three lines",
    difficulty=1,
    minutes=5,
    function="attention",
    reference=attend,
    probes=(_attention_probe(5, 7, 3, 2), _attention_probe(5, 5, 3, 2)),
    parts=("out", "weights"),
    facts=_attention_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Scores, softmax over the keys, mix of the values: they agree with `attend`.",
    mistakes=(
        Mistake(
            "no scale",
            _softmax_of(lambda q, k: q @ k.T),
            "Your scores are not scaled. They are sums of D = {D} products: divide them by "
            "√{D} = {root_D} before the softmax.",
        ),
        Mistake(
            "divides by D",
            _softmax_of(lambda q, k: q @ k.T / q.shape[-1]),
            "Your scores are divided by D = {D}; the scale is its root, √{D} = {root_D}.",
        ),
        Mistake(
            "multiplies by the root",
            _softmax_of(lambda q, k: q @ k.T * math.sqrt(q.shape[-1])),
            "Your scores are multiplied by √{D} = {root_D}; they should be divided by it.",
        ),
        Mistake(
            "divides by the root of T",
            _softmax_of(lambda q, k: q @ k.T / math.sqrt(q.shape[0])),
            "Your scores are divided by √T = {root_T}, from the number of queries. "
            "The scale comes from the width of q and k: √{D} = {root_D}. Is it `q.shape[-1]`?",
        ),
        Mistake(
            "scales after the softmax",
            _with_weights(lambda q, k: torch.softmax(q @ k.T, dim=-1) / math.sqrt(q.shape[-1])),
            "You divide by √{D} after the softmax, so each row of weights sums to {row_sum}. "
            "Scale the scores first; the softmax then makes rows that sum to 1.",
        ),
        Mistake(
            "softmax over the queries",
            _with_weights(lambda q, k: torch.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=0)),
            "Your softmax runs over the wrong axis: the first column of your weights sums to "
            "{column_sum}, the first row to {row_sum}. A query shares weight 1 among the keys, so "
            "each row sums to 1: `dim=-1`.",
        ),
        Mistake(
            "keys not transposed",
            _softmax_of(lambda q, k: q @ k / math.sqrt(q.shape[-1])),
            "`q @ k` multiplies ({T}, {D}) by ({S}, {D}), which does not fit. A score is the dot "
            "product of a row of q with a row of k: `q @ k.T`.",
        ),
        Mistake(
            "mixes the keys",
            _keys_mixed,
            "Your weights are right, and then you mix the keys: an output of width {D}. "
            "Keys decide where to look; what is read are the values, of width {E}: `weights @ v`.",
        ),
        Mistake(
            "only the output",
            lambda q, k, v: attend(q, k, v)[0],
            "Your output is right, and the weights are missing: `return out, weights`.",
        ),
        Mistake(
            "swapped results",
            lambda q, k, v: attend(q, k, v)[::-1],
            "Both results are right but in the other order: `return out, weights`.",
        ),
    ),
)

# In FLOPs, a multiply-add as 2, matrix products alone. LSTM: eight products of a C-vector with a
# C×C matrix a step. Attention: four C×C projections a token and two products with an N×N matrix.
CROSSOVER = Exercise(
    title="Where attention becomes the costlier layer",
    difficulty=2,
    minutes=8,
    function="crossover_length",
    reference=lambda width: 2 * width,
    probes=({"width": 7}, {"width": 64}, {"width": 384}),
    parts=("length",),
    praise="8·N·C² + 4·N²·C = 16·N·C² at N = 2C. Below it the attention layer needs fewer FLOPs, "
    "and it needs one sequential step where the LSTM needs N.",
    mistakes=(
        Mistake(
            "leading terms only",
            lambda width: width,
            "At C = {width} you gave {got}. N = C is the rule of thumb from N²·C against N·C², "
            "without the constants and the projections. Keep them: attention 8·N·C² + 4·N²·C, "
            "LSTM 16·N·C².",
        ),
        Mistake(
            "no projections",
            lambda width: 4 * width,
            "At C = {width} you gave {got} = 4C. That leaves out attention's four projections, "
            "8·N·C², or counts one of its two N×N products instead of both.",
        ),
        Mistake(
            "multiply-adds on one side",
            lambda width: 6 * width,
            "At C = {width} you gave {got} = 6C. You count a multiply-add as one FLOP in attention "
            "and as two in the LSTM: use 2 on both sides.",
        ),
        Mistake(
            "three projections",
            lambda width: 2.5 * width,
            "At C = {width} you gave {got} = 2.5C. That counts three projections, of q, k and v. "
            "The fourth, W_O, follows the heads: 4·2·N·C² in all.",
        ),
        Mistake(
            "half an LSTM",
            lambda width: 0 * width,
            "At C = {width} you gave 0: attention never cheaper. Then the LSTM has been given four "
            "products a step. Each of its four gates reads the input and the last state: eight.",
        ),
        Mistake(
            "fraction upside down",
            lambda width: width / 2,
            "At C = {width} you gave {got} = C/2. The last step is upside down: 4·N = 8·C means "
            "N = 8·C/4.",
        ),
        Mistake(
            "a width too many",
            lambda width: 2 * width**2,
            "At C = {width} you gave {got} = 2C². One C has stayed: divide 4·N²·C = 8·N·C² by N·C "
            "on both sides.",
        ),
    ),
)

EXERCISES = (ATTENTION, CROSSOVER)
check_attention = ATTENTION.check
check_crossover = CROSSOVER.check
QUIZ = read_quiz(Path(__file__).with_name("quiz.toml"))
PREDICTIONS = read_predictions(Path(__file__).with_name("predictions.toml"))
predict, guesses = PREDICTIONS.ask, PREDICTIONS.guesses

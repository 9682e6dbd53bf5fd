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
from course_utils.teaching.quiz import read_quiz
from course_utils.teaching.verdict import Verdict

__all__ = ["ATTENTION", "CROSSOVER", "QUIZ", "check_attention", "check_crossover"]


def _wave(rows: int, columns: int, phase: float) -> torch.Tensor:
    """Numbers between -2 and 2 without a pattern that a swapped axis would keep."""
    return 2 * torch.sin(torch.arange(rows * columns) * 1.7 + phase).reshape(rows, columns)


def _attention_probe(T: int, S: int, D: int, E: int) -> Mapping[str, torch.Tensor]:
    return {"q": _wave(T, D, 0.3), "k": _wave(S, D, 1.1), "v": _wave(S, E, 2.2)}


def _attention_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Sizes of the probe, and sums of the student's weights where there are weights."""
    (T, D), (S, E) = inputs["q"].shape, inputs["v"].shape
    facts: dict[str, Any] = {"T": T, "S": S, "D": D, "E": E}
    facts |= {f"root_{name}": math.sqrt(size) for name, size in list(facts.items())}
    weights = got[1] if isinstance(got, tuple | list) and len(got) == 2 else None
    if isinstance(weights, torch.Tensor) and weights.ndim == 2:
        facts["row_sum"] = weights[0].sum().item()
        facts["column_sum"] = weights[:, 0].sum().item()
        facts["smallest"] = weights.min().item()
    return facts


def _with_scores(scale_of):
    """Attention that is right but for the factor on its scores."""

    def attention(q, k, v):
        weights = torch.softmax(scale_of(q, k, v) * (q @ k.T), dim=-1)
        return weights @ v, weights

    return attention


def _with_weights(weights_of):
    """Attention that is right but for the step from scores to weights, given √D."""

    def attention(q, k, v):
        weights = weights_of(q @ k.T, math.sqrt(q.shape[-1]))
        return weights @ v, weights

    return attention


def _transposed_scores(q, k, v):
    weights = torch.softmax(k @ q.T / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights


def _untransposed_keys(q, k, v):
    weights = torch.softmax(q @ k / math.sqrt(q.shape[-1]), dim=-1)
    return weights @ v, weights


def _transposed_weights(q, k, v):
    weights = attend(q, k, v)[1]
    return weights.T @ v, weights


def _keys_mixed(q, k, v):
    weights = attend(q, k, v)[1]
    return weights @ k, weights


ATTENTION = Exercise(
    title="Attention in three lines",
    difficulty=1,
    minutes=5,
    reference=attend,
    probes=(_attention_probe(5, 7, 3, 2), _attention_probe(5, 5, 3, 2)),
    parts=("out", "weights"),
    facts=_attention_facts,
    tolerance=Tolerance(relative=1e-4, absolute=1e-5),
    praise="Scores, softmax over the keys, mix of the values: they agree with `attend`.",
    mistakes=(
        Mistake(
            "no scale",
            _with_scores(lambda q, k, v: 1.0),
            "Your scores are not scaled. They are sums of D = {D} products: divide them by "
            "√{D} = {root_D} before the softmax.",
        ),
        Mistake(
            "divides by D",
            _with_scores(lambda q, k, v: 1 / q.shape[-1]),
            "Your scores are divided by D = {D}; the scale is its root, √{D} = {root_D}.",
        ),
        Mistake(
            "multiplies by the root",
            _with_scores(lambda q, k, v: math.sqrt(q.shape[-1])),
            "Your scores are multiplied by √{D} = {root_D}; they should be divided by it.",
        ),
        Mistake(
            "divides by the root of T",
            _with_scores(lambda q, k, v: q.shape[0] ** -0.5),
            "Your scores are divided by √T = {root_T}, from the number of queries. "
            "The scale comes from the width of q and k: √{D} = {root_D}. Is it `q.shape[-1]`?",
        ),
        Mistake(
            "divides by the root of S",
            _with_scores(lambda q, k, v: k.shape[0] ** -0.5),
            "Your scores are divided by √S = {root_S}, from the number of keys. "
            "The scale comes from the width of q and k: √{D} = {root_D}. Is it `k.shape[-1]`?",
        ),
        Mistake(
            "divides by the root of E",
            _with_scores(lambda q, k, v: v.shape[-1] ** -0.5),
            "Your scores are divided by √{E} = {root_E}, from the width of v. "
            "Only q and k enter a score, and they have width {D}: √{D} = {root_D}.",
        ),
        Mistake(
            "scales after the softmax",
            _with_weights(lambda scores, root: torch.softmax(scores, dim=-1) / root),
            "You divide by √{D} after the softmax, so each row of weights sums to {row_sum}. "
            "Scale the scores first; the softmax then makes rows that sum to 1.",
        ),
        Mistake(
            "softmax over the queries",
            _with_weights(lambda scores, root: torch.softmax(scores / root, dim=0)),
            "Your softmax runs over the wrong axis: the first column of your weights sums to "
            "{column_sum}, the first row to {row_sum}. A query shares weight 1 among the keys, so "
            "each row sums to 1: `dim=-1`.",
        ),
        Mistake(
            "no softmax",
            _with_weights(lambda scores, root: scores / root),
            "Your weights are the raw scaled scores: the smallest is {smallest} and the first row "
            "sums to {row_sum}. A softmax over the keys makes them positive with sum 1.",
        ),
        Mistake(
            "exponential without normalisation",
            _with_weights(lambda scores, root: torch.exp(scores / root)),
            "You take the exponential and do not normalise: the first row of your weights sums to "
            "{row_sum}. Divide each row by its sum, or use `torch.softmax`.",
        ),
        Mistake(
            "sigmoid",
            _with_weights(lambda scores, root: torch.sigmoid(scores / root)),
            "Your weights come from a sigmoid, each on its own: the first row sums to {row_sum}. "
            "In attention the keys compete, and a softmax makes each row sum to 1.",
        ),
        Mistake(
            "scores transposed",
            _transposed_scores,
            "You compute `k @ q.T`, with a row for each key. A row belongs to a query, which "
            "shares its weight among the keys: `q @ k.T`, of shape (T, S).",
        ),
        Mistake(
            "keys not transposed",
            _untransposed_keys,
            "`q @ k` multiplies ({T}, {D}) by ({S}, {D}), which does not fit. A score is the dot "
            "product of a row of q with a row of k: `q @ k.T`.",
        ),
        Mistake(
            "weights transposed",
            _transposed_weights,
            "Your weights are right, and then you mix with `weights.T @ v`. A row of weights "
            "belongs to a query, so the output is `weights @ v`.",
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
            "only the weights",
            lambda q, k, v: attend(q, k, v)[1],
            "Your weights are right, and the output is missing: mix the values, `weights @ v`, "
            "and `return out, weights`.",
        ),
        Mistake(
            "swapped results",
            lambda q, k, v: attend(q, k, v)[::-1],
            "Both results are right but in the other order: `return out, weights`.",
        ),
    ),
)


def check_attention(attention: Any) -> Verdict:
    """Judge ``attention(q, k, v)`` for q (T, D), k (S, D), v (S, E), returning (out, weights).

    weights = softmax(q kᵀ / √D) over the keys, out = weights v (Vaswani et al. 2017, eq. 1).

    >>> check_attention(...).started
    False
    """
    return ATTENTION.check(attention)


CROSSOVER = Exercise(
    title="Where attention becomes the costlier layer",
    difficulty=2,
    minutes=8,
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
            "a plain recurrent layer",
            lambda width: -width,
            "At C = {width} you gave {got}, a negative length. That compares with a plain "
            "recurrent layer, two products a step, 4·N·C²; the LSTM has eight, 16·N·C².",
        ),
        Mistake(
            "fraction upside down",
            lambda width: width / 2,
            "At C = {width} you gave {got} = C/2. The last step is upside down: 4·N = 8·C means "
            "N = 8·C/4.",
        ),
        Mistake(
            "one less than where they meet",
            lambda width: 2 * width - 1,
            "At C = {width} you gave {got}, the last length at which attention is still cheaper. "
            "The question asks where both cost the same: {expected}.",
        ),
        Mistake(
            "a width too many",
            lambda width: 2 * width**2,
            "At C = {width} you gave {got} = 2C². One C has stayed: divide 4·N²·C = 8·N·C² by N·C "
            "on both sides.",
        ),
    ),
)


def check_crossover(crossover_length: Any) -> Verdict:
    """Judge ``crossover_length(width)``: the N at which both layers cost the same.

    Counted in FLOPs, a multiply-add as 2, matrix products alone, for N tokens of width C:

    - an LSTM layer, eight products of a C-vector with a C×C matrix a step: 8·2·N·C²;
    - an attention layer, four C×C projections a token and two products with an N×N matrix (scores
      and mix): 4·2·N·C² + 2·2·N²·C.

    >>> check_crossover(lambda width: 2 * width).passed
    True
    """
    return CROSSOVER.check(crossover_length)


QUIZ = read_quiz(Path(__file__).with_name("quiz.toml"))

"""Count a GPT-2's parameters, for any sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils.teaching.closeness import as_array
from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import Tolerance


def _count(V: int, P: int, C: int, L: int, F: int) -> int:
    attention = 4 * (C * C + C)
    feedforward = (C * F + F) + (F * C + C)
    norms = 2 * (2 * C)
    return V * C + P * C + L * (attention + feedforward + norms) + 2 * C


def _in_words(count: float) -> str:
    """A count with its thousands apart."""
    return f"{count:,.0f}" if count == round(count) else f"{count:,.4g}"


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    V, P, C, L, F = inputs.values()
    right = _count(**inputs)
    numbers = {
        "right": right,
        "VC": V * C,
        "PC": P * C,
        "block": (right - (V + P + 2) * C) // L,
        "wide": 4 * C,
        "gave": float(as_array(got, "count")),
    }
    off = numbers["gave"] - right
    facts = {name: _in_words(number) for name, number in numbers.items()}
    facts["off"] = f"{_in_words(abs(off))} too {'many' if off > 0 else 'few'}"
    return facts | {"sizes": f"With V = {V}, P = {P}, C = {C}, L = {L}, F = {F}"}


_GAVE = "{sizes} you gave {gave}: {off}. "
_COMES = "{sizes} you gave {gave}, expected {right}. "

COUNT = Exercise(
    title="Count the parameters",
    difficulty=2,
    minutes=10,
    function="count_parameters",
    reference=_count,
    probes=(
        {"V": 50257, "P": 1024, "C": 768, "L": 12, "F": 3072},
        {"V": 101, "P": 17, "C": 6, "L": 5, "F": 13},
        {"V": 23, "P": 97, "C": 11, "L": 3, "F": 7},
    ),
    parts=("count",),
    facts=_facts,
    tolerance=Tolerance(relative=0, absolute=0.5),
    praise="124,439,808 for GPT-2, 7,087,872 in each block. At these sizes the embeddings are "
    "nearly a third, in large models next to nothing; the number of heads is in no term.",
)


@COUNT.mistake(begins=_GAVE)
def the_output_matrix_counted_again(V, P, C, L, F):
    """That is V·C, the output matrix counted again. The logits are made with the token embeddings,
    transposed: tied, so they cost nothing more."""
    return _count(V, P, C, L, F) + V * C


@COUNT.mistake(begins=_GAVE)
def no_positions(V, P, C, L, F):
    """That is P·C, the table of positions. In GPT-2 it is learned, a vector for each place. (The
    sinusoids of the first transformer cost nothing.)"""
    return _count(V, P, C, L, F) - P * C


@COUNT.mistake(begins=_GAVE)
def one_block(V, P, C, L, F):
    """You count one block, {block} numbers. Each of L = {L} has its own."""
    return _count(V, P, C, 1, F)


@COUNT.mistake(begins=_GAVE)
def the_last_norm_missing(V, P, C, L, F):
    """That is 2·C, the norm after the last block. The stream of a pre-LN model is never normalised
    on its way, so there is one more at its end."""
    return _count(V, P, C, L, F) - 2 * C


@COUNT.mistake(begins=_GAVE)
def norms_without_shift(V, P, C, L, F):
    """You count C numbers for each norm. A LayerNorm has a gain and a shift: 2·C. (RMSNorm has the
    gain alone.)"""
    return _count(V, P, C, L, F) - (2 * L + 1) * C


@COUNT.mistake(begins=_GAVE)
def four_C_of_each_block_missing(V, P, C, L, F):
    """That is 4·C = {wide} in each block. Two things have that size: the biases of attention's four
    projections, and the two norms with gain and shift each. One of them is missing."""
    return _count(V, P, C, L, F) - L * 4 * C


@COUNT.mistake(begins=_GAVE)
def the_biases_of_the_feed_forward_missing(V, P, C, L, F):
    """That is F + C in each block, the two biases of the feed-forward."""
    return _count(V, P, C, L, F) - L * (F + C)


@COUNT.mistake(begins=_GAVE)
def all_biases_missing_but_those_of_the_norms(V, P, C, L, F):
    """All biases are missing. GPT-2 has them on every layer: 4·C in attention and F + C in the
    feed-forward of each block."""
    return _count(V, P, C, L, F) - L * (4 * C + F + C)


@COUNT.mistake(begins=_COMES)
def the_rule_of_thumb_and_embeddings(V, P, C, L, F):
    """12·L·C² is the rule of thumb for the blocks: matrices alone, with F = 4·C. Biases and norms
    are missing, and F is a size of its own."""
    return (V + P) * C + 12 * L * C * C


@COUNT.mistake(begins=_COMES)
def F_taken_for_4C(V, P, C, L, F):
    """Right where F = 4·C = {wide}, as in GPT-2. F is a size of its own."""
    return _count(V, P, C, L, 4 * C)


@COUNT.mistake(begins=_GAVE)
def no_output_projection(V, P, C, L, F):
    """That is C² + C in each block, attention's output projection. q, k, v and the output: four."""
    return _count(V, P, C, L, F) - L * (C * C + C)


@COUNT.mistake(begins=_GAVE)
def a_bias_of_the_output(V, P, C, L, F):
    """That is V, a bias of the output layer. It is the token embeddings and nothing else: it has
    no bias."""
    return _count(V, P, C, L, F) + V


@COUNT.mistake(begins=_GAVE)
def no_embeddings(V, P, C, L, F):
    """That is (V + P)·C, both embeddings. Each word and each position has a learned vector of C
    numbers."""
    return _count(V, P, C, L, F) - (V + P) * C


@COUNT.mistake(begins=_GAVE)
def no_norms(V, P, C, L, F):
    """You are short by as many numbers as all norms have: two in each block and one after the last,
    2·C each. (Attention's four biases and one norm have as many.)"""
    return _count(V, P, C, L, F) - (4 * L + 2) * C


@COUNT.mistake(begins=_GAVE)
def one_norm_a_block(V, P, C, L, F):
    """That is 2·C in each block. A block has two norms, one before attention and one before the
    feed-forward, and each has a gain and a shift for each of the C numbers."""
    return _count(V, P, C, L, F) - 2 * L * C


@COUNT.mistake(begins=_GAVE)
def the_bias_of_the_hidden_layer_missing(V, P, C, L, F):
    """That is F in each block, the bias of the feed-forward's first layer."""
    return _count(V, P, C, L, F) - L * F


@COUNT.mistake(begins=_GAVE)
def a_bias_of_size_C_missing(V, P, C, L, F):
    """That is C in each block: the bias of one layer, the feed-forward's second or one of
    attention's four."""
    return _count(V, P, C, L, F) - L * C


@COUNT.mistake(begins=_GAVE)
def matrices_only(V, P, C, L, F):
    """You count the matrices and the embeddings. Biases and norms are missing: every linear layer
    has a bias, every norm 2·C numbers."""
    return (V + P) * C + L * (4 * C * C + 2 * C * F)

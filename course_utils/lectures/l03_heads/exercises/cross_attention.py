"""Exercise 3 of lecture 03: attention to another sequence, of which a part is padding."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.lectures.l03_heads.exercises.cross_attention_forms import (
    LOW,
    cross_attention,
    cross_facts,
    hide,
    matrices_exchanged,
    memory_emptied,
    probe,
    values_emptied,
    with_axis,
    with_mask,
    with_scale,
    with_sources,
    with_weights,
)
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.stages import check_in_turn
from course_utils.teaching.verdict import Verdict

__all__ = ["CROSS_ATTENTION", "CROSS_SIZES", "check_cross_attention"]

_TITLE = "Masked cross-attention"


def _keys_as_they_are(x, memory, may_attend, w_q, w_k, w_v):
    return torch.softmax((x @ w_q) @ (memory @ w_k), dim=-1) @ (memory @ w_v)


CROSS_ATTENTION = Exercise(
    title=_TITLE,
    difficulty=2,
    minutes=10,
    reference=cross_attention,
    # As many queries as keys, and one sentence: nothing stops whoever takes the wrong source.
    probes=(probe([3], 5, 5, (7, 3, 2)), probe([4], 7, 7, (5, 2, 3))),
    parts=("out", "weights"),
    facts=cross_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="One sentence comes out right.",
    mistakes=(
        Mistake(
            "keys from x",
            with_sources(k="x"),
            "Your keys are made from x: each token scores the tokens of its own sequence. In "
            "cross-attention x asks, and the memory answers: `memory @ w_k`.",
        ),
        Mistake(
            "values from x",
            with_sources(v="x"),
            "Your weights are right, and then you mix values of x. They say where in the memory to "
            "read, so the values are the memory's: `memory @ w_v`.",
        ),
        Mistake(
            "self-attention of x",
            with_sources(k="x", v="x"),
            "You never read the memory: q, k and v all come from x, which is self-attention. "
            "Queries from x; keys and values from the memory.",
        ),
        Mistake(
            "self-attention of the memory",
            with_sources(q="memory"),
            "Your queries are made from the memory, so nothing of x gets in. The sequence that "
            "asks is x: `x @ w_q`.",
        ),
        Mistake(
            "the memory asks x",
            with_sources(q="memory", k="x", v="x"),
            "Here the memory asks and x answers: the roles are exchanged. Queries from x; keys and "
            "values from the memory.",
        ),
        Mistake(
            "w_q and w_k exchanged",
            matrices_exchanged,
            "You multiply x by `w_k` and the memory by `w_q`. Both have shape ({C}, {D}), so it "
            "runs; `w_q` makes queries, and those come from x.",
        ),
        Mistake(
            "no scale",
            with_scale(lambda sizes: 1.0),
            "Your scores are not scaled: divide them by √D = √{D} = {root_D} before the softmax.",
        ),
        Mistake(
            "divides by the root of C",
            with_scale(lambda sizes: sizes["C"] ** -0.5),
            "Your scores are divided by √C = {root_C}, from the width of x. They are dot products "
            "of queries and keys, of width D = {D}: √{D} = {root_D}.",
        ),
        Mistake(
            "divides by the root of T",
            with_scale(lambda sizes: sizes["T"] ** -0.5),
            "Your scores are divided by √{T} = {root_T}, from the number of tokens. The scale "
            "comes from the width of q and k, √{D} = {root_D}: `q.shape[-1]`.",
        ),
        Mistake(
            "divides by the root of E",
            with_scale(lambda sizes: sizes["E"] ** -0.5),
            "Your scores are divided by √E = {root_E}, from the width of v. Only q and k enter a "
            "score, and they have width {D}: √{D} = {root_D}.",
        ),
        Mistake(
            "divides by D",
            with_scale(lambda sizes: 1 / sizes["D"]),
            "Your scores are divided by D = {D}; the scale is its root, {root_D}.",
        ),
        Mistake(
            "keys not transposed",
            _keys_as_they_are,
            "`q @ k` multiplies ({T}, {D}) by ({S}, {D}), which does not fit. A score is the dot "
            "product of a row of q with a row of k: `q @ k.mT`, which leaves the batch in front.",
        ),
        Mistake(
            "the mask ignored",
            with_mask(torch.ones_like),
            "Padding gets {on_padding} of the first query's weight. The memory has {real} real "
            "tokens of {S}: hide the scores of the others before the softmax.",
        ),
        Mistake(
            "the opposite mask",
            with_mask(torch.logical_not),
            "Your mask is the other way round: padding gets {on_padding} of the first query's "
            "weight. In `may_attend` True means: may be read. Hide where it is False, "
            "`masked_fill(~may_attend, ...)`.",
        ),
        Mistake(
            "the mask on the queries",
            with_mask(lambda m: m.mT),
            "Your mask stands along the queries: rows of weights are hidden as a whole, and become "
            "NaN. It belongs to the keys, the last axis: `may_attend[:, None, :]`.",
        ),
        Mistake(
            "the mask on the queries, with a low number",
            with_mask(lambda m: m.mT, by=LOW),
            "Your mask stands along the queries: a row that is hidden as a whole has equal scores, "
            "and gives each key 1/{S}, while the others read padding, {on_padding} of the first "
            "query's weight. It belongs to the keys, the last axis: `may_attend[:, None, :]`.",
        ),
        Mistake(
            "hidden after the softmax",
            with_weights(lambda scores, m: torch.softmax(scores, dim=-1) * m),
            "You take padding out after the softmax: the first row sums to {row_sum}. The padding "
            "has had its share by then. Hide the scores before, by −∞, and each row sums to 1.",
        ),
        Mistake(
            "−∞ after the softmax",
            with_weights(lambda scores, m: hide(torch.softmax(scores, dim=-1), m)),
            "You set weights to −∞ after the softmax. Hide the *scores*; the softmax then makes "
            "weights of 0 of them.",
        ),
        Mistake(
            "hidden scores set to 0",
            with_weights(lambda scores, m: torch.softmax(scores * m, dim=-1)),
            "You set hidden scores to 0, and a score of 0 is a score like any other: padding gets "
            "{on_padding} of the first query's weight. Only −∞ becomes a weight of 0.",
        ),
        Mistake(
            "the mask added",
            with_weights(lambda scores, m: torch.softmax(scores + m, dim=-1)),
            "You add the mask to the scores: True counts as 1, so real tokens gain a little, and "
            "padding keeps {on_padding} of the first query's weight. Padding has to get −∞.",
        ),
        Mistake(
            "the values of padding set to 0",
            values_emptied,
            "You empty the values of padding, and it keeps {on_padding} of the first query's "
            "weight: outputs come out too small. Hide the scores instead.",
        ),
        Mistake(
            "the memory's padding set to 0",
            memory_emptied,
            "You set the padding of the memory to 0. Then its scores are 0, not −∞, and it keeps "
            "{on_padding} of the first query's weight. Hide the scores.",
        ),
        Mistake(
            "softmax over the queries",
            with_axis(-2),
            "Your softmax runs over the queries: the first column of weights sums to {column_sum}, "
            "and a hidden column, −∞ throughout, becomes NaN. A query shares weight 1 among the "
            "keys: `dim=-1`.",
        ),
        Mistake(
            "softmax over the queries, with a low number",
            with_axis(-2, by=LOW),
            "Your softmax runs over the queries: the first column of weights sums to {column_sum}, "
            "the first row to {row_sum}. A query shares weight 1 among the keys: `dim=-1`.",
        ),
        Mistake(
            "softmax over the sentences",
            with_axis(0),
            "Your softmax runs over the batch, `dim=0`: sentences compete, and with one sentence "
            "all weights are 1, or NaN where −∞ has no rival. A query shares weight 1 among the "
            "keys: `dim=-1`.",
        ),
        Mistake(
            "softmax over the sentences, with a low number",
            with_axis(0, by=LOW),
            "Your softmax runs over the batch, `dim=0`: sentences compete, and with one sentence "
            "all weights are 1, also on padding. A query shares weight 1 among the keys: `dim=-1`.",
        ),
        Mistake(
            "only the output",
            lambda *inputs: cross_attention(*inputs)[0],
            "Your output is right, and the weights are missing: `return out, weights`.",
        ),
        Mistake(
            "only the weights",
            lambda *inputs: cross_attention(*inputs)[1],
            "Your weights are right, and the output is missing: `return out, weights`.",
        ),
        Mistake(
            "swapped results",
            lambda *inputs: cross_attention(*inputs)[::-1],
            "Both results are right but in the other order: `return out, weights`.",
        ),
    ),
)

CROSS_SIZES = Exercise(
    title=_TITLE,
    difficulty=CROSS_ATTENTION.difficulty,
    minutes=CROSS_ATTENTION.minutes,
    reference=cross_attention,
    probes=(
        # As many sentences as queries: a mask without an axis for the queries fits, and is wrong.
        probe([2, 5, 3], 3, 5, (7, 3, 2)),
        probe([7, 4], 3, 7, (5, 2, 3)),
        probe([1, 11], 7, 11, (3, 5, 2)),
    ),
    parts=CROSS_ATTENTION.parts,
    facts=cross_facts,
    tolerance=CROSS_ATTENTION.tolerance,
    praise="It agrees with `attend`: the same attention, with keys and values from elsewhere. No "
    "weight falls on padding, however many queries ask.",
    mistakes=(
        Mistake(
            "a mask without an axis for the queries",
            with_mask(lambda m: m[:, 0]),
            "Your mask has shape (B, S), the scores (B, T, S). torch lines up the last axes, so B "
            "meets T: where both are 3, as here, each query gets another sentence's mask, and "
            "elsewhere it does not fit. Give it an axis for the queries: `may_attend[:, None, :]`.",
        ),
        Mistake(
            "the first sentence's mask for all",
            with_mask(lambda m: m[:1]),
            "You hide the padding of the first sentence in every sentence. Each has a length of "
            "its own: keep the batch axis of the mask.",
        ),
        Mistake(
            "what is padding anywhere",
            with_mask(lambda m: m.all(dim=0)),
            "You hide a place in all sentences as soon as it is padding in one. Each has a length "
            "of its own: keep the batch axis of the mask.",
        ),
        Mistake(
            "what is real anywhere",
            with_mask(lambda m: m.any(dim=0)),
            "You hide a place only if it is padding in all sentences. Each has a length of its "
            "own: keep the batch axis of the mask.",
        ),
    ),
)


def check_cross_attention(answer: Any) -> Verdict:
    """Judge ``cross_attention(x, memory, may_attend, w_q, w_k, w_v)``, returning (out, weights).

    x (B, T, C) asks, memory (B, S, C) answers; ``may_attend`` (B, S) is True where the memory
    holds a token and False where it is padding. One head: w_q and w_k are (C, D), w_v is (C, E),
    and q = x @ w_q. Each memory holds at least one token. In two stages: one sentence with T = S,
    then batches with other sizes (Vaswani et al. 2017, section 3.2.3).

    >>> check_cross_attention(...).started
    False
    """
    return check_in_turn(answer, CROSS_ATTENTION, CROSS_SIZES)

"""Exercise 1 of lecture 08: merge two partial softmaxes."""

from __future__ import annotations

from typing import Any

import torch

from course_utils.lectures.l08_flash_attention_tiling.exercises.merge_mistakes import (
    PROBES,
    by_lse,
    finished,
    merge,
    merge_facts,
    with_factors,
    with_sums,
)
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.verdict import Verdict

__all__ = ["MERGE", "check_merge"]


def _factors(m_a, m_b, m):
    return torch.exp(m_a - m), torch.exp(m_b - m)


def _ones(m):
    return torch.ones_like(m)


def _returned_as(order: str) -> Mistake:
    """The right results in another order."""

    def answer(*parts):
        m, l, acc = merge(*parts)  # noqa: E741
        results = {"m": m, "l": l, "acc": acc}
        return tuple(results[name] for name in order.split(", "))

    return Mistake(
        f"returns {order}",
        answer,
        f"All three results are right, and you return `{order}`. Asked for is `return m, l, acc`.",
    )


MERGE = Exercise(
    title="Merge two partial softmaxes",
    difficulty=2,
    minutes=10,
    reference=merge,
    probes=PROBES,
    parts=("m", "l", "acc"),
    facts=merge_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Each part is brought to the common maximum, then added. Nothing is approximated, and "
    "the order of the parts does not matter: tiles, split keys and ring attention all do this.",
    mistakes=(
        Mistake(
            "nothing rescaled",
            with_factors(lambda m_a, m_b, m: (_ones(m), _ones(m))),
            "You add `l` and `acc` as they are, but the two parts were summed against different "
            "maxima: in row {a_row} m_a = {a_m_a} and m_b = {a_m_b}. First bring part a to the "
            "common m, by the factor exp(m_a − m) = {a_factor_a} there, and b likewise.",
        ),
        Mistake(
            "acc not rescaled",
            with_sums(lambda l_a, acc_a, a, l_b, acc_b, b: (a * l_a + b * l_b, acc_a + acc_b)),
            "`m` and `l` are right; `acc` is added as it is. It was summed against the same "
            "maximum as `l`, so it takes the same factor: in row {a_row} that is {a_factor_a} for "
            "`acc_a`.",
        ),
        Mistake(
            "l not rescaled",
            with_sums(lambda l_a, acc_a, a, l_b, acc_b, b: (l_a + l_b, a * acc_a + b * acc_b)),
            "`m` and `acc` are right; `l` is added as it is. Numerator and denominator need the "
            "same factor: in row {a_row} that is {a_factor_a} for `l_a`.",
        ),
        Mistake(
            "only the first part rescaled",
            with_factors(lambda m_a, m_b, m: (torch.exp(m_a - m), _ones(m))),
            "Only part a gets its factor. In a tile loop that is enough, as the new tile is summed "
            "against the new maximum from the start. Here b comes with its own: in row {b_row} "
            "m_a = {b_m_a} is the larger, and part b needs exp(m_b − m) = {b_factor_b}.",
        ),
        Mistake(
            "only the second part rescaled",
            with_factors(lambda m_a, m_b, m: (_ones(m), torch.exp(m_b - m))),
            "Only part b gets its factor. In row {a_row} m_b = {a_m_b} is the larger maximum, and "
            "it is part a that needs exp(m_a − m) = {a_factor_a}.",
        ),
        Mistake(
            "maxima added",
            with_factors(_factors, maximum=torch.add),
            "Your m is the sum of both maxima, {a_sum} in row {a_row}. The maximum over two sets "
            "of keys is the larger of {a_m_a} and {a_m_b}: `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "the smaller maximum",
            with_factors(_factors, maximum=torch.minimum),
            "Your m is the smaller of both maxima. A factor then exceeds 1 ({a_excess} in row "
            "{a_row}), and overflows where the scores are far apart or one part saw nothing. "
            "With the larger m no factor exceeds 1.",
            part=0,
        ),
        Mistake(
            "keeps the first maximum",
            with_factors(_factors, maximum=lambda m_a, m_b: m_a),
            "Your m is always m_a. In row {a_row} the larger one is m_b = {a_m_b}, and against m_a "
            "part b needs a factor of {a_excess}; where a saw no key it would be exp(m_b + ∞). "
            "Take the larger: `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "takes the second maximum",
            with_factors(_factors, maximum=lambda m_a, m_b: m_b),
            "Your m is always m_b. In row {b_row} the larger one is m_a = {b_m_a}, and against m_b "
            "part a needs a factor of {b_excess}; where b saw no key it would be exp(m_a + ∞). "
            "Take the larger: `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "maxima merged as lse",
            with_factors(_factors, maximum=torch.logaddexp),
            "Your m is log(exp(m_a) + exp(m_b)), which is how two log-sum-exps merge. These are "
            "maxima: in row {a_row} the larger of {a_m_a} and {a_m_b}, `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "one maximum for all rows",
            with_factors(_factors, maximum=lambda m_a, m_b: torch.maximum(m_a, m_b).max()),
            "Your m is one number, {largest}: `.max()` without an axis takes the largest of all "
            "rows. Each query has its own, `torch.maximum(m_a, m_b)`; against another's, a row "
            "far below it underflows to 0/0.",
            part=0,
        ),
        Mistake(
            "factors upside down",
            with_factors(lambda m_a, m_b, m: (torch.exp(m - m_a), torch.exp(m - m_b))),
            "Your factors are upside down: exp(m − m_a) is {a_excess} in row {a_row}, where a has "
            "the smaller maximum and should shrink. A part was divided by exp(m_a) and shall be "
            "divided by exp(m): that is exp(m_a − m) = {a_factor_a}.",
        ),
        Mistake(
            "factors swapped",
            with_factors(lambda m_a, m_b, m: (torch.exp(m_b - m), torch.exp(m_a - m))),
            "Each part has the other's factor. In row {a_row} m_a = {a_m_a} is below m = {a_m_b}: "
            "part a shrinks by {a_factor_a}, and part b stays.",
        ),
        Mistake(
            "a against b",
            with_factors(lambda m_a, m_b, m: (torch.exp(m_a - m_b), _ones(m))),
            "Your factor for part a is exp(m_a − m_b), and b keeps its size: right where m_b is "
            "the larger maximum. In row {b_row} m_a = {b_m_a} is larger, and the factor grows to "
            "{b_excess}. Measure both parts against the common m: exp(m_a − m) and exp(m_b − m).",
        ),
        Mistake(
            "b against a",
            with_factors(lambda m_a, m_b, m: (_ones(m), torch.exp(m_b - m_a))),
            "Your factor for part b is exp(m_b − m_a), and a keeps its size: right where m_a is "
            "the larger maximum. In row {a_row} m_b = {a_m_b} is larger, and the factor grows to "
            "{a_excess}. Measure both parts against the common m: exp(m_a − m) and exp(m_b − m).",
        ),
        Mistake(
            "each against the other",
            with_factors(lambda m_a, m_b, m: (torch.exp(m_a - m_b), torch.exp(m_b - m_a))),
            "Your factors are exp(m_a − m_b) for a and exp(m_b − m_a) for b: one shrinks its part, "
            "the other makes its part larger, {a_excess} times in row {a_row}. Measure both "
            "against the common m: the part that holds it keeps its size, and the other shrinks.",
        ),
        Mistake(
            "powers of two",
            with_factors(lambda m_a, m_b, m: (torch.exp2(m_a - m), torch.exp2(m_b - m))),
            "Your factors are powers of 2. m is in natural units here, so the factor is "
            "exp(m_a − m). The kernels do use exp2, on scores that were multiplied by log₂ e.",
        ),
        Mistake(
            "nothing subtracted",
            with_factors(lambda m_a, m_b, m: (torch.exp(m_a), torch.exp(m_b))),
            "Your factor is exp(m_a): that undoes the subtraction of m_a, and leaves sums against "
            "no maximum at all. At m = 120 they overflow. Subtract the new one: exp(m_a − m).",
        ),
        Mistake(
            "averages the outputs",
            with_sums(
                lambda l_a, acc_a, a, l_b, acc_b, b: (
                    a * l_a + b * l_b,
                    (acc_a / l_a + acc_b / l_b) / 2,
                )
            ),
            "Your `acc` is the mean of the two outputs `acc_a/l_a` and `acc_b/l_b`. The parts do "
            "not weigh the same: each counts by its sum of exponentials. Add the rescaled `acc`.",
            part=2,
        ),
        Mistake(
            "divides by l already",
            with_sums(
                lambda l_a, acc_a, a, l_b, acc_b, b: (
                    a * l_a + b * l_b,
                    (a * acc_a + b * acc_b) / (a * l_a + b * l_b),
                )
            ),
            "`m` and `l` are right; `acc` is divided by `l` already. Then whoever merges the next "
            "part, or finishes the row, divides twice. `acc` stays a plain sum until the last part "
            "is in.",
        ),
        Mistake(
            "takes acc for an output",
            with_sums(
                lambda l_a, acc_a, a, l_b, acc_b, b: (
                    a * l_a + b * l_b,
                    a * l_a * acc_a + b * l_b * acc_b,
                )
            ),
            "`m` and `l` are right; `acc` is weighted by `l` as well. That is how finished outputs "
            "are merged. `acc` is not divided yet, so it holds `l` already: its factor is exp(m_a "
            "− m).",
        ),
        Mistake(
            "through the finished outputs",
            with_sums(
                lambda l_a, acc_a, a, l_b, acc_b, b: (
                    a * l_a + b * l_b,
                    a * l_a * (acc_a / l_a) + b * l_b * (acc_b / l_b),
                )
            ),
            "Right wherever both parts saw a key. In row {empty} part a saw none: `l_a` is 0, and "
            "dividing `acc_a` by it gives 0/0. Do not divide at all: rescale `acc` as it is.",
        ),
        Mistake(
            "a finished softmax",
            finished,
            "You return the log-sum-exp as `m`, 1 as `l` and the output as `acc`. The row is the "
            "right one, but asked for is the running state: `m` the maximum, `l` and `acc` not "
            "divided.",
        ),
        Mistake(
            "merged by lse",
            by_lse(torch.logaddexp),
            "You merge finished outputs by their lse, as section 7 does. These parts are not "
            "finished: `acc` is not divided, and where a part saw no key, `acc/l` is 0/0. Asked "
            "for is the running state: `m` the larger maximum, `l` and `acc` rescaled by "
            "exp(m_a − m) and exp(m_b − m), and added.",
            part=2,
        ),
        Mistake(
            "merged by lse without a maximum",
            by_lse(lambda lse_a, lse_b: torch.log(torch.exp(lse_a) + torch.exp(lse_b))),
            "You merge finished outputs by their lse, as section 7's formula stands: on large "
            "scores its exponentials overflow. Nor is the lse asked for: `m` is the larger "
            "maximum, `l` and `acc` are rescaled by exp(m_a − m) and exp(m_b − m), and added.",
            part=0,
        ),
        Mistake(
            "only the output",
            lambda *parts: finished(*parts)[2],
            "You return the finished output `acc/l`. The next part can only be merged with `m`, "
            "`l` and the undivided `acc`: `return m, l, acc`.",
        ),
        *(
            _returned_as(order)
            for order in ("m, acc, l", "l, m, acc", "l, acc, m", "acc, m, l", "acc, l, m")
        ),
        Mistake(
            "one comparison for all rows",
            lambda m_a, l_a, acc_a, m_b, l_b, acc_b: max(m_a, m_b),
            "Python's `max`, like `if`, wants one answer, and you compare {T} rows at once. "
            "`torch.maximum(m_a, m_b)` takes the larger row by row.",
        ),
        Mistake(
            "factor along the width",
            lambda m_a, l_a, acc_a, m_b, l_b, acc_b: torch.exp(m_a) * acc_a,
            "Your factor has shape ({T},), `acc` ({T}, {D}); torch lines up the last axes, {T} "
            "against {D}. A factor belongs to a row: make it a column, `factor[:, None] * acc_a`.",
        ),
        Mistake(
            "factor along the width, on the right",
            lambda m_a, l_a, acc_a, m_b, l_b, acc_b: acc_a * torch.exp(m_a),
            "`acc` has shape ({T}, {D}), your factor ({T},); torch lines up the last axes, {D} "
            "against {T}. A factor belongs to a row: make it a column, `acc_a * factor[:, None]`.",
        ),
    ),
)


def check_merge(merge: Any) -> Verdict:
    """Judge ``merge(m_a, l_a, acc_a, m_b, l_b, acc_b)``, returning (m, l, acc).

    Each part holds, for T queries over some keys, the maximum m (T,) of their scores s, the sum
    l (T,) of exp(s − m), and the sum acc (T, D) of exp(s − m) v, not divided. The result holds the
    same for the keys of both. A query that saw no key of a part has m = −∞, l = 0, acc = 0 there;
    in each row at least one part saw a key (Dao et al. 2022, section 3.1).

    >>> check_merge(...).started
    False
    """
    return MERGE.check(merge)

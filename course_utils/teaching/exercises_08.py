"""Exercise 1 of lecture 08: merge two partial softmaxes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from course_utils.teaching.closeness import as_array
from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import Tolerance
from course_utils.teaching.verdict import Verdict

__all__ = ["MERGE", "NanAlike", "check_merge"]


class NanAlike(Tolerance):
    """A tolerance that recognises a mistake by its NaNs too; a right answer has none.

    >>> Tolerance().allows(np.nan, np.nan), NanAlike().allows(np.nan, np.nan)
    (False, True)
    """

    def allows(self, got: Any, expected: Any) -> bool:
        """Whether every entry is near enough, or NaN on both sides."""
        got, expected = as_array(got, "got"), as_array(expected, "expected")
        if got.shape != expected.shape:
            return False
        return np.allclose(got, expected, rtol=self.relative, atol=self.absolute, equal_nan=True)


def _part(T: int, S: int, D: int, phase: float, *, shift: float = 0.0, empty: int | None = None):
    """m, l and acc of T queries over S keys; query ``empty`` sees none of them."""
    scores = 2 * torch.sin(torch.arange(T * S) * 1.7 + phase).reshape(T, S) + shift
    v = torch.cos(torch.arange(S * D) * 2.3 + phase).reshape(S, D)
    m = scores.max(dim=1).values
    p = torch.exp(scores - m[:, None])
    if empty is not None:
        m[empty], p[empty] = -torch.inf, 0.0
    return m, p.sum(dim=1), p @ v


def _merge_probe(part_a, part_b) -> Mapping[str, torch.Tensor]:
    names = ("m_a", "l_a", "acc_a", "m_b", "l_b", "acc_b")
    return dict(zip(names, (*part_a, *part_b), strict=True))


def _merge_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Maxima and factors in the row where a is furthest below b, and in that where b is below a."""
    m_a, m_b = inputs["m_a"], inputs["m_b"]
    m = torch.maximum(m_a, m_b)
    facts: dict[str, Any] = {"T": m.shape[0], "D": inputs["acc_a"].shape[1]}
    for letter, row in (("a", int((m_b - m_a).argmax())), ("b", int((m_a - m_b).argmax()))):
        at = {"row": row, "m_a": m_a[row], "m_b": m_b[row]}
        at |= {"factor_a": torch.exp(m_a - m)[row], "factor_b": torch.exp(m_b - m)[row]}
        at |= {"sum": (m_a + m_b)[row], "excess": torch.exp(m - torch.minimum(m_a, m_b))[row]}
        facts |= {f"{letter}_{name}": float(value) for name, value in at.items()}
    facts["empty"] = int((m_a == -torch.inf).int().argmax())
    return facts


def _with_factors(factors_of, maximum=torch.maximum):
    """A merge that is right but for its maximum, or for the factors made of it."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = maximum(m_a, m_b)
        a, b = factors_of(m_a, m_b, m)
        return m, a * l_a + b * l_b, a[:, None] * acc_a + b[:, None] * acc_b

    return merge


def _with_sums(sums_of):
    """A merge that is right but for its sums, given l, acc and the right factor of each part."""

    def merge(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = torch.maximum(m_a, m_b)
        a, b = torch.exp(m_a - m)[:, None], torch.exp(m_b - m)[:, None]
        l, acc = sums_of(l_a[:, None], acc_a, a, l_b[:, None], acc_b, b)  # noqa: E741
        return m, l[:, 0], acc

    return merge


def _factors(m_a, m_b, m):
    return torch.exp(m_a - m), torch.exp(m_b - m)


_merge = _with_factors(_factors)


def _ones(m):
    return torch.ones_like(m)


def _finished(*parts):
    """The merged row as a finished softmax: its log-sum-exp, 1, and the output."""
    m, l, acc = _merge(*parts)  # noqa: E741
    return m + torch.log(l), torch.ones_like(l), acc / l[:, None]


MERGE = Exercise(
    title="Merge two partial softmaxes",
    difficulty=2,
    minutes=10,
    reference=_merge,
    probes=(
        _merge_probe(_part(5, 2, 3, 0.3), _part(5, 3, 3, 1.1)),
        # Query 1 sees no key of a, query 4 none of b.
        _merge_probe(_part(7, 3, 2, 0.9, empty=1), _part(7, 5, 2, 2.0, empty=4)),
        # exp(120) does not fit in float32.
        _merge_probe(_part(3, 5, 2, 0.4, shift=120.0, empty=2), _part(3, 2, 2, 1.9, shift=119.0)),
    ),
    parts=("m", "l", "acc"),
    facts=_merge_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Each part is brought to the common maximum, then added. Nothing is approximated, and "
    "the order of the parts does not matter: tiles, split keys and ring attention all do this.",
    mistakes=(
        Mistake(
            "nothing rescaled",
            _with_factors(lambda m_a, m_b, m: (_ones(m), _ones(m))),
            "You add `l` and `acc` as they are, but the two parts were summed against different "
            "maxima: in row {a_row} m_a = {a_m_a} and m_b = {a_m_b}. First bring part a to the "
            "common m, by the factor exp(m_a − m) = {a_factor_a} there, and b likewise.",
        ),
        Mistake(
            "acc not rescaled",
            _with_sums(lambda l_a, acc_a, a, l_b, acc_b, b: (a * l_a + b * l_b, acc_a + acc_b)),
            "`m` and `l` are right; `acc` is added as it is. It was summed against the same "
            "maximum as `l`, so it takes the same factor: in row {a_row} that is {a_factor_a} for "
            "`acc_a`.",
        ),
        Mistake(
            "l not rescaled",
            _with_sums(lambda l_a, acc_a, a, l_b, acc_b, b: (l_a + l_b, a * acc_a + b * acc_b)),
            "`m` and `acc` are right; `l` is added as it is. Numerator and denominator need the "
            "same factor: in row {a_row} that is {a_factor_a} for `l_a`.",
        ),
        Mistake(
            "only the first part rescaled",
            _with_factors(lambda m_a, m_b, m: (torch.exp(m_a - m), _ones(m))),
            "Only part a gets its factor. In a tile loop that is enough, as the new tile is summed "
            "against the new maximum from the start. Here b comes with its own: in row {b_row} "
            "m_a = {b_m_a} is the larger, and part b needs exp(m_b − m) = {b_factor_b}.",
        ),
        Mistake(
            "only the second part rescaled",
            _with_factors(lambda m_a, m_b, m: (_ones(m), torch.exp(m_b - m))),
            "Only part b gets its factor. In row {a_row} m_b = {a_m_b} is the larger maximum, and "
            "it is part a that needs exp(m_a − m) = {a_factor_a}.",
        ),
        Mistake(
            "maxima added",
            _with_factors(_factors, maximum=torch.add),
            "Your m is the sum of both maxima, {a_sum} in row {a_row}. The maximum over two sets "
            "of keys is the larger of {a_m_a} and {a_m_b}: `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "the smaller maximum",
            _with_factors(_factors, maximum=torch.minimum),
            "Your m is the smaller of both maxima. A factor then exceeds 1 ({a_excess} in row "
            "{a_row}), and overflows where the scores are far apart or one part saw nothing. "
            "With the larger m no factor exceeds 1.",
            part=0,
        ),
        Mistake(
            "keeps the first maximum",
            _with_factors(_factors, maximum=lambda m_a, m_b: m_a),
            "Your m is always m_a. In row {a_row} the larger one is m_b = {a_m_b}, and against m_a "
            "part b needs a factor of {a_excess}; where a saw no key it would be exp(m_b + ∞). "
            "Take the larger: `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "takes the second maximum",
            _with_factors(_factors, maximum=lambda m_a, m_b: m_b),
            "Your m is always m_b. In row {b_row} the larger one is m_a = {b_m_a}, and against m_b "
            "part a needs a factor of {b_excess}; where b saw no key it would be exp(m_a + ∞). "
            "Take the larger: `torch.maximum(m_a, m_b)`.",
            part=0,
        ),
        Mistake(
            "factors upside down",
            _with_factors(lambda m_a, m_b, m: (torch.exp(m - m_a), torch.exp(m - m_b))),
            "Your factors are upside down: exp(m − m_a) is {a_excess} in row {a_row}, where a has "
            "the smaller maximum and should shrink. A part was divided by exp(m_a) and shall be "
            "divided by exp(m): that is exp(m_a − m) = {a_factor_a}.",
        ),
        Mistake(
            "factors swapped",
            _with_factors(lambda m_a, m_b, m: (torch.exp(m_b - m), torch.exp(m_a - m))),
            "Each part has the other's factor. In row {a_row} m_a = {a_m_a} is below m = {a_m_b}: "
            "part a shrinks by {a_factor_a}, and part b stays.",
        ),
        Mistake(
            "powers of two",
            _with_factors(lambda m_a, m_b, m: (torch.exp2(m_a - m), torch.exp2(m_b - m))),
            "Your factors are powers of 2. m is in natural units here, so the factor is "
            "exp(m_a − m). The kernels do use exp2, on scores that were multiplied by log₂ e.",
        ),
        Mistake(
            "nothing subtracted",
            _with_factors(lambda m_a, m_b, m: (torch.exp(m_a), torch.exp(m_b))),
            "Your factor is exp(m_a): that undoes the subtraction of m_a, and leaves sums against "
            "no maximum at all. At m = 120 they overflow. Subtract the new one: exp(m_a − m).",
        ),
        Mistake(
            "averages the outputs",
            _with_sums(
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
            _with_sums(
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
            _with_sums(
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
            _with_sums(
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
            _finished,
            "You return the log-sum-exp as `m`, 1 as `l` and the output as `acc`. The row is the "
            "right one, but asked for is the running state: `m` the maximum, `l` and `acc` not "
            "divided.",
        ),
        Mistake(
            "only the output",
            lambda *parts: _finished(*parts)[2],
            "You return the finished output `acc/l`. The next part can only be merged with `m`, "
            "`l` and the undivided `acc`: `return m, l, acc`.",
        ),
        Mistake(
            "results in another order",
            lambda *parts: _merge(*parts)[::-1],
            "All three results are right but in the other order: `return m, l, acc`.",
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

"""Exercise 1: merge two partial softmaxes.

A part holds, for T queries over some keys, the maximum m (T,) of their scores s, the sum l (T,) of
exp(s − m), and the sum acc (T, D) of exp(s − m) v, not divided. A query that saw no key of a part
has m = −∞, l = 0, acc = 0 there (Dao et al. 2022, section 3.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike


def _part(T: int, S: int, D: int, phase: float, *, shift: float = 0.0, empty: int | None = None):
    """m, l and acc of T queries over S keys; query ``empty`` sees none of them."""
    scores = 2 * torch.sin(torch.arange(T * S) * 1.7 + phase).reshape(T, S) + shift
    v = torch.cos(torch.arange(S * D) * 2.3 + phase).reshape(S, D)
    m = scores.max(dim=1).values
    p = torch.exp(scores - m[:, None])
    if empty is not None:
        m[empty], p[empty] = -torch.inf, 0.0
    return m, p.sum(dim=1), p @ v


def _probe(part_a, part_b) -> Mapping[str, torch.Tensor]:
    names = ("m_a", "l_a", "acc_a", "m_b", "l_b", "acc_b")
    return dict(zip(names, (*part_a, *part_b), strict=True))


PROBES = (
    _probe(_part(5, 2, 3, 0.3), _part(5, 3, 3, 1.1)),
    # Query 1 sees no key of a, query 4 none of b.
    _probe(_part(7, 3, 2, 0.9, empty=1), _part(7, 5, 2, 2.0, empty=4)),
    # exp(120) does not fit in float32.
    _probe(_part(3, 5, 2, 0.4, shift=120.0, empty=2), _part(3, 2, 2, 1.9, shift=119.0)),
)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """Maxima and factors in the row where a is furthest below b, and in that where b is below a."""
    m_a, m_b = inputs["m_a"], inputs["m_b"]
    m = torch.maximum(m_a, m_b)
    facts: dict[str, Any] = {"T": m.shape[0], "D": inputs["acc_a"].shape[1]}
    for letter, row in (("a", int((m_b - m_a).argmax())), ("b", int((m_a - m_b).argmax()))):
        at = {"row": row, "m_a": m_a[row], "m_b": m_b[row]}
        at |= {"factor_a": torch.exp(m_a - m)[row], "factor_b": torch.exp(m_b - m)[row]}
        at |= {"excess": torch.exp(m - torch.minimum(m_a, m_b))[row]}
        facts |= {f"{letter}_{name}": float(value) for name, value in at.items()}
    facts["empty"] = int((m_a == -torch.inf).int().argmax())
    facts["largest"] = float(m.max())
    return facts


def _merge(m_a, l_a, acc_a, m_b, l_b, acc_b, *, maximum=torch.maximum):
    """A merge that is right but for its maximum, if one is given."""
    m = maximum(m_a, m_b)
    a, b = torch.exp(m_a - m), torch.exp(m_b - m)
    return m, a * l_a + b * l_b, a[:, None] * acc_a + b[:, None] * acc_b


MERGE = Exercise(
    title="Merge two partial softmaxes",
    difficulty=2,
    minutes=10,
    function="merge",
    reference=_merge,
    probes=PROBES,
    parts=("m", "l", "acc"),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-5),
    praise="Each part is brought to the common maximum, then added. Nothing is approximated, and "
    "the order of the parts does not matter: tiles, split keys and ring attention all do this.",
)


@MERGE.mistake()
def nothing_rescaled(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """You add `l` and `acc` as they are, but the two parts were summed against different maxima: in
    row {a_row} m_a = {a_m_a} and m_b = {a_m_b}. First bring part a to the common m, by the factor
    exp(m_a − m) = {a_factor_a} there, and b likewise."""
    return torch.maximum(m_a, m_b), l_a + l_b, acc_a + acc_b


@MERGE.mistake()
def acc_not_rescaled(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """`m` and `l` are right; `acc` is added as it is. It was summed against the same maximum as
    `l`, so it takes the same factor: in row {a_row} that is {a_factor_a} for `acc_a`."""
    return *_merge(m_a, l_a, acc_a, m_b, l_b, acc_b)[:2], acc_a + acc_b


@MERGE.mistake()
def l_not_rescaled(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """`m` and `acc` are right; `l` is added as it is. Numerator and denominator need the same
    factor: in row {a_row} that is {a_factor_a} for `l_a`."""
    m, _, acc = _merge(m_a, l_a, acc_a, m_b, l_b, acc_b)
    return m, l_a + l_b, acc


@MERGE.mistake()
def only_the_first_part_rescaled(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Only part a gets its factor. In a tile loop that is enough, as the new tile is summed against
    the new maximum from the start. Here b comes with its own: in row {b_row} m_a = {b_m_a} is the
    larger, and part b needs exp(m_b − m) = {b_factor_b}."""
    m = torch.maximum(m_a, m_b)
    a = torch.exp(m_a - m)
    return m, a * l_a + l_b, a[:, None] * acc_a + acc_b


@MERGE.mistake()
def only_the_second_part_rescaled(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Only part b gets its factor. Part a was summed against its own maximum, too: in row {a_row}
    m_b = {a_m_b} is the larger, and part a needs exp(m_a − m) = {a_factor_a}."""
    m = torch.maximum(m_a, m_b)
    b = torch.exp(m_b - m)
    return m, l_a + b * l_b, acc_a + b[:, None] * acc_b


@MERGE.mistake(part=1)
def brought_to_the_maximum_of_b(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Your factor is exp(m_a − m_b), which brings part a to b's maximum. In row {b_row} m_a =
    {b_m_a} is the larger. Bring both to the larger one, m: the factors are exp(m_a − m) and
    exp(m_b − m)."""
    factor = torch.exp(m_a - m_b)
    return m_b, factor * l_a + l_b, factor[:, None] * acc_a + acc_b


@MERGE.mistake(part=1)
def brought_to_no_maximum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """You multiply by exp(m_a) and exp(m_b), so `l` and `acc` are summed against no maximum at all,
    and overflow where scores are large. Take the difference first: the factors are
    exp(m_a − m) and exp(m_b − m)."""
    m, a, b = torch.maximum(m_a, m_b), torch.exp(m_a), torch.exp(m_b)
    return m, a * l_a + b * l_b, a[:, None] * acc_a + b[:, None] * acc_b


@MERGE.mistake(part=1)
def divided_by_exp_of_the_maximum(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Right while maxima are small. Here the largest is {largest}, whose exp does not fit in
    float32, and ∞/∞ is NaN. Take the difference first: exp(m_a − m), not exp(m_a) / exp(m)."""
    m, a, b = torch.maximum(m_a, m_b), torch.exp(m_a), torch.exp(m_b)
    return (
        m,
        (a * l_a + b * l_b) / m.exp(),
        (a[:, None] * acc_a + b[:, None] * acc_b) / m.exp()[:, None],
    )


@MERGE.mistake(part=0)
def one_maximum_for_all_rows(*parts):
    """Your m is one number, {largest}: `.max()` without an axis takes the largest of all rows. Each
    query has its own, `torch.maximum(m_a, m_b)`; against another's, a row far below it underflows
    to 0/0."""
    return _merge(*parts, maximum=lambda m_a, m_b: torch.maximum(m_a, m_b).max())


@MERGE.mistake()
def factors_upside_down(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Your factors are upside down: exp(m − m_a) is {a_excess} in row {a_row}, where a has the
    smaller maximum and should shrink. A part was divided by exp(m_a) and shall be divided by
    exp(m): that is exp(m_a − m) = {a_factor_a}."""
    m = torch.maximum(m_a, m_b)
    a, b = torch.exp(m - m_a), torch.exp(m - m_b)
    return m, a * l_a + b * l_b, a[:, None] * acc_a + b[:, None] * acc_b


@MERGE.mistake()
def divides_by_l_already(*parts):
    """`m` and `l` are right; `acc` is divided by `l` already. Then whoever merges the next part, or
    finishes the row, divides twice. `acc` stays a plain sum until the last part is in."""
    m, l, acc = _merge(*parts)  # noqa: E741
    return m, l, acc / l[:, None]


@MERGE.mistake()
def takes_acc_for_an_output(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """`m` and `l` are right; `acc` is weighted by `l` as well. That is how finished outputs are
    merged. `acc` is not divided yet, so it holds `l` already: its factor is exp(m_a − m)."""
    return _merge(m_a, l_a, l_a[:, None] * acc_a, m_b, l_b, l_b[:, None] * acc_b)


@MERGE.mistake()
def through_the_finished_outputs(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """Right wherever both parts saw a key. In row {empty} part a saw none: `l_a` is 0, and dividing
    `acc_a` by it gives 0/0. Do not divide at all: rescale `acc` as it is."""
    out_a, out_b = acc_a / l_a[:, None], acc_b / l_b[:, None]
    return _merge(m_a, l_a, l_a[:, None] * out_a, m_b, l_b, l_b[:, None] * out_b)


@MERGE.mistake(part=2)
def merged_by_lse(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """You merge finished outputs by their lse, as *One merge, three machines* does. These parts are
    not finished: `acc` is not divided, and where a part saw no key, `acc/l` is 0/0. Asked for is
    the running state: `m` the larger maximum, `l` and `acc` rescaled by exp(m_a − m) and
    exp(m_b − m), and added."""
    lse_a, lse_b = m_a + torch.log(l_a), m_b + torch.log(l_b)
    lse = torch.logaddexp(lse_a, lse_b)
    a, b = torch.exp(lse_a - lse)[:, None], torch.exp(lse_b - lse)[:, None]
    out = a * (acc_a / l_a[:, None]) + b * (acc_b / l_b[:, None])
    return lse, torch.ones_like(lse), out


_VECTOR = "Your factor has shape ({T},), `acc` ({T}, {D}); torch lines up the last axes, {T} "
_VECTOR += "against {D}. A factor belongs to a row: make it a column, "


@MERGE.mistake(begins=_VECTOR)
def factor_along_the_width(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """`factor[:, None] * acc_a`."""
    return torch.exp(m_a) * acc_a


@MERGE.mistake(begins=_VECTOR)
def factor_behind_along_the_width(m_a, l_a, acc_a, m_b, l_b, acc_b):
    """`acc_a * factor[:, None]`."""
    return acc_a * torch.exp(m_a)

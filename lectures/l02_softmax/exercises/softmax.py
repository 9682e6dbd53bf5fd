"""Exercise 1 of lecture 02: a softmax that survives large scores, a part of the reader's GPT."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.rows import row_in_words, row_index, wave
from course_utils.teaching.watched import CallsWatched

__all__ = ["SOFTMAX"]


def _shares(exponentials):
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _softmax(scores, may_attend=None):
    if may_attend is not None:
        scores = scores.masked_fill(~may_attend, -torch.inf)
    largest = scores.amax(dim=-1, keepdim=True)
    exponentials = torch.exp(scores - largest.masked_fill(largest == -torch.inf, 0.0))
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1.0)


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row of scores that came out worst, what it gave, and some sums."""
    scores = inputs["scores"]
    expected = _softmax(**inputs)
    alike = isinstance(got, torch.Tensor) and got.shape == scores.shape
    row = row_index(got, expected) if alike else (0,) * (scores.ndim - 1)
    facts = {"row": row_in_words(scores[row]), "right": row_in_words(expected[row])}
    facts |= {"global": float(scores.max())}
    if alike:
        facts |= {"gave": row_in_words(got[row]), "row_sum": float(got[row].sum())}
        facts |= {"all_sum": float(got.sum()), "first_axis_sum": float(got.sum(dim=0).flatten()[0])}
        if "may_attend" in inputs:
            seen = inputs["may_attend"].expand_as(scores)[row]
            facts |= {"hidden": float(got[row][~seen].sum()), "seen": str(seen.int().tolist())}
    return facts


_stage = partial(
    Exercise,
    title="A softmax that survives large scores",
    difficulty=2,
    minutes=10,
    function="softmax",
    reference=_softmax,
    parts=("weights",),
    facts=_facts,
    # A mistake is recognised by its NaNs too.
    tolerance=NanAlike(relative=1e-4, absolute=1e-6),
)

_OVERFLOW = "In float32 exp(x) is ∞ from x = 88.73 on, and 0 below x = −104."

_LARGE_SCORES = _stage(
    probes=(
        {
            "scores": torch.tensor(
                [
                    [1000.0, 998.0, 1001.0],
                    [-1000.0, -1001.0, -999.5],
                    [100.0, 99.0, 97.5],
                    [-1000.0, 1000.0, 999.0],
                    # exp(60) is finite, exp(120) is not; below, nor is exp(50 + 50).
                    [60.0, 58.0, 59.0],
                    [50.0, -50.0, 48.0],
                    [1e9, -1e9, 1e9],
                ]
            )
        },
        {"scores": torch.tensor([[-1002.0, -1000.0, -999.0], [-3.0, -1.0, -2.0]])},
        {"scores": torch.tensor([1000.0, 1001.0, 998.0, 1000.0, 999.0])},
    ),
    praise="Large scores give the right weights.",
    mistakes=(
        Mistake(
            "no maximum subtracted",
            lambda scores: _shares(torch.exp(scores)),
            "Right for small scores, but {row} became {gave}. " + _OVERFLOW + " Then ∞/∞ or 0/0 is "
            "NaN. Subtract the row's largest score first: the weights stay, and no exponent "
            "exceeds 0.",
        ),
        Mistake(
            "one maximum for all rows",
            lambda scores: _shares(torch.exp(scores - scores.max())),
            "You subtract {global}, the largest score of the whole tensor, from every row. The row "
            "{row} became {gave}: so far below it, all exponentials are 0, and 0/0 is NaN. Each "
            "row has its own maximum, `amax(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "clipped scores",
            lambda scores: _softmax(scores.clamp(-80, 80)),
            "You clip the scores: the row {row} became {gave}, and {right} is right. Only "
            "differences of scores count; clipping loses them, and subtracting keeps them.",
        ),
        Mistake(
            "NaN replaced",
            lambda scores: torch.nan_to_num(_shares(torch.exp(scores))),
            "You replace NaN by 0, which hides the overflow: the row {row} became {gave}, of sum "
            "{row_sum}. " + _OVERFLOW + " Subtract the row's maximum before.",
        ),
    ),
)

_INF = torch.inf

_HIDDEN_KEYS = _stage(
    probes=(
        {"scores": torch.tensor([[0.5, -_INF, 2.0, -_INF, 1.0], [-_INF, -1.0, -_INF, 3.0, 1.5]])},
        {"scores": torch.tensor([[-_INF, -1000.0, -1001.0], [1000.0, -_INF, -_INF]])},
        {"scores": torch.tensor([-2.0, -_INF, -3.0])},
    ),
    praise="A hidden key gets weight 0.",
    mistakes=(
        Mistake(
            "a hidden score counted as 0",
            lambda scores: _softmax(scores.masked_fill(scores == -_INF, 0.0)),
            "You set −∞ to 0. A score of 0 is a score like any other, and a hidden key then gets "
            "weight: {row} became {gave}. Leave −∞ as it is: exp(−∞) = 0.",
        ),
        Mistake(
            "NaN from −∞",
            lambda scores: _softmax(scores * (scores > -_INF)),
            "Every row that holds −∞ became NaN: {row} gave {gave}. Multiplied by a mask, −∞·0 is "
            "NaN, and so is −∞ − (−∞). Nothing has to be done about it: the row's maximum is "
            "finite, and exp(−∞ − max) = 0.",
        ),
    ),
)


def _masked(weights_of):
    """A softmax that is right without a mask, and does something else with one."""

    def softmax(scores, may_attend=None):
        return _softmax(scores) if may_attend is None else weights_of(scores, may_attend)

    return softmax


def _hidden_after(scores, may_attend):
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return _shares(exponentials.masked_fill(~may_attend, 0.0))


_ROWS = "A row is {row}, with may_attend {seen}: you gave {gave}"

_MASKED = _stage(
    probes=(
        {"scores": wave(5, 7, phase=0.3), "may_attend": torch.ones(5, 7, dtype=torch.bool).tril(1)},
        {
            "scores": wave(2, 3, 5, 5, phase=1.1),
            "may_attend": torch.ones(5, 5, dtype=torch.bool).tril(),
        },
        {
            "scores": torch.tensor([[1000.0, -1000.0, -1001.0], [0.0, 2.0, 1.0]]),
            "may_attend": torch.tensor([[False, True, True], [True, False, True]]),
        },
    ),
    praise="A key that the query may not attend to gets weight 0.",
    mistakes=(
        Mistake(
            "no mask",
            _masked(lambda scores, may_attend: _softmax(scores)),
            "Without a mask all is right; with one nothing changes: {hidden} of the weight of a "
            "row goes to keys that it may not attend to. Set their scores to −∞ first.",
        ),
        Mistake(
            "mask upside down",
            _masked(lambda scores, may_attend: _softmax(scores, ~may_attend)),
            _ROWS + ". Your mask is upside down: True means that the query *may* attend to the "
            "key. `masked_fill` fills where its mask is True, so give it `~may_attend`.",
        ),
        Mistake(
            "hidden scores of zero",
            _masked(lambda scores, may_attend: _softmax(scores.masked_fill(~may_attend, 0.0))),
            _ROWS + ". You set hidden scores to 0, and 0 is a score like any other. Only −∞ has "
            "the exponential 0.",
        ),
        Mistake(
            "hidden weights set to zero",
            _masked(lambda scores, may_attend: _softmax(scores).masked_fill(~may_attend, 0.0)),
            _ROWS + ", of sum {row_sum}. You hide keys after the division. Hide them before: then "
            "what they would have got goes to the others.",
        ),
        Mistake(
            "the maximum of hidden keys",
            _masked(_hidden_after),
            _ROWS + ". The largest score belongs to a hidden key, and next to it all others "
            "became exp(−2000) = 0, so 0/0. Hide first, and then take the maximum.",
        ),
    ),
)

_EMPTY_ROWS = _stage(
    probes=(
        {
            "scores": wave(3, 4, phase=0.4),
            "may_attend": torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1]]).bool(),
        },
        {
            "scores": wave(2, 3, 4, phase=1.6),
            "may_attend": torch.tensor([[0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]).bool(),
        },
    ),
    praise="A query that may attend to nothing gets zeros.",
    mistakes=(
        Mistake(
            "0/0 in an empty row",
            _masked(lambda s, may_attend: s.masked_fill(~may_attend, -_INF).softmax(dim=-1)),
            "Right, but for a query that may attend to nothing: {gave}. All its scores are −∞, and "
            "so is their maximum; −∞ − (−∞) is NaN, and from the next layer on it is everywhere. "
            "Where the maximum is −∞ subtract 0, and where the sum is 0 divide by 1.",
        ),
        Mistake(
            "a low number for −∞",
            _masked(lambda s, may_attend: s.masked_fill(~may_attend, -1e9).softmax(dim=-1)),
            "Right, but for a query that may attend to nothing: {gave}. With a very low number in "
            "place of −∞ all its scores are equal, so it attends equally to all that is hidden "
            "from it. No crash tells you. It should get zeros.",
        ),
    ),
)

_BY_HAND = _stage(
    probes=({"scores": wave(2, 5, phase=0.7)},),
    parts=("weights", "call"),
    watch=partial(CallsWatched, names=("softmax", "special_softmax", "log_softmax", "logsumexp")),
    praise="Only differences of scores count, so subtracting the maximum changes nothing, and no "
    "exponent is above 0. A hidden key gets exp(−∞) = 0, and an empty row gets zeros.",
    mistakes=(
        Mistake(
            "torch's own softmax",
            lambda scores, may_attend=None: torch.softmax(scores, dim=-1),
            "The weights are right, and torch computed them: `softmax`, `log_softmax` and "
            "`logsumexp` are what this exercise asks you to write. `exp`, `amax` and `sum` are "
            "enough.",
        ),
    ),
)

SOFTMAX = _stage(
    probes=(
        {"scores": wave(5, 7, phase=0.3)},
        {"scores": wave(2, 3, 5, phase=1.1)},
        {"scores": torch.tensor([1.0, 3.0, 2.0])},
    ),
    praise="Small scores give the right weights.",
    then=(_LARGE_SCORES, _HIDDEN_KEYS, _MASKED, _EMPTY_ROWS, _BY_HAND),
    kept_as="softmax",
    mistakes=(
        Mistake(
            "over the first axis",
            lambda scores: torch.softmax(scores, dim=0),
            "Your softmax runs over the first axis: sums over it are {first_axis_sum}, and the row "
            "{row} became {gave}, which sums to {row_sum}. Each row on the last axis is a "
            "distribution of its own: `dim=-1`.",
        ),
        Mistake(
            "exponentials only",
            torch.exp,
            "You return exp(scores): the row {row} became {gave}, which sums to {row_sum}. Divide "
            "each row by its sum.",
        ),
        Mistake(
            "divided by one sum for all rows",
            lambda scores: torch.exp(scores) / torch.exp(scores).sum(),
            "Your weights sum to {all_sum} over the whole tensor, and the row {row} to {row_sum}: "
            "`.sum()` without an axis adds all rows. Each row has its own sum, "
            "`sum(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "axis dropped",
            lambda scores: torch.exp(scores) / torch.exp(scores).sum(dim=-1),
            "A maximum or a sum over the last axis drops that axis: (5, 7) becomes (5,), and torch "
            "then lines the 5 up with the 7 columns. `keepdim=True` keeps a column (5, 1).",
        ),
    ),
)

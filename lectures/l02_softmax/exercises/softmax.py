"""Exercise 1 of lecture 02: a softmax that survives large scores, a part of the reader's GPT."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.rows import row_in_words, row_index, wave
from course_utils.teaching.watched import CallsWatched


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
            facts |= {"hidden": float(got[row][~seen].sum())}
            facts["rows"] = (
                f"A row is {facts['row']}, with may_attend {seen.int().tolist()}: "
                f"you gave {facts['gave']}"
            )
    return facts


def _masked(weights_of):
    """A softmax that is right without a mask, and does something else with one."""

    def softmax(scores, may_attend=None):
        return _softmax(scores) if may_attend is None else weights_of(scores, may_attend)

    return softmax


SOFTMAX = Exercise(
    title="A softmax that survives large scores",
    difficulty=2,
    minutes=10,
    function="softmax",
    reference=_softmax,
    parts=("weights",),
    facts=_facts,
    # A mistake is recognised by its NaNs too.
    tolerance=NanAlike(relative=1e-4, absolute=1e-6),
    probes=(
        {"scores": wave(5, 7, phase=0.3)},
        {"scores": wave(2, 3, 5, phase=1.1)},
        {"scores": torch.tensor([1.0, 3.0, 2.0])},
    ),
    praise="Small scores give the right weights.",
    kept_as="softmax",
)


@SOFTMAX.mistake()
def over_the_first_axis(scores):
    """Your softmax runs over the first axis: sums over it are {first_axis_sum}, and the row {row}
    became {gave}, which sums to {row_sum}. Each row on the last axis is a distribution of its own:
    `dim=-1`."""
    return torch.softmax(scores, dim=0)


@SOFTMAX.mistake()
def exponentials_only(scores):
    """You return exp(scores): the row {row} became {gave}, which sums to {row_sum}. Divide each row
    by its sum."""
    return torch.exp(scores)


@SOFTMAX.mistake()
def divided_by_one_sum_for_all_rows(scores):
    """Your weights sum to {all_sum} over the whole tensor, and the row {row} to {row_sum}: `.sum()`
    without an axis adds all rows. Each row has its own sum, `sum(dim=-1, keepdim=True)`."""
    return torch.exp(scores) / torch.exp(scores).sum()


@SOFTMAX.mistake()
def axis_dropped(scores):
    """A maximum or a sum over the last axis drops that axis: (5, 7) becomes (5,), and torch then
    lines the 5 up with the 7 columns. `keepdim=True` keeps a column (5, 1)."""
    return torch.exp(scores) / torch.exp(scores).sum(dim=-1)


LARGE_SCORES = SOFTMAX.stage(
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
)


@LARGE_SCORES.mistake()
def no_maximum_subtracted(scores):
    """Right for small scores, but {row} became {gave}. In float32 exp(x) is ∞ from x = 88.73 on,
    and 0 below x = −104. Then ∞/∞ or 0/0 is NaN. Subtract the row's largest score first: the
    weights stay, and no exponent exceeds 0."""
    return _shares(torch.exp(scores))


@LARGE_SCORES.mistake()
def one_maximum_for_all_rows(scores):
    """You subtract {global}, the largest score of the whole tensor, from every row. The row {row}
    became {gave}: so far below it, all exponentials are 0, and 0/0 is NaN. Each row has its own
    maximum, `amax(dim=-1, keepdim=True)`."""
    return _shares(torch.exp(scores - scores.max()))


@LARGE_SCORES.mistake()
def clipped_scores(scores):
    """You clip the scores: the row {row} became {gave}, and {right} is right. Only differences of
    scores count; clipping loses them, and subtracting keeps them."""
    return _softmax(scores.clamp(-80, 80))


@LARGE_SCORES.mistake()
def NaN_replaced(scores):
    """You replace NaN by 0, which hides the overflow: the row {row} became {gave}, of sum
    {row_sum}. In float32 exp(x) is ∞ from x = 88.73 on, and 0 below x = −104. Subtract the row's
    maximum before."""
    return torch.nan_to_num(_shares(torch.exp(scores)))


_INF = torch.inf

HIDDEN_KEYS = SOFTMAX.stage(
    probes=(
        {"scores": torch.tensor([[0.5, -_INF, 2.0, -_INF, 1.0], [-_INF, -1.0, -_INF, 3.0, 1.5]])},
        {"scores": torch.tensor([[-_INF, -1000.0, -1001.0], [1000.0, -_INF, -_INF]])},
        {"scores": torch.tensor([-2.0, -_INF, -3.0])},
    ),
    praise="A hidden key gets weight 0.",
)


@HIDDEN_KEYS.mistake()
def a_hidden_score_counted_as_0(scores):
    """You set −∞ to 0. A score of 0 is a score like any other, and a hidden key then gets weight:
    {row} became {gave}. Leave −∞ as it is: exp(−∞) = 0."""
    return _softmax(scores.masked_fill(scores == -_INF, 0.0))


@HIDDEN_KEYS.mistake()
def NaN_from(scores):
    """Every row that holds −∞ became NaN: {row} gave {gave}. Multiplied by a mask, −∞·0 is NaN, and
    so is −∞ − (−∞). Nothing has to be done about it: the row's maximum is finite, and exp(−∞ − max)
    = 0."""
    return _softmax(scores * (scores > -_INF))


MASKED = SOFTMAX.stage(
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
    written=_masked,
)


@MASKED.mistake()
def no_mask(scores, may_attend):
    """Without a mask all is right; with one nothing changes: {hidden} of the weight of a row goes
    to keys that it may not attend to. Set their scores to −∞ first."""
    return _softmax(scores)


@MASKED.mistake()
def mask_upside_down(scores, may_attend):
    """{rows}. Your mask is upside down: True means that the query *may* attend to the key.
    `masked_fill` fills where its mask is True, so give it `~may_attend`."""
    return _softmax(scores, ~may_attend)


@MASKED.mistake()
def hidden_scores_of_zero(scores, may_attend):
    """{rows}. You set hidden scores to 0, and 0 is a score like any other. Only −∞ has the
    exponential 0."""
    return _softmax(scores.masked_fill(~may_attend, 0.0))


@MASKED.mistake()
def hidden_weights_set_to_zero(scores, may_attend):
    """{rows}, of sum {row_sum}. You hide keys after the division. Hide them before: then what they
    would have got goes to the others."""
    return _softmax(scores).masked_fill(~may_attend, 0.0)


@MASKED.mistake()
def the_maximum_of_hidden_keys(scores, may_attend):
    """{rows}. The largest score belongs to a hidden key, and next to it all others became
    exp(−2000) = 0, so 0/0. Hide first, and then take the maximum."""
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return _shares(exponentials.masked_fill(~may_attend, 0.0))


EMPTY_ROWS = SOFTMAX.stage(
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
    written=_masked,
)


@EMPTY_ROWS.mistake()
def n0_0_in_an_empty_row(s, may_attend):
    """Right, but for a query that may attend to nothing: {gave}. All its scores are −∞, and so is
    their maximum; −∞ − (−∞) is NaN, and from the next layer on it is everywhere. Where the maximum
    is −∞ subtract 0, and where the sum is 0 divide by 1."""
    return s.masked_fill(~may_attend, -_INF).softmax(dim=-1)


@EMPTY_ROWS.mistake()
def a_low_number_for(s, may_attend):
    """Right, but for a query that may attend to nothing: {gave}. With a very low number in place of
    −∞ all its scores are equal, so it attends equally to all that is hidden from it. No crash tells
    you. It should get zeros."""
    return s.masked_fill(~may_attend, -1e9).softmax(dim=-1)


BY_HAND = SOFTMAX.stage(
    probes=({"scores": wave(2, 5, phase=0.7)},),
    parts=("weights", "call"),
    watch=partial(CallsWatched, names=("softmax", "special_softmax", "log_softmax", "logsumexp")),
    praise="Only differences of scores count, so subtracting the maximum changes nothing, and no "
    "exponent is above 0. A hidden key gets exp(−∞) = 0, and an empty row gets zeros.",
)


@BY_HAND.mistake()
def torch_s_own_softmax(scores, may_attend=None):
    """The weights are right, and torch computed them: `softmax`, `log_softmax` and `logsumexp` are
    what this exercise asks you to write. `exp`, `amax` and `sum` are enough."""
    return torch.softmax(scores, dim=-1)

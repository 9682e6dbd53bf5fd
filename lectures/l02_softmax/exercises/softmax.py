"""Exercise 1 of lecture 02: a softmax that survives large scores, a part of the reader's GPT."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.rows import wave
from course_utils.teaching.watched import CallsWatched, watched
from lectures.l02_softmax.exercises.right_softmax import facts, right_softmax, shares


def _hidden_after_the_maximum(scores, may_attend):
    """Weights of which the hidden ones are removed too late for the maximum."""
    exponentials = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    return shares(exponentials.masked_fill(~may_attend, 0.0))


def _masked(weights_of):
    """A softmax that is right without a mask, and does something else with one."""

    def softmax(scores, may_attend=None):
        return right_softmax(scores) if may_attend is None else weights_of(scores, may_attend)

    return softmax


SOFTMAX = Exercise(
    title="A softmax that survives large scores",
    difficulty=2,
    minutes=10,
    function="softmax",
    reference=right_softmax,
    parts=("weights",),
    facts=facts,
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
def over_the_queries(scores):
    """Your softmax runs over the last axis but one, the queries: the row {row} became {gave}, which
    sums to {row_sum}. Each row on the last axis is a distribution of its own: `dim=-1`."""
    return torch.softmax(scores, dim=-2)


@SOFTMAX.mistake()
def over_axis_1(scores):
    """You take axis 1. It is the last one only where there are two axes; in a shape (2, 3, 5) the
    last is axis 2. `dim=-1` is the last axis always."""
    return torch.softmax(scores, dim=1)


@SOFTMAX.mistake()
def no_mask_to_invert(scores, may_attend: Any = None):
    """Where nothing is hidden, `may_attend` is None, and `~None` is an error. Hide only
    `if may_attend is not None:`."""
    return scores.masked_fill(~may_attend, -torch.inf)


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
                    # exp(48) is finite, exp(48 + 48) is not; below, nor is exp(50 + 50). Clipping
                    # at 50 or above changes neither row.
                    [48.0, 46.0, 47.0],
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
    return shares(torch.exp(scores))


@LARGE_SCORES.mistake()
def one_maximum_for_all_rows(scores):
    """You subtract {global}, the largest score of the whole tensor, from every row. The row {row}
    became {gave}: so far below it, all exponentials are 0, and 0/0 is NaN. Each row has its own
    maximum, `amax(dim=-1, keepdim=True)`."""
    return shares(torch.exp(scores - scores.max()))


@LARGE_SCORES.mistake()
def clipped_scores(scores):
    """You clip the scores: the row {row} became {gave}, and {right} is right. Only differences of
    scores count; clipping loses them, and subtracting keeps them."""
    return right_softmax(scores.clamp(-80, 80))


@LARGE_SCORES.mistake()
def clipped_above(scores):
    """You clip the scores from above. The row {row} became {gave}: clipped scores are equal, or
    their sum is still ∞, and low scores are as before. Only differences of scores count: subtract
    the row's largest score instead."""
    return shares(torch.exp(scores.clamp(max=88)))


@LARGE_SCORES.mistake()
def NaN_replaced(scores):
    """You replace NaN by 0, which hides the overflow: the row {row} became {gave}, of sum
    {row_sum}. In float32 exp(x) is ∞ from x = 88.73 on, and 0 below x = −104. Subtract the row's
    maximum before."""
    return torch.nan_to_num(shares(torch.exp(scores)))


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
    return right_softmax(scores.masked_fill(scores == -_INF, 0.0))


@HIDDEN_KEYS.mistake()
def NaN_from(scores):
    """Every row that holds −∞ became NaN: {row} gave {gave}. Multiplied by a mask, −∞·0 is NaN, and
    so is −∞ − (−∞). Nothing has to be done about it: the row's maximum is finite, and exp(−∞ − max)
    = 0."""
    return right_softmax(scores * (scores > -_INF))


MASKED = SOFTMAX.stage(
    probes=(
        {"scores": wave(5, 7, phase=0.3), "may_attend": torch.ones(5, 7, dtype=torch.bool).tril(1)},
        {
            "scores": wave(2, 3, 5, 5, phase=1.1),
            # Upside down, it has no empty row either.
            "may_attend": torch.ones(5, 5, dtype=torch.bool)
            .tril()
            .index_fill(1, torch.tensor([1]), False),
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
    return right_softmax(scores)


@MASKED.mistake()
def mask_upside_down(scores, may_attend):
    """{rows}. Your mask is upside down: True means that the query *may* attend to the key.
    `masked_fill` fills where its mask is True, so give it `~may_attend`."""
    return right_softmax(scores, ~may_attend)


@MASKED.mistake()
def hidden_scores_of_zero(scores, may_attend):
    """{rows}. You set hidden scores to 0, and 0 is a score like any other. Only −∞ has the
    exponential 0."""
    return right_softmax(scores.masked_fill(~may_attend, 0.0))


@MASKED.mistake()
def hidden_weights_set_to_zero(scores, may_attend):
    """{rows}, of sum {row_sum}. You hide keys after the division. Hide them before: then what they
    would have got goes to the others."""
    return right_softmax(scores).masked_fill(~may_attend, 0.0)


@MASKED.mistake()
def the_maximum_of_hidden_keys(scores, may_attend):
    """{rows}. The largest score belongs to a hidden key, and next to it all others became
    exp(−2000) = 0, so 0/0. Hide first, and then take the maximum."""
    return _hidden_after_the_maximum(scores, may_attend)


@MASKED.mistake()
def the_maximum_of_hidden_keys_and_no_NaN(scores, may_attend):
    """{rows}. The largest score belongs to a hidden key, and next to it all others became
    exp(−2000) = 0: no weight is left. Hide first, and then take the maximum."""
    return _hidden_after_the_maximum(scores, may_attend).nan_to_num()


@MASKED.mistake()
def mask_added(scores, may_attend):
    """{rows}. You add `may_attend`, where True counts as 1 and False as 0, so the score of a hidden
    key is lower by 1 only. It has to be −∞."""
    return right_softmax(scores + may_attend)


@MASKED.mistake()
def infinity_times_the_mask(scores, may_attend):
    """{rows}. Multiplying −∞ by a mask gives NaN wherever the mask is 0. `masked_fill` and
    `torch.where` choose without multiplying."""
    return right_softmax(scores + -_INF * ~may_attend)


@MASKED.mistake()
def a_table_in_an_if(scores, may_attend):
    """`if may_attend:` asks a whole table for one yes or no. What you want to know is whether there
    is a table: `if may_attend is not None:`."""
    return right_softmax(scores) if may_attend else scores


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
    """Right, but for a query that may attend to nothing: {gave}. All its scores are −∞. Two steps
    can make NaN of that: −∞ − (−∞), where you subtract the maximum, and 0/0, where you divide by
    the sum. Where the maximum is −∞ subtract 0, and where the sum is 0 divide by 1."""
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


def _is_tied(answer: Any) -> Any:
    """Instead of the weights: whether autograd can still follow them back to the scores."""
    return watched(
        lambda scores: answer(scores.requires_grad_().clone()),
        lambda weights, scores: int(weights.requires_grad),
    )


TRAINS = SOFTMAX.stage(
    probes=BY_HAND.probes,
    parts=("tied",),
    watch=_is_tied,
    praise=BY_HAND.praise,
)


@TRAINS.mistake()
def cut_from_the_scores(scores, may_attend=None):
    """The weights are right, but autograd cannot follow them back to the scores, so a model with
    this softmax would not learn where to look. `detach`, `.data`, numpy, `torch.no_grad` and
    `torch.tensor` cut that tie: use torch's own operations throughout."""
    return right_softmax(scores).detach()


@TRAINS.mistake()
def cut_by_numpy(scores, may_attend=None):
    """The weights are right, but numpy computed a part of them, and autograd cannot follow it. A
    model with this softmax would not train. Use `torch.exp` and the other operations of torch."""
    return right_softmax(scores).numpy()

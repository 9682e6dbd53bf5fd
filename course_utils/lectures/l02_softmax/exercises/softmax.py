"""Exercise 1 of lecture 02: a softmax that survives every score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.rows import row_in_words, row_index, wave
from course_utils.teaching.stages import check_in_turn
from course_utils.teaching.verdict import Verdict

__all__ = ["SOFTMAX", "SOFTMAX_HIDDEN", "SOFTMAX_RANGE", "check_softmax"]

_TITLE = "A softmax that survives every score"
# A mistake is recognised by its NaNs too.
_TOLERANCE = NanAlike(relative=1e-4, absolute=1e-6)
_INF = torch.inf


def _softmax(scores):
    return torch.softmax(scores, dim=-1)


def _shares(exponentials):
    return exponentials / exponentials.sum(dim=-1, keepdim=True)


def _largest(scores):
    return scores.amax(dim=-1, keepdim=True)


def _shifted_by(shift_of):
    """The softmax that subtracts something else than the row's maximum."""
    return lambda scores: _shares(torch.exp(scores - shift_of(scores)))


def _softmax_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row of scores that came out worst, what it gave, and some sums."""
    scores = inputs["scores"]
    expected = _softmax(scores)
    alike = isinstance(got, torch.Tensor) and got.shape == scores.shape
    row = row_index(got, expected) if alike else (0,) * (scores.ndim - 1)
    facts = {"row": row_in_words(scores[row]), "right": row_in_words(expected[row])}
    facts |= {"top": float(scores[row].max()), "global": float(scores.max())}
    if alike:
        facts |= {"gave": row_in_words(got[row]), "row_sum": float(got[row].sum())}
        facts |= {"all_sum": float(got.sum()), "first_axis_sum": float(got.sum(dim=0).flatten()[0])}
    return facts


SOFTMAX = Exercise(
    title=_TITLE,
    difficulty=1,
    minutes=8,
    reference=_softmax,
    probes=(
        {"scores": wave(5, 7, phase=0.3)},
        {"scores": wave(2, 3, 5, phase=1.1)},
        {"scores": torch.tensor([1.0, 3.0, 2.0])},
    ),
    parts=("weights",),
    facts=_softmax_facts,
    tolerance=_TOLERANCE,
    praise="Small scores give the right weights.",
    mistakes=(
        Mistake(
            "over the first axis",
            lambda scores: torch.softmax(scores, dim=0),
            "Your softmax runs over the first axis: sums over it are {first_axis_sum}, and the row "
            "{row} became {gave}, which sums to {row_sum}. Each row on the last axis is a "
            "distribution of its own: `dim=-1`.",
        ),
        Mistake(
            "over the second axis",
            lambda scores: torch.softmax(scores, dim=1),
            "Your softmax runs over axis 1. That is the last axis of a matrix, and not of scores "
            "(2, 3, 5), where the row {row} became {gave}, of sum {row_sum}. The last axis of any "
            "tensor is `dim=-1`.",
        ),
        Mistake(
            "not normalised",
            lambda scores: torch.exp(scores - _largest(scores)),
            "You take exponentials and do not divide by their sum: the row {row} became {gave}, "
            "which sums to {row_sum}. The largest is 1 in every row; a softmax makes the sum 1.",
        ),
        Mistake(
            "exponentials alone",
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
            "shifted by rows, divided by one sum",
            lambda scores: (lambda e: e / e.sum())(torch.exp(scores - _largest(scores))),
            "You subtract each row's maximum, and then divide by one sum for the whole tensor: the "
            "row {row} sums to {row_sum}. The sum needs `dim=-1, keepdim=True` like the maximum.",
        ),
        Mistake(
            "maximum in the numerator alone",
            lambda scores: (
                torch.exp(scores - _largest(scores)) / torch.exp(scores).sum(dim=-1, keepdim=True)
            ),
            "You subtract the maximum in the numerator and not in the denominator: the row {row} "
            "became {gave}, which sums to {row_sum}. exp(−max) cancels if it stands in both.",
        ),
        Mistake(
            "powers of two",
            lambda scores: _shares(torch.exp2(scores)),
            "Your exponentials have base 2: the row {row} became {gave}, and with base e it is "
            "{right}. Use `torch.exp`.",
        ),
        Mistake(
            "shares of the scores",
            _shares,
            "You divide the scores by their sum, without an exponential: the row {row} became "
            "{gave}. Weights must be positive whatever the scores: `torch.exp` first.",
        ),
        Mistake(
            "logarithms of the weights",
            lambda scores: torch.log_softmax(scores, dim=-1),
            "You return the logarithms of the weights: the row {row} became {gave}. The last step "
            "is missing, `torch.exp`.",
        ),
        Mistake(
            "selected by a mask",
            lambda scores: _softmax(scores[scores > -_INF]),
            "Your weights form one row: `scores[mask]` drops the axes of a tensor, and the places "
            "of what it leaves out. A hidden key keeps its place, with weight exp(−∞) = 0.",
        ),
        Mistake(
            "the pair that max returns",
            lambda scores: scores - scores.max(dim=-1, keepdim=True),
            "`scores.max(dim=-1)` returns a pair, the largest scores and their places. Take "
            "`.values` of it, or use `scores.amax(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "axis dropped",
            lambda scores: (lambda e: e / e.sum(dim=-1))(torch.exp(scores - scores.amax(dim=-1))),
            "A maximum or a sum over the last axis drops that axis: (5, 7) becomes (5,), and torch "
            "then lines the 5 up with the 7 columns. `keepdim=True` keeps a column (5, 1).",
        ),
    ),
)

_OVERFLOW = "In float32 exp(x) is ∞ from x = 88.73 on, and 0 below x = −104."

SOFTMAX_RANGE = Exercise(
    title=_TITLE,
    difficulty=SOFTMAX.difficulty,
    minutes=SOFTMAX.minutes,
    reference=_softmax,
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
                ]
            )
        },
        {"scores": torch.tensor([[-1002.0, -1000.0, -999.0], [-3.0, -1.0, -2.0]])},
        {"scores": torch.tensor([1000.0, 1001.0, 998.0, 1000.0, 999.0])},
    ),
    parts=("weights",),
    facts=_softmax_facts,
    tolerance=_TOLERANCE,
    praise="Large scores give the right weights.",
    mistakes=(
        Mistake(
            "no maximum subtracted",
            _shifted_by(lambda scores: 0.0),
            "Right for small scores, but {row} became {gave}. " + _OVERFLOW + " Then ∞/∞ or 0/0 is "
            "NaN. Subtract the row's largest score first: the weights stay, and no exponent "
            "exceeds 0.",
        ),
        Mistake(
            "one maximum for all rows",
            _shifted_by(torch.max),
            "You subtract {global}, the largest score of the whole tensor, from every row. The row "
            "{row} became {gave}: so far below it, all exponentials are 0, and 0/0 is NaN. Each "
            "row has its own maximum, `amax(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "the largest absolute value",
            _shifted_by(lambda scores: scores.abs().amax(dim=-1, keepdim=True)),
            "You subtract the largest |score|. In the row {row} that is above the largest score, "
            "{top}, by far: all exponentials are 0, and the row became {gave}. Take the maximum "
            "with its sign.",
        ),
        Mistake(
            "the minimum",
            _shifted_by(lambda scores: scores.amin(dim=-1, keepdim=True)),
            "You subtract the row's smallest score. The row {row} became {gave}: its largest is so "
            "far above the smallest that exp overflows. With the largest subtracted, no exponent "
            "exceeds 0.",
        ),
        Mistake(
            "the mean",
            _shifted_by(lambda scores: scores.mean(dim=-1, keepdim=True)),
            "You subtract the row's mean. That is enough while a row stays within 88 of it; the "
            "row {row} became {gave}. Only the maximum makes sure that no exponent exceeds 0.",
        ),
        Mistake(
            "the maximum added",
            _shifted_by(lambda scores: -_largest(scores)),
            "You add the maximum instead of subtracting it: the row {row} became {gave}. Twice as "
            "far out, exp overflows sooner still.",
        ),
        Mistake(
            "clipped scores",
            lambda scores: _softmax(scores.clamp(-80, 80)),
            "You clip the scores: the row {row} became {gave}, and {right} is right. Only "
            "differences of scores count; clipping loses them, and subtracting keeps them.",
        ),
        Mistake(
            "a small number in the denominator",
            lambda scores: torch.exp(scores) / (torch.exp(scores).sum(dim=-1, keepdim=True) + 1e-9),
            "A small number in the denominator turns 0/0 into 0, so a row of very low scores gets "
            "no weight at all, and ∞/∞ stays NaN: {row} became {gave}. Subtract the row's maximum; "
            "then the sum is at least 1, and nothing has to be added.",
        ),
        Mistake(
            "NaN replaced",
            lambda scores: torch.nan_to_num(_shares(torch.exp(scores))),
            "You replace NaN by 0, which hides the overflow: the row {row} became {gave}, of sum "
            "{row_sum}. " + _OVERFLOW + " Subtract the row's maximum before.",
        ),
        Mistake(
            "float64 instead of a maximum",
            lambda scores: _shares(torch.exp(scores.double())),
            "float64 moves the limit from 88.7 to 709.8, and no further: the row {row} became "
            "{gave}. Subtract the row's maximum, and any format will do.",
        ),
    ),
)

SOFTMAX_HIDDEN = Exercise(
    title=_TITLE,
    difficulty=SOFTMAX.difficulty,
    minutes=SOFTMAX.minutes,
    reference=_softmax,
    probes=(
        {"scores": torch.tensor([[0.5, -_INF, 2.0, -_INF, 1.0], [-_INF, -1.0, -_INF, 3.0, 1.5]])},
        {"scores": torch.tensor([[-_INF, -1000.0, -1001.0], [1000.0, -_INF, -_INF]])},
        {"scores": torch.tensor([-2.0, -_INF, -3.0])},
    ),
    parts=("weights",),
    facts=_softmax_facts,
    tolerance=_TOLERANCE,
    praise="The weights depend on differences of scores alone, so subtracting the maximum changes "
    "nothing and keeps every exponent at 0 or below. A hidden key, −∞, gets exp(−∞) = 0.",
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


def check_softmax(softmax: Any) -> Verdict:
    """Judge ``softmax(scores)``: exp(score) / sum of exp(score) over the last axis.

    ``scores`` is a float32 tensor with any number of axes. Scores of ±1000 must give finite
    weights, and a score of −∞ weight 0; each row holds at least one finite score. In three
    stages: small scores, large ones, hidden ones.

    >>> check_softmax(lambda scores: torch.softmax(scores, dim=-1)).passed
    True
    """
    return check_in_turn(softmax, SOFTMAX, SOFTMAX_RANGE, SOFTMAX_HIDDEN)

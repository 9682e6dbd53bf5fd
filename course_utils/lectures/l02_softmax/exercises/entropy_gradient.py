"""Exercise 3 of lecture 02: the gradient of the entropy of a softmax by its scores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise, Mistake
from course_utils.teaching.outcomes import NanAlike
from course_utils.teaching.rows import row_in_words, row_index, wave
from course_utils.teaching.stages import check_in_turn
from course_utils.teaching.verdict import Verdict

__all__ = ["ENTROPY_GRADIENT", "ENTROPY_RANGE", "check_entropy_gradient"]


def _logs(z):
    return torch.log_softmax(z, dim=-1)


def _entropy(z):
    """H in nats, as a column."""
    log_p = _logs(z)
    return -(log_p.exp() * log_p).sum(dim=-1, keepdim=True)


def _from_parts(gradient_of):
    """A gradient from p, log p and H, all of the right values."""
    return lambda z: gradient_of(_logs(z).exp(), _logs(z), _entropy(z))


_entropy_gradient = _from_parts(lambda p, log_p, H: -p * (log_p + H))


def _entropy_facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row that came out worst, its entropy, and what was given."""
    z = inputs["z"]
    expected = _entropy_gradient(z)
    alike = isinstance(got, torch.Tensor) and got.shape == z.shape
    row = row_index(got, expected) if alike else (0,) * (z.ndim - 1)
    facts = {"row": row_in_words(z[row]), "right": row_in_words(expected[row])}
    facts |= {"H": float(_entropy(z)[row])}
    if alike:
        facts |= {"gave": row_in_words(got[row]), "row_sum": float(got[row].sum())}
    return facts


ENTROPY_GRADIENT = Exercise(
    title="The gradient of the entropy",
    difficulty=3,
    minutes=12,
    reference=_entropy_gradient,
    probes=(
        {"z": wave(5, 7, phase=0.6)},
        {"z": 1.5 * wave(2, 3, 5, phase=1.9)},
        {"z": torch.tensor([0.5, 2.0, -1.0])},
    ),
    parts=("gradient",),
    facts=_entropy_facts,
    tolerance=NanAlike(relative=1e-4, absolute=2e-6),
    praise="Scores that are not far apart give the right gradient.",
    mistakes=(
        Mistake(
            "by the weights instead of the scores",
            _from_parts(lambda p, log_p, H: -(log_p + 1)),
            "You return −(log p + 1), the derivative by p. Asked for is the one by z: carry it "
            "back through the softmax, by the product of exercise 2.",
        ),
        Mistake(
            "the derivative by p, times p",
            _from_parts(lambda p, log_p, H: -p * (log_p + 1)),
            "You multiply −(log p + 1) by p, the diagonal part of J alone. Then the row {row} has "
            "a gradient that sums to {row_sum}. A shift of all scores changes nothing, so the sum "
            "is 0: exercise 2's dot product is missing.",
        ),
        Mistake(
            "the derivative by p, times p(1 − p)",
            _from_parts(lambda p, log_p, H: -p * (1 - p) * (log_p + 1)),
            "You multiply −(log p + 1) by p(1 − p), the diagonal of J. A score moves every weight "
            "of its row: your gradient of the row {row} sums to {row_sum} instead of 0.",
        ),
        Mistake(
            "the other sign",
            _from_parts(lambda p, log_p, H: p * (log_p + H)),
            "Your gradient has the other sign: the row {row} gave {gave}. Raising the largest "
            "score makes the weights more unequal, so the entropy falls: its entry is negative.",
        ),
        Mistake(
            "no H",
            _from_parts(lambda p, log_p, H: -p * log_p),
            "You return −p·log p, the terms whose sum is the entropy: the row {row} sums to "
            "{row_sum} = H. A gradient by scores sums to 0: inside the bracket H is missing.",
        ),
        Mistake(
            "H without its minus",
            _from_parts(lambda p, log_p, H: -p * (log_p - H)),
            "You subtract H = {H} in the bracket: the row {row} gave {gave}, which sums to "
            "{row_sum} instead of 0. H = −Σ p·log p has a minus of its own, and log p + H it is.",
        ),
        Mistake(
            "p missing",
            _from_parts(lambda p, log_p, H: -(log_p + H)),
            "You return −(log p + H). Each entry still has to be multiplied by its p: a score "
            "whose weight is nearly 0 hardly changes anything.",
        ),
        Mistake(
            "in bits",
            _from_parts(lambda p, log_p, H: -p * (log_p + H) / torch.log(torch.tensor(2.0))),
            "Your gradient is 1.443 = 1/ln 2 times too large: those are bits, from logarithms to "
            "base 2. In nats, as exp(H) needs it, use `torch.log`.",
        ),
        Mistake(
            "the entropy itself",
            lambda z: _entropy(z).squeeze(-1),
            "You return the entropy, one number a row. Its gradient has an entry for every score, "
            "the shape of z.",
        ),
        Mistake(
            "the entropy itself, as a column",
            _entropy,
            "You return the entropy, one number a row, as a column. Its gradient has an entry for "
            "every score, the shape of z.",
        ),
        Mistake(
            "effective tokens",
            _from_parts(lambda p, log_p, H: -H.exp() * p * (log_p + H)),
            "You return the gradient of the effective tokens, exp(H): exp(H) times too large, in "
            "the row {row} with H = {H}. The chain rule is right; asked for is the gradient of H.",
        ),
        Mistake(
            "divided by the number of scores",
            _from_parts(lambda p, log_p, H: -p * (log_p + H) / p.shape[-1]),
            "Your gradient is divided by the number of scores in a row. The entropy is a sum over "
            "them, not a mean.",
        ),
        Mistake(
            "one entropy for all rows",
            _from_parts(lambda p, log_p, H: -p * (log_p + H.sum())),
            "You take one H for all rows: `.sum()` without an axis adds all of −p·log p. Each row "
            "has its own; that of {row} is {H}. `sum(dim=-1, keepdim=True)`.",
        ),
        Mistake(
            "softmax over the first axis",
            lambda z: torch.movedim(_entropy_gradient(torch.movedim(z, 0, -1)), -1, 0),
            "Your softmax and sums run over the first axis. A row on the last axis is one "
            "distribution: `dim=-1`. The row {row} gave {gave}, which sums to {row_sum}.",
        ),
        Mistake(
            "axis dropped",
            lambda z: -_logs(z).exp() * (_logs(z) + _entropy(z).squeeze(-1)),
            "The sum over the last axis drops it: (5, 7) becomes (5,), and torch lines the 5 up "
            "with the 7 columns. `keepdim=True` keeps a column (5, 1).",
        ),
    ),
)


def _by_log_of_p(z):
    p = torch.softmax(z, dim=-1)
    H = -(p * p.log()).sum(dim=-1, keepdim=True)
    return -p * (p.log() + H)


def _by_exponentials(z):
    log_p = z - torch.exp(z).sum(dim=-1, keepdim=True).log()
    p = log_p.exp()
    return -p * (log_p - (p * log_p).sum(dim=-1, keepdim=True))


ENTROPY_RANGE = Exercise(
    title=ENTROPY_GRADIENT.title,
    difficulty=ENTROPY_GRADIENT.difficulty,
    minutes=ENTROPY_GRADIENT.minutes,
    reference=_entropy_gradient,
    probes=(
        {"z": torch.tensor([[0.0, -200.0, 1.0], [2.0, 1.0, -300.0], [0.5, 1.5, 0.0]])},
        {"z": torch.tensor([[1000.0, 1001.0], [-1000.0, -1001.0], [3.0, 1.0]])},
    ),
    parts=("gradient",),
    facts=_entropy_facts,
    tolerance=NanAlike(relative=1e-4, absolute=1e-4),
    praise="It sums to 0 in every row, and it vanishes where all weights are alike and at a "
    "vertex: the entropy does not move a saturated row either. log-softmax keeps it finite.",
    mistakes=(
        Mistake(
            "0 times the logarithm of 0",
            _by_log_of_p,
            "Right while all weights are above 0, but the row {row} gave {gave}: a weight so small "
            "is rounded to 0, its logarithm is −∞, and 0·(−∞) is NaN. `torch.log_softmax` gives "
            "log p from z itself: about −200 there, and 0·(−200) is 0.",
        ),
        Mistake(
            "log-sum-exp without the maximum",
            _by_exponentials,
            "Right for small scores, but the row {row} gave {gave}: exp overflows in float32 above "
            "88.7. Subtract the row's maximum, or use `torch.log_softmax`.",
        ),
    ),
)


def check_entropy_gradient(entropy_gradient: Any) -> Verdict:
    """Judge ``entropy_gradient(z)``: the gradient of H(softmax(z)) by z, row by row, in nats.

    H = −Σ p log p with p = softmax(z) over the last axis. In two stages: scores near each other,
    then scores so far apart that weights round to 0.

    >>> check_entropy_gradient(...).started
    False
    """
    return check_in_turn(entropy_gradient, ENTROPY_GRADIENT, ENTROPY_RANGE)

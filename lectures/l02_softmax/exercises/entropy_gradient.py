"""Exercise 2 of lecture 02: the gradient of the entropy of a softmax by its scores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch

from course_utils.teaching.exercise import Exercise
from course_utils.teaching.outcomes import NanAlike, Tolerance
from course_utils.teaching.rows import row_in_words, row_index, wave
from course_utils.teaching.watched import CallsWatched


def _entropy(z):
    """H in nats, as a column."""
    log_p = torch.log_softmax(z, dim=-1)
    return -(log_p.exp() * log_p).sum(dim=-1, keepdim=True)


def _from_parts(gradient_of):
    """A gradient from p, log p and H, all of the right values."""

    def entropy_gradient(z):
        log_p = torch.log_softmax(z, dim=-1)
        return gradient_of(log_p.exp(), log_p, _entropy(z))

    return entropy_gradient


_entropy_gradient = _from_parts(lambda p, log_p, H: -p * (log_p + H))


def _facts(inputs: Mapping[str, Any], got: Any) -> dict[str, Any]:
    """The row that came out worst, its entropy, and what was given."""
    z = inputs["z"]
    expected = _entropy_gradient(z)
    alike = isinstance(got, torch.Tensor) and got.shape == z.shape
    row = row_index(got, expected) if alike else (0,) * (z.ndim - 1)
    facts = {"row": row_in_words(z[row]), "H": float(_entropy(z)[row])}
    if alike:
        facts |= {"gave": row_in_words(got[row]), "row_sum": float(got[row].sum())}
    return facts


ENTROPY_GRADIENT = Exercise(
    title="The gradient of the entropy",
    difficulty=3,
    minutes=12,
    function="entropy_gradient",
    reference=_entropy_gradient,
    probes=(
        {"z": wave(5, 7, phase=0.6)},
        {"z": 1.5 * wave(2, 3, 5, phase=1.9)},
        {"z": torch.tensor([0.5, 2.0, -1.0])},
    ),
    parts=("gradient",),
    facts=_facts,
    tolerance=NanAlike(relative=1e-4, absolute=2e-6),
    praise="Scores that are not far apart give the right gradient.",
    written=_from_parts,
)


@ENTROPY_GRADIENT.mistake()
def by_the_weights_instead_of_the_scores(p, log_p, H):
    """You return −(log p + 1), the derivative by p. Asked for is the one by z: carry it back
    through the softmax, by the formula of section 2.
    """
    return -(log_p + 1)


@ENTROPY_GRADIENT.mistake()
def the_derivative_by_p_times_p(p, log_p, H):
    """You multiply −(log p + 1) by p, the diagonal part of J alone. Then the row {row} has a
    gradient that sums to {row_sum}. A shift of all scores changes nothing, so the sum is 0:
    section 2's average, p·u, is missing.
    """
    return -p * (log_p + 1)


@ENTROPY_GRADIENT.mistake()
def the_other_sign(p, log_p, H):
    """Your gradient has the other sign: the row {row} gave {gave}. Raising the largest score makes
    the weights more unequal, so the entropy falls: its entry is negative.
    """
    return p * (log_p + H)


@ENTROPY_GRADIENT.mistake()
def no_H(p, log_p, H):
    """You return −p·log p, the terms whose sum is the entropy: the row {row} sums to {row_sum} = H.
    A gradient by scores sums to 0: inside the bracket H is missing.
    """
    return -p * log_p


@ENTROPY_GRADIENT.mistake()
def H_without_its_minus(p, log_p, H):
    """You subtract H = {H} in the bracket: the row {row} gave {gave}, which sums to {row_sum}
    instead of 0. H = −Σ p·log p has a minus of its own, and log p + H it is.
    """
    return -p * (log_p - H)


@ENTROPY_GRADIENT.mistake()
def the_entropy_itself(p, log_p, H):
    """You return the entropy, one number a row. Its gradient has an entry for every score, the
    shape of z.
    """
    return H.squeeze(-1)


@ENTROPY_GRADIENT.mistake()
def one_entropy_for_all_rows(p, log_p, H):
    """You take one H for all rows: `.sum()` without an axis adds all of −p·log p. Each row has its
    own; that of {row} is {H}. `sum(dim=-1, keepdim=True)`.
    """
    return -p * (log_p + H.sum())


@ENTROPY_GRADIENT.mistake()
def axis_dropped(p, log_p, H):
    """The sum over the last axis drops it: (5, 7) becomes (5,), and torch lines the 5 up with the 7
    columns. `keepdim=True` keeps a column (5, 1).
    """
    return -p * (log_p + H.squeeze(-1))


FAR_APART = ENTROPY_GRADIENT.stage(
    probes=(
        {"z": torch.tensor([[0.0, -200.0, 1.0], [2.0, 1.0, -300.0], [0.5, 1.5, 0.0]])},
        {"z": torch.tensor([[1000.0, 1001.0], [-1000.0, -1001.0], [3.0, 1.0]])},
    ),
    tolerance=NanAlike(relative=1e-4, absolute=1e-4),
    praise="It is right for scores that are far apart, too.",
    written=lambda answer: answer,
)


@FAR_APART.mistake()
def zero_times_the_logarithm_of_zero(z):
    """Right while all weights are above 0, but the row {row} gave {gave}: a weight so small is
    rounded to 0, its logarithm is −∞, and 0·(−∞) is NaN. `torch.log_softmax` gives log p from z
    itself: about −200 there, and 0·(−200) is 0.
    """
    p = torch.softmax(z, dim=-1)
    H = -(p * p.log()).sum(dim=-1, keepdim=True)
    return -p * (p.log() + H)


@FAR_APART.mistake()
def log_sum_exp_without_the_maximum(z):
    """Right for small scores, but the row {row} gave {gave}: exp overflows in float32 above 88.7.
    Subtract the row's maximum, or use `torch.log_softmax`.
    """
    log_p = z - torch.exp(z).sum(dim=-1, keepdim=True).log()
    p = log_p.exp()
    return -p * (log_p - (p * log_p).sum(dim=-1, keepdim=True))


BY_FORMULA = ENTROPY_GRADIENT.stage(
    probes=({"z": wave(2, 5, phase=0.9)},),
    parts=("gradient", "call"),
    tolerance=Tolerance(),
    watch=partial(CallsWatched, names=("backward", "grad")),
    praise="It sums to 0 in every row, and it vanishes where all weights are equal and at a "
    "vertex: the entropy does not move a saturated row either. log-softmax keeps it finite.",
    written=lambda answer: answer,
)


@BY_FORMULA.mistake()
def by_autograd(z):
    """The numbers are right, and autograd found them. Asked for is the formula: put
    ∂H/∂p = −(log p + 1) in place of u into the formula of section 2.
    """
    z = z.detach().requires_grad_()
    _entropy(z).sum().backward()
    return z.grad

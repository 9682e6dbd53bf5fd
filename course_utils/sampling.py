"""From logits to the probabilities of the next token: temperature, top-k and top-p.

Each function takes logits (..., V), adjusts how peaked the distribution is, and returns
probabilities (..., V) that sum to 1. ``torch.multinomial`` draws a token from them.

Of equal logits, the one with the lower token id comes first. A sum counts as p if it is at most a
millionth part smaller: rounding may lose that much. -inf rules a token out. NaN, infinity, or
nothing but -inf is an error at every temperature: no token could be called the most probable.
"""

import torch
from torch import Tensor

from course_utils.checks import check_finite, check_int
from course_utils.shapes import Float

__all__ = [
    "next_token_probabilities",
    "with_temperature",
    "with_top_k",
    "with_top_p",
]

ROUNDING = 1e-6


def with_temperature(
    logits: Float[Tensor, "*batch V"], temperature: float | int
) -> Float[Tensor, "*batch V"]:
    """Return ``softmax(logits / temperature)``: below 1 sharper, above 1 flatter.

    Temperature 0 is greedy: the largest logit, or the first of several, gets all the probability.
    Attention divides its scores by sqrt(d_k): that is a temperature, too.

    Args:
        logits: one for each token of the vocabulary.
        temperature: 0 or more.

    Raises:
        TypeError, ValueError: if temperature is not a finite number of at least 0, or a row of the
            logits has no finite maximum.

    Source: Ackley, Hinton, Sejnowski, "A learning algorithm for Boltzmann machines", 1985.

    >>> with_temperature(torch.tensor([2.0, 1.0, 2.0]), 0).tolist()
    [1.0, 0.0, 0.0]
    """
    return _softmax(logits, _check_temperature(temperature)).to(logits.dtype)


def with_top_k(logits: Float[Tensor, "*batch V"], k: int) -> Float[Tensor, "*batch V"]:
    """Return the softmax over the ``k`` largest logits, and 0 for the others.

    Exactly k tokens are kept, even if that separates equal logits. With k = V or more it is the
    plain softmax.

    Args:
        logits: one for each token of the vocabulary.
        k: number of tokens to keep, 1 or more.

    Raises:
        TypeError, ValueError: if k is not an integer of at least 1, or a row of the logits has no
            finite maximum.

    Source: Fan, Lewis, Dauphin, "Hierarchical neural story generation", 2018, section 5.4.

    >>> with_top_k(torch.tensor([1.0, 3.0, 3.0, 3.0]), 2).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    return _top_k(_softmax(logits), logits, check_int("k", k)).to(logits.dtype)


def with_top_p(logits: Float[Tensor, "*batch V"], p: float | int) -> Float[Tensor, "*batch V"]:
    """Return the softmax over the fewest most probable tokens that together reach ``p``.

    A peaked distribution keeps few tokens, a flat one many. The most probable token is always kept,
    and p = 1 cuts nothing.

    Args:
        logits: one for each token of the vocabulary.
        p: share of the probability to keep, above 0, at most 1.

    Raises:
        TypeError, ValueError: if p is not a number above 0 and at most 1, or a row of the logits
            has no finite maximum.

    Source: Holtzman et al., "The curious case of neural text degeneration", 2019, section 3.1.

    >>> even = torch.zeros(4)
    >>> with_top_p(even, 0.5).tolist(), with_top_p(even, 0.51).count_nonzero().item()
    ([0.5, 0.5, 0.0, 0.0], 3)
    """
    return _nucleus(_softmax(logits), _check_p(p)).to(logits.dtype)


def next_token_probabilities(
    logits: Float[Tensor, "*batch V"],
    *,
    temperature: float | int = 1.0,
    k: int | None = None,
    p: float | int | None = None,
) -> Float[Tensor, "*batch V"]:
    """Apply temperature, then top-k, then top-p, each to what the step before kept.

    So p is a share of what temperature and k keep, not of the model's own probabilities.

    Args:
        logits: one for each token of the vocabulary.
        temperature: as in ``with_temperature``.
        k: as in ``with_top_k``; None keeps every token.
        p: as in ``with_top_p``; None keeps every token.

    Raises:
        TypeError, ValueError: as the three functions do.

    Source: the order of the generation code of Hugging Face's ``transformers``.

    >>> logits = torch.tensor([0.5, 0.25, 0.125, 0.125]).log()
    >>> next_token_probabilities(logits, k=3, p=0.8)
    tensor([0.6667, 0.3333, 0.0000, 0.0000])
    """
    probabilities = _softmax(logits, _check_temperature(temperature))
    if k is not None:
        probabilities = _top_k(probabilities, logits, check_int("k", k))
    if p is not None:
        probabilities = _nucleus(probabilities, _check_p(p))
    return probabilities.to(logits.dtype)


def _check_temperature(temperature: float | int) -> float:
    __tracebackhide__ = True
    if check_finite("temperature", temperature) < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}")
    return float(temperature)


def _check_p(p: float | int) -> float:
    __tracebackhide__ = True
    if not 0 < check_finite("p", p) <= 1:
        raise ValueError(f"p must be above 0 and at most 1, got {p}")
    return float(p)


# The functions below compute in float64, so that probabilities are rounded once, at the end; in
# float32 on Apple's GPUs, which have nothing wider.


def _softmax(logits: Tensor, temperature: float = 1.0) -> Tensor:
    __tracebackhide__ = True
    logits = logits.float() if logits.device.type == "mps" else logits.double()
    largest = logits.amax(dim=-1, keepdim=True)
    if not bool(largest.isfinite().all()):
        wrong = largest[~largest.isfinite()][0].item()
        raise ValueError(f"logits must have a finite maximum in each row, got {wrong}")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(dim=-1, keepdim=True), 1.0)
    # The largest is shifted to 0 first, so that no division by a small temperature overflows.
    temperature = max(temperature, torch.finfo(logits.dtype).tiny)  # 0 / 0 would be NaN
    return ((logits - largest) / temperature).softmax(dim=-1)


def _top_k(probabilities: Tensor, logits: Tensor, k: int) -> Tensor:
    # Ranked by the logits: several probabilities may underflow to the same 0.
    return _only(probabilities, _rank(logits) < k)


def _nucleus(probabilities: Tensor, p: float) -> Tensor:
    if p == 1:  # a token of probability 0 is one of them, too
        return probabilities
    rank = _rank(probabilities)
    largest_first = probabilities.gather(-1, rank.argsort(dim=-1))
    before = largest_first.cumsum(dim=-1) - largest_first
    return _only(probabilities, (before < p * (1 - ROUNDING)).gather(-1, rank))


def _rank(values: Tensor) -> Tensor:
    """Place of each entry on the last axis, from 0 for the largest; the first of equals wins."""
    order = values.argsort(dim=-1, descending=True, stable=True)
    return order.argsort(dim=-1)


def _only(probabilities: Tensor, kept: Tensor) -> Tensor:
    left = probabilities.masked_fill(~kept, 0.0)
    return left / left.sum(dim=-1, keepdim=True)

"""From logits to the probabilities of the next token: temperature, top-k and top-p.

Each function takes logits (..., V), turns the same knob by another handle, and returns
probabilities (..., V) that sum to 1. ``torch.multinomial`` draws a token from them.

Of equal logits the one with the lower token id goes first, everywhere. A sum reaches p when it
falls short of it by less than a millionth part: that much may be lost in rounding.
"""

import torch
from torch import Tensor

from course_utils.checks import check_finite, check_int, check_values
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

    Temperature 0 is greedy: all probability on the largest logit, on the first of several. (As a
    positive temperature falls to 0, equal largest logits share it instead.) Attention scores that
    are divided by sqrt(d_k) are softened by temperature sqrt(d_k).

    Args:
        logits: finite numbers, one for each token of the vocabulary.
        temperature: 0 or more.

    Raises:
        TypeError: if logits is not a floating-point tensor, or temperature not a real number.
        ValueError: if one of them is not finite, the vocabulary is empty, or temperature negative.

    Source: Ackley, Hinton, Sejnowski, "A learning algorithm for Boltzmann machines", 1985.

    >>> with_temperature(torch.tensor([2.0, 1.0, 2.0]), 0).tolist()
    [1.0, 0.0, 0.0]
    """
    check_values("logits", logits, "V", exactly=False)
    temperature = _check_temperature(temperature)
    return _softmax(logits, temperature).to(logits.dtype)


def with_top_k(logits: Float[Tensor, "*batch V"], k: int) -> Float[Tensor, "*batch V"]:
    """Return the softmax over the ``k`` largest logits, and 0 for the others.

    Exactly k tokens are kept, also where the border runs between equal logits. With k = V or more
    nothing is cut: it is the plain softmax.

    Args:
        logits: finite numbers, one for each token of the vocabulary.
        k: number of tokens to keep, 1 or more.

    Raises:
        TypeError: if logits is not a floating-point tensor, or k not an integer.
        ValueError: if a logit is not finite, the vocabulary is empty, or k below 1.

    Source: Fan, Lewis, Dauphin, "Hierarchical neural story generation", 2018, section 5.4.

    >>> with_top_k(torch.tensor([1.0, 3.0, 3.0, 3.0]), 2).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    check_values("logits", logits, "V", exactly=False)
    return _top_k(_softmax(logits), logits, check_int("k", k)).to(logits.dtype)


def with_top_p(logits: Float[Tensor, "*batch V"], p: float | int) -> Float[Tensor, "*batch V"]:
    """Return the softmax over the fewest most probable tokens that together reach ``p``.

    Where the probabilities are sharp few are kept, where they are flat many. The most probable
    token is always kept, and p = 1 cuts nothing.

    Args:
        logits: finite numbers, one for each token of the vocabulary.
        p: share of the probability to keep, above 0, at most 1.

    Raises:
        TypeError: if logits is not a floating-point tensor, or p not a real number.
        ValueError: if a logit is not finite, the vocabulary is empty, or p not above 0 and at
            most 1.

    Source: Holtzman et al., "The curious case of neural text degeneration", 2019, section 3.1.

    >>> even = torch.zeros(4)
    >>> with_top_p(even, 0.5).tolist(), with_top_p(even, 0.51).count_nonzero().item()
    ([0.5, 0.5, 0.0, 0.0], 3)
    """
    check_values("logits", logits, "V", exactly=False)
    return _nucleus(_softmax(logits), _check_p(p)).to(logits.dtype)


def next_token_probabilities(
    logits: Float[Tensor, "*batch V"],
    *,
    temperature: float | int = 1.0,
    k: int | None = None,
    p: float | int | None = None,
) -> Float[Tensor, "*batch V"]:
    """Apply temperature, then top-k, then top-p, each to what the one before has left.

    So p is a share of what temperature and k leave, not of the model's own probabilities.

    Args:
        logits: finite numbers, one for each token of the vocabulary.
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
    check_values("logits", logits, "V", exactly=False)
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


# What follows computes in float64, so that probabilities are rounded once, at the end.


def _softmax(logits: Tensor, temperature: float = 1.0) -> Tensor:
    logits = logits.double()
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(dim=-1, keepdim=True), 1.0)
    # Shifted first, the largest is 0 at every temperature: nothing overflows to infinity.
    shifted = logits - logits.amax(dim=-1, keepdim=True)
    return (shifted / temperature).softmax(dim=-1)


def _top_k(probabilities: Tensor, logits: Tensor, k: int) -> Tensor:
    # Ranked by the logits: of them fewer are equal than of probabilities that underflow to 0.
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

"""Why leave coordinates out: random directions are nearly orthogonal, and noise adds up.

**Near-orthogonality.** The cosine of two random directions in d dimensions has mean 0 and variance
exactly 1/d. So there is room for many directions that hardly disturb each other.

**Signal to noise.** A query q has to recognise its key. In k of d coordinates the key repeats the
query, ``key_i = q_i``; the other d - k are independent of it, with the same energy per coordinate.
Two ratios say how well it goes, and they are not the same:

- *In energy* (power), of one vector's signal part to its noise part: ``k / (d - k)``.
- *In amplitude*, of what the score ``q · key`` is made of: the signal part has mean k, the noise
  part mean 0 and standard deviation ``sqrt(d - k)``. Their ratio is ``k / sqrt(d - k)``. It is what
  decides whether the key is found: noise that points everywhere partly cancels in a sum.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from course_utils.attention import unit_vectors
from course_utils.checks import check_generator, check_int, check_values
from course_utils.measure.estimates import Interval, estimate_mean
from course_utils.shapes import Float

__all__ = [
    "SignalNoise",
    "cosine_variance",
    "largest_cosine",
    "measure_signal_noise",
    "score_ratio",
    "share_found",
    "vector_energy_ratio",
]


def vector_energy_ratio(signal: int, width: int) -> float:
    """Return signal energy to noise energy of a vector: ``k / (d - k)``.

    Args:
        signal: coordinates that carry signal, k.
        width: all coordinates, d; more than k.

    Raises:
        TypeError, ValueError: if they are no positive integers, or k is not below d.

    >>> vector_energy_ratio(16, 80), vector_energy_ratio(16, 272)
    (0.25, 0.0625)
    """
    signal, width = _check_sizes(signal, width)
    return signal / (width - signal)


def score_ratio(signal: int, width: int) -> float:
    """Return mean signal to the noise's standard deviation in ``q · key``: ``k / sqrt(d - k)``.

    Args:
        signal: coordinates that carry signal, k.
        width: all coordinates, d; more than k.

    Raises:
        TypeError, ValueError: if they are no positive integers, or k is not below d.

    >>> score_ratio(16, 80), score_ratio(16, 272)  # four times the noise halves it
    (2.0, 1.0)
    """
    signal, width = _check_sizes(signal, width)
    return signal / math.sqrt(width - signal)


class SignalNoise(NamedTuple):
    """What was measured, each with its 99 % confidence interval where it is a mean.

    Attributes:
        vector_energy: energy of the key's signal part, over that of its noise part.
        score_signal: the signal part of ``q · key``.
        score_noise: the noise part of ``q · key``.
        score_ratio: mean of the signal part over the standard deviation of the noise part.
    """

    vector_energy: float
    score_signal: Interval
    score_noise: Interval
    score_ratio: float


def measure_signal_noise(
    signal: int, width: int, generator: torch.Generator, *, samples: int = 4000
) -> SignalNoise:
    """Draw pairs of a query and its key, standard normal, and measure both ratios.

    Args:
        signal: coordinates in which the key repeats the query, k.
        width: all coordinates, d; more than k.
        generator: where the random numbers come from.
        samples: pairs to draw.

    Raises:
        TypeError: if a number is not an integer, or generator is no torch.Generator.
        ValueError: if k is not below d, or there are fewer than two samples.

    >>> measured = measure_signal_noise(16, 80, torch.Generator().manual_seed(0))
    >>> 16.0 in measured.score_signal, 0.0 in measured.score_noise
    (True, True)
    >>> round(measured.vector_energy, 2), round(measured.score_ratio, 1)
    (0.25, 2.0)
    """
    signal, width = _check_sizes(signal, width)
    check_generator("generator", generator)
    samples = check_int("samples", samples, minimum=2)
    q, noise = torch.randn(2, samples, width, generator=generator)
    key = torch.cat((q[:, :signal], noise[:, signal:]), dim=1)
    products, energy = q * key, key.square()
    of_signal, of_noise = products[:, :signal].sum(dim=1), products[:, signal:].sum(dim=1)
    return SignalNoise(
        vector_energy=(energy[:, :signal].sum() / energy[:, signal:].sum()).item(),
        score_signal=estimate_mean(of_signal),
        score_noise=estimate_mean(of_noise),
        score_ratio=(of_signal.mean() / of_noise.std()).item(),
    )


def share_found(
    signal: int, width: int, generator: torch.Generator, *, keys: int = 64, samples: int = 1000
) -> float:
    """Return how often a query scores its own key above all others, 0 to 1.

    Its own repeats it in k coordinates, as above; the others are independent of it throughout.

    Args:
        signal: coordinates in which its own key repeats the query, k.
        width: all coordinates, d; at least k. With d = k no coordinate is irrelevant.
        generator: where the random numbers come from.
        keys: number of keys, its own included.
        samples: queries to draw.

    Raises:
        TypeError: if a number is not an integer, or generator is no torch.Generator.
        ValueError: if a number is not positive, there is one key alone, or k is above d.

    >>> share_found(16, 16, torch.Generator().manual_seed(0)) > 0.9
    True
    >>> share_found(16, 1024, torch.Generator().manual_seed(0)) < 0.2
    True
    """
    signal, width = check_int("signal", signal), check_int("width", width)
    if signal > width:
        raise ValueError(f"width must be at least signal ({signal}), got {width}")
    check_generator("generator", generator)
    keys, samples = check_int("keys", keys, minimum=2), check_int("samples", samples)
    q, noise = torch.randn(2, samples, width, generator=generator)
    own = torch.cat((q[:, :signal], noise[:, signal:]), dim=1)
    others = torch.randn(keys - 1, width, generator=generator)
    best_other = (q @ others.T).amax(dim=1)
    return ((q * own).sum(dim=1) > best_other).float().mean().item()


def cosine_variance(width: int, generator: torch.Generator, *, samples: int = 4000) -> Interval:
    """Return the variance of the cosine of two random directions; the formula is ``1 / d``.

    It is the mean of the squared cosine, since the mean cosine is 0 by symmetry.

    Args:
        width: number of coordinates, d.
        generator: where the random numbers come from.
        samples: pairs to draw.

    Raises:
        TypeError: if a number is not an integer, or generator is no torch.Generator.
        ValueError: if the width is not positive, or there are fewer than two samples.

    Source: Vershynin, "High-dimensional probability", 2018, section 3.2.

    >>> 1 / 64 in cosine_variance(64, torch.Generator().manual_seed(0))
    True
    """
    width, samples = check_int("width", width), check_int("samples", samples, minimum=2)
    check_generator("generator", generator)
    u, v = unit_vectors(torch.randn(2, samples, width, generator=generator))
    return estimate_mean((u * v).sum(dim=1).square())


def largest_cosine(vectors: Float[Tensor, "n C"]) -> float:
    """Return the largest ``|cos|`` between any two of the vectors: 0 if all are orthogonal.

    Args:
        vectors: two or more, none of them zero.

    Raises:
        TypeError: if vectors is no floating-point tensor.
        ValueError: if it has not two axes, fewer than two rows, a zero row, or a number that is
            NaN or infinite.

    >>> round(largest_cosine(torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])), 3)
    0.707
    """
    check_values("vectors", vectors, "n C")
    if len(vectors) < 2:
        raise ValueError(f"vectors must be at least 2, got {len(vectors)}")
    if bool((vectors == 0).all(dim=1).any()):
        raise ValueError("vectors must each have a direction, got a zero row")
    unit = unit_vectors(vectors)
    cosines = (unit @ unit.T).abs().fill_diagonal_(0)
    return cosines.max().item()


def _check_sizes(signal: int, width: int) -> tuple[int, int]:
    __tracebackhide__ = True
    signal, width = check_int("signal", signal), check_int("width", width)
    if signal >= width:
        raise ValueError(f"width must be above signal ({signal}), got {width}")
    return signal, width

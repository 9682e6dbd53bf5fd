"""Kernel regression as attention: what changes when the query carries the bandwidth.

Nadaraya and Watson estimate y at x by a mean of the data, weighted by nearness:

    y(x) = sum_i w_i y_i,    w = softmax(-(x - x_i)^2 / (2 h^2))

The exponent is -x^2/(2h^2) + (x x_i - x_i^2/2) / h^2. Its first term is the same for every i and
cancels in the softmax, so the estimate is dot-product attention with

    q(x) = (x, 1) / h^2,    k_i = (x_i, -x_i^2 / 2),    v_i = y_i

A static kernel has one h for every x. Attention computes the query from the input, so 1/h^2 may
depend on x: here p(x) = exp(a + b z + c z^2), z = 2x - 1, learned from the data.

Sources: Nadaraya (1964), Watson (1964); Bahdanau et al. (2015) for attention as a learned mean.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.attention import attend
from course_utils.checks import check_finite, check_like, check_seed, check_sequence, check_values
from course_utils.shapes import Float
from course_utils.threads import one_thread

POINTS = 150
NOISE = 0.4
CALM_PART = 0.7
WAVES_PER_UNIT = 10
STEPS = 200
LEARNING_RATE = 0.1
BANDWIDTHS = (0.004, 0.006, 0.008, 0.01, 0.013, 0.016, 0.02, 0.03, 0.05, 0.08, 0.13, 0.2)


@dataclass(frozen=True)
class RegressionData:
    """Noisy points (x, y), and the curve they came from on a grid."""

    x: Tensor
    y: Tensor
    grid: Tensor
    truth: Tensor


def true_curve(x: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Flat up to x = 0.7, then three quick waves: no single bandwidth suits both parts.

    Raises:
        TypeError, ValueError: when `x` does not hold finite floating-point numbers on one axis.

    >>> [round(value, 2) for value in true_curve(torch.tensor([0.2, 0.725])).tolist()]
    [0.0, 1.0]
    """
    check_values("x", x, "N")
    waves = torch.sin(2 * math.pi * WAVES_PER_UNIT * (x - CALM_PART))
    return torch.where(x < CALM_PART, torch.zeros_like(x), waves)


def regression_data(seed: int = 1) -> RegressionData:
    """150 points at random places, with normal noise of standard deviation 0.4.

    They are kept and shared: do not change them in place.

    Raises:
        TypeError, ValueError: when `seed` is not an integer of at least 0.

    >>> data = regression_data()
    >>> data.x.shape, data.grid.shape
    (torch.Size([150]), torch.Size([201]))
    """
    return _regression_data(check_seed(seed))


@lru_cache(maxsize=16)
def _regression_data(seed: int) -> RegressionData:
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(POINTS, generator=generator).sort().values
    y = true_curve(x) + NOISE * torch.randn(POINTS, generator=generator)
    grid = torch.linspace(0, 1, 201)
    return RegressionData(x, y, grid, true_curve(grid))


def precision_features(x: Float[Tensor, " N"]) -> Float[Tensor, "N 3"]:
    """(1, z, z^2) with z = 2x - 1: what the query may know about where it stands.

    Raises:
        TypeError, ValueError: when `x` does not hold finite floating-point numbers on one axis.

    >>> precision_features(torch.tensor([0.0, 1.0])).tolist()
    [[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    check_values("x", x, "N")
    z = 2 * x - 1
    return torch.stack([torch.ones_like(z), z, z**2], dim=-1)


def queries(x: Float[Tensor, " T"], precision: Float[Tensor, " T"]) -> Float[Tensor, "T 2"]:
    """q(x) = p(x) (x, 1), with the precision p = 1/h^2.

    Raises:
        TypeError, ValueError: when one does not hold finite floating-point numbers on one axis,
            or `precision` is not positive with one value for each x.

    >>> queries(torch.tensor([0.5]), torch.tensor([3.0])).tolist()
    [[1.5, 3.0]]
    """
    _check_precision(precision, "x", x)
    _check_scores_fit("precision and x", precision, x)
    return _queries(x, precision)


def _queries(x: Tensor, precision: Tensor) -> Tensor:
    return precision[:, None] * torch.stack([x, torch.ones_like(x)], dim=-1)


def keys(x: Float[Tensor, " S"]) -> Float[Tensor, "S 2"]:
    """k_i = (x_i, -x_i^2 / 2).

    Raises:
        TypeError, ValueError: when `x` does not hold finite floating-point numbers on one axis.

    >>> keys(torch.tensor([1.0])).tolist()
    [[1.0, -0.5]]
    """
    check_values("x", x, "S")
    _check_scores_fit("x", x, x)
    return _keys(x)


def _keys(x: Tensor) -> Tensor:
    return torch.stack([x, -(x**2) / 2], dim=-1)


def kernel_estimate(
    at: Float[Tensor, " T"],
    precision: Float[Tensor, " T"],
    x: Float[Tensor, " S"],
    y: Float[Tensor, " S"],
) -> tuple[Float[Tensor, " T"], Float[Tensor, "T S"]]:
    """The estimate at each point, and the weights it gives the data: one call of `attend`.

    Raises:
        TypeError: when an argument is not a floating-point tensor, or their dtypes differ.
        ValueError: when one is empty, not finite or has not one axis; when `precision` is not
            positive, or has not one value for each point; when there is not one y for each x; or
            when the scores would be too large for the dtype.

    >>> at, x = torch.tensor([0.0]), torch.tensor([0.0, 1.0])
    >>> estimate, weights = kernel_estimate(at, torch.tensor([2.0]), x, x)
    >>> torch.allclose(weights[0], torch.softmax(torch.tensor([0.0, -1.0]), dim=0))
    True
    """
    _check_regression(at, precision, x, y)
    out, weights = attend(_queries(at, precision), _keys(x), y[:, None], scale=1.0)
    return out[:, 0], weights


def _check_regression(at: Tensor, precision: Tensor, x: Tensor, y: Tensor) -> None:
    _check_precision(precision, "at", at)
    for name, tensor in (("x", x), ("y", y)):
        check_values(name, tensor, "S")
        check_like(name, tensor, "at", at)
    _check_one_each("y", y, "x", x)
    # It holds for the queries and for the keys alone, too: no factor counts as less than 1.
    _check_scores_fit("at, precision and x", at, precision, x, x)


def _check_precision(precision: Tensor, other_name: str, other: Tensor) -> None:
    check_values(other_name, other, "T")
    check_values("precision", precision, "T")
    check_like("precision", precision, other_name, other)
    _check_one_each("precision", precision, other_name, other)
    if not bool((precision > 0).all()):
        raise ValueError(f"precision must be positive; got {precision.min().item():.3g}")


def _check_scores_fit(names: str, *factors: Tensor) -> None:
    """Check that a product of these is a finite number of their dtype."""
    dtype = factors[0].dtype
    size = math.prod(max(1.0, factor.abs().max().item()) for factor in factors)
    # Half of the largest number: a score is a sum of two products.
    if size > torch.finfo(dtype).max / 2:
        raise ValueError(f"{names} must leave the scores finite in {dtype}; got {size:.3g}")


def _check_one_each(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    if tensor.shape != other.shape:
        raise ValueError(
            f"{name} must have one value for each of {other_name}, shape {tuple(other.shape)}; "
            f"got {tuple(tensor.shape)}"
        )


def static_precision(at: Float[Tensor, " T"], bandwidth: float) -> Float[Tensor, " T"]:
    """1/h^2, the same everywhere.

    Raises:
        TypeError: when `at` is not a floating-point tensor, or `bandwidth` no number.
        ValueError: when `at` is not finite or has not one axis; when `bandwidth` is not positive
            and finite, or its square too small or too large for the dtype.

    >>> static_precision(torch.tensor([0.0, 1.0]), 0.5).tolist()
    [4.0, 4.0]
    """
    if check_finite("bandwidth", bandwidth) <= 0:
        raise ValueError(f"bandwidth must be positive; got {bandwidth}")
    check_values("at", at, "T")
    smallest = torch.finfo(at.dtype).tiny
    if not smallest <= bandwidth * bandwidth <= 1 / smallest:
        raise ValueError(
            f"bandwidth must have a square that {at.dtype} can invert; got {bandwidth:.3g}"
        )
    return torch.full_like(at, bandwidth**-2)


def learned_coefficients(seed: int = 1) -> Tensor:
    """(a, b, c) of log p(x), from 200 steps of Adam on the leave-one-out error.

    A point may not read itself while training: otherwise the narrowest kernel always wins.

    Raises:
        TypeError, ValueError: when `seed` is not an integer of at least 0.

    >>> learned_coefficients().shape
    torch.Size([3])
    """
    # A copy: the caller may change it, the kept one must stay.
    return _learned_coefficients(check_seed(seed)).clone()


@lru_cache(maxsize=16)
def _learned_coefficients(seed: int) -> Tensor:
    data = regression_data(seed)
    features, k, v = precision_features(data.x), _keys(data.x), data.y[:, None]
    others = ~torch.eye(POINTS, dtype=torch.bool)
    coefficients = torch.tensor([6.0, 0.0, 0.0], requires_grad=True)
    optimizer = torch.optim.Adam([coefficients], lr=LEARNING_RATE)
    with one_thread():
        for _ in range(STEPS):
            q = _queries(data.x, torch.exp(features @ coefficients))
            guess, _ = attend(q, k, v, may_attend=others, scale=1.0)
            loss = (guess[:, 0] - data.y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return coefficients.detach()


def learned_precision(
    at: Float[Tensor, " T"], seed: int = 1, temperature: float = 1.0
) -> Float[Tensor, " T"]:
    """p(x) / temperature: the bandwidth that the query chose at each place, squared and inverted.

    Raises:
        TypeError: when `at` is not a floating-point tensor, or another argument no number.
        ValueError: when `at` is not finite or has not one axis; when `temperature` is not
            positive and finite, `seed` is negative, or a precision leaves the dtype's range.

    >>> calm, waves = learned_precision(torch.tensor([0.3, 0.85])).rsqrt()
    >>> bool(calm > 2 * waves)
    True
    """
    if check_finite("temperature", temperature) <= 0:
        raise ValueError(f"temperature must be positive; got {temperature}")
    check_values("at", at, "T")
    precision = torch.exp(precision_features(at) @ learned_coefficients(seed).to(at)) / temperature
    if not bool(((precision > 0) & precision.isfinite()).all()):
        raise ValueError(
            f"at and temperature must give a positive finite precision; "
            f"got at up to {at.abs().max().item():.3g}, temperature {temperature:.3g}"
        )
    return precision


def compare_on_data_sets(
    seeds: Iterable[int], bandwidths: Sequence[float] = BANDWIDTHS
) -> tuple[Float[Tensor, " K"], Float[Tensor, " K"]]:
    """Mean squared errors against the true curve: the best static bandwidth, and attention.

    For each data set the static kernel gets, of `bandwidths`, the one that is best *knowing the
    truth*, which no one has in practice. Attention learns from the noisy points alone.

    Raises:
        TypeError: when one is not a sequence of numbers.
        ValueError: when there is no seed or no bandwidth, or one that is not allowed.

    >>> static, attention = compare_on_data_sets([1], bandwidths=[0.016, 0.03])
    >>> bool(attention[0] < static[0])
    True
    """
    seeds = check_sequence("seeds", seeds)
    bandwidths = check_sequence("bandwidths", bandwidths)
    errors = []
    for seed in seeds:
        data = regression_data(seed)
        every = [static_precision(data.grid, bandwidth) for bandwidth in bandwidths]
        static = min(_error(precision, data) for precision in every)
        errors.append((static, _error(learned_precision(data.grid, seed), data)))
    static, attention = torch.tensor(errors).T
    return static, attention


def _error(precision: Float[Tensor, " T"], data: RegressionData) -> float:
    curve, _ = kernel_estimate(data.grid, precision, data.x, data.y)
    return float((curve - data.truth).square().mean())

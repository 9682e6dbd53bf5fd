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
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.attention import attend
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
    """Flat up to x = 0.7, then three quick waves: no single bandwidth suits both parts."""
    waves = torch.sin(2 * math.pi * WAVES_PER_UNIT * (x - CALM_PART))
    return torch.where(x < CALM_PART, torch.zeros_like(x), waves)


@lru_cache(maxsize=16)
def regression_data(seed: int = 1, noise: float = NOISE) -> RegressionData:
    """150 points at random places, with normal noise of standard deviation 0.4 or another."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(POINTS, generator=generator).sort().values
    y = true_curve(x) + noise * torch.randn(POINTS, generator=generator)
    grid = torch.linspace(0, 1, 201)
    return RegressionData(x, y, grid, true_curve(grid))


def queries(x: Float[Tensor, " T"], precision: Float[Tensor, " T"]) -> Float[Tensor, "T 2"]:
    """q(x) = p(x) (x, 1), with the precision p = 1/h^2."""
    return precision[:, None] * torch.stack([x, torch.ones_like(x)], dim=-1)


def keys(x: Float[Tensor, " S"]) -> Float[Tensor, "S 2"]:
    """k_i = (x_i, -x_i^2 / 2)."""
    return torch.stack([x, -(x**2) / 2], dim=-1)


def kernel_estimate(
    at: Float[Tensor, " T"],
    precision: Float[Tensor, " T"],
    x: Float[Tensor, " S"],
    y: Float[Tensor, " S"],
) -> tuple[Float[Tensor, " T"], Float[Tensor, "T S"]]:
    """The estimate at each point, and the weights it gives the data: one call of `attend`."""
    out, weights = attend(queries(at, precision), keys(x), y[:, None], scale=1.0)
    return out[:, 0], weights


def learned_precision(
    at: Float[Tensor, " T"],
    seed: int = 1,
    noise: float = NOISE,
    steps: int = STEPS,
    rate: float = LEARNING_RATE,
) -> Float[Tensor, " T"]:
    """p(x) = 1/h^2, with the bandwidth h that the query chooses at each point."""
    coefficients = learned_coefficients(seed, noise, steps, rate)
    return torch.exp(_features(at) @ coefficients.to(at))


@lru_cache(maxsize=16)
def learned_coefficients(
    seed: int = 1, noise: float = NOISE, steps: int = STEPS, rate: float = LEARNING_RATE
) -> Tensor:
    """(a, b, c) of log p(x), from steps of Adam on the leave-one-out error.

    A point may not attend to itself while training: otherwise the narrowest kernel always wins.
    """
    data = regression_data(seed, noise)
    features, k, v = _features(data.x), keys(data.x), data.y[:, None]
    others = ~torch.eye(POINTS, dtype=torch.bool)
    coefficients = torch.tensor([6.0, 0.0, 0.0], requires_grad=True)
    optimizer = torch.optim.Adam([coefficients], lr=rate)
    with one_thread():
        for _ in range(steps):
            q = queries(data.x, torch.exp(features @ coefficients))
            guess, _ = attend(q, k, v, may_attend=others, scale=1.0)
            loss = (guess[:, 0] - data.y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return coefficients.detach()


def _features(x: Float[Tensor, " N"]) -> Float[Tensor, "N 3"]:
    """(1, z, z^2) with z = 2x - 1: what the query may know about where it stands."""
    z = 2 * x - 1
    return torch.stack([torch.ones_like(z), z, z**2], dim=-1)

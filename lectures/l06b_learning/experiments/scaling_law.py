"""Scaling laws: how the loss of a language model falls with its size.

A fit of ``L(N) = E + A N^(-alpha)`` to measured losses, which says how well its exponent is known.
N counts parameters. Losses are in nats per token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from course_utils.shapes import Float

# Two-sided 95 % quantiles of Student's t with 1, 2, 3, ... degrees of freedom.
T_95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
Z_95 = 1.959964
# Exponents among which a fit with an unknown E looks; beyond them a curve is a step or a line.
EXPONENTS = np.geomspace(1e-3, 10, 4001)


@dataclass(frozen=True)
class PowerLaw:
    """``L(N) = E + A N^(-alpha)``, fitted to measured losses.

    Attributes:
        exponent: alpha.
        interval: where alpha lies with 95 % confidence, (low, high). An end is 0 or infinity where
            the losses do not bound it.
        constant: A.
        irreducible: E, the loss that no size goes below.
    """

    exponent: float
    interval: tuple[float, float]
    constant: float
    irreducible: float

    def loss(self, size: float | int) -> float:
        """Return the law's loss for a model of this size, in nats."""
        return self.irreducible + self.constant * size**-self.exponent

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"L(N) = {self.irreducible:.3g} + {self.constant:.3g} N^-{self.exponent:.3f}, "
            f"exponent {low:.3f} to {high:.3f} (95 %)"
        )


def fit_power_law(
    sizes: Sequence[int],  # N, all different: 3 or more, 4 where E is unknown
    losses: Float[Tensor, "*seeds sizes"],  # one for each size, or a row of them for each seed
    *,
    irreducible: float | int | None = 0.0,  # E, below all losses; None to fit it as well
) -> PowerLaw:
    """Fit ``L(N) = E + A N^(-alpha)`` to losses, and say how well alpha is known.

    With E given, it is a straight line through ``(ln N, ln (L - E))``, by least squares. With E
    unknown (None), the relative error ``(E + A N^(-alpha)) / L - 1`` is made small: for each alpha
    the best E >= 0 and A >= 0 follow by least squares, and the best alpha of all is taken. Where
    losses do not fall with size, A is 0 and alpha says nothing: its interval is 0 to infinity.

    The interval holds each alpha whose sum of squares is at most ``1 + t^2 / (n - p)`` times the
    smallest, where n counts losses, p the numbers fitted, and t is Student's quantile for n - p.
    For the straight line that is the usual ``alpha +- t s``. It takes the losses' distances from
    the law as independent noise, whether they come from the seeds or from a law of another form.

    Source: Kaplan et al., "Scaling laws for neural language models", 2020, section 3, whose E is
    0; Hoffmann et al., "Training compute-optimal large language models", 2022, section 3.3.
    """
    N = np.array(sizes, dtype=float)
    L = losses.detach().double().reshape(-1, len(N)).numpy()
    if irreducible is None:
        exponent, interval, constant, floor = _fit_with_floor(N, L)
    else:
        floor = float(irreducible)
        exponent, interval, constant = _fit_line(N, L - floor)
    return PowerLaw(exponent, interval, constant, floor)


def _fit_line(N: np.ndarray, above: np.ndarray) -> tuple[float, tuple[float, float], float]:
    """Least squares for ``ln above = ln A - alpha ln N``; above has one row for each seed."""
    x = np.broadcast_to(np.log(N), above.shape).ravel()
    y = np.log(above).ravel()
    spread = ((x - x.mean()) ** 2).sum()
    slope = ((x - x.mean()) * y).sum() / spread
    rest = y - y.mean() - slope * (x - x.mean())
    free = len(x) - 2
    half = _student(free) * math.sqrt((rest**2).sum() / free / spread)
    constant = math.exp(y.mean() - slope * x.mean())
    return float(-slope), (float(-slope - half), float(-slope + half)), constant


def _fit_with_floor(
    N: np.ndarray, L: np.ndarray
) -> tuple[float, tuple[float, float], float, float]:
    """Least squares of the relative error over alpha, A >= 0 and E >= 0."""
    floors, scales, errors = _at_each_exponent(N, L)
    best = int(errors.argmin())
    free = L.size - 3
    within = np.flatnonzero(errors <= errors[best] * (1 + _student(free) ** 2 / free))
    low, high = within[0], within[-1]
    interval = (
        0.0 if low == 0 else float(EXPONENTS[low]),
        math.inf if high == len(EXPONENTS) - 1 else float(EXPONENTS[high]),
    )
    alpha = float(EXPONENTS[best])
    return alpha, interval, float(scales[best] * N[0] ** alpha), float(floors[best])


def _at_each_exponent(N: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each exponent the best E and A / N_0^alpha, neither below 0, and their sum of squares."""
    a = 1 / L.ravel()  # (losses,)
    falls = (N / N[0]) ** -EXPONENTS[:, None]  # (exponents, sizes)
    b = np.tile(falls, len(L)) * a  # (exponents, losses)
    # The normal equations of floor * a + scale * b = 1.
    aa, ab, bb = a @ a, b @ a, (b * b).sum(axis=1)
    determinant = aa * bb - ab**2
    floors = (a.sum() * bb - b.sum(axis=1) * ab) / determinant
    scales = (b.sum(axis=1) * aa - a.sum() * ab) / determinant
    negative = floors < 0
    floors = np.where(negative, 0.0, floors)
    scales = np.where(negative, b.sum(axis=1) / bb, scales)
    rising = scales < 0
    floors = np.where(rising, a.sum() / aa, floors)
    scales = np.where(rising, 0.0, scales)
    errors = ((floors[:, None] * a + scales[:, None] * b - 1) ** 2).sum(axis=1)
    return floors, scales, errors


def _student(free: int) -> float:
    """The two-sided 95 % quantile of Student's t, to 0.1 %."""
    if free <= len(T_95):
        return T_95[free - 1]
    # Abramowitz, Stegun, "Handbook of mathematical functions", 1964, 26.7.5.
    z = Z_95
    return z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)

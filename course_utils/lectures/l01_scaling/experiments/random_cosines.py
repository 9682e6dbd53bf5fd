"""Cosines between random directions, drawn once for every width, and their exact density."""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor

from course_utils.shapes import Float

WIDTHS = (2, 3, 4, 5, 8, 16, 32, 64, 128, 256, 512, 1024)
SAMPLES = 8000


@lru_cache(maxsize=1)
def sample_cosines() -> dict[int, Float[Tensor, " N"]]:
    """For each width: 8000 cosines between independent random directions.

    >>> round(float(sample_cosines()[64].var()) * 64, 1)
    1.0
    """
    generator = torch.Generator().manual_seed(0)
    sums = {name: torch.zeros(SAMPLES) for name in ("qq", "kk", "qk")}
    cosines, done = {}, 0
    for width in WIDTHS:
        q, k = (torch.randn(SAMPLES, width - done, generator=generator) for _ in range(2))
        for name, product in (("qq", q * q), ("kk", k * k), ("qk", q * k)):
            sums[name] = sums[name] + product.sum(1)
        cosines[width] = sums["qk"] / (sums["qq"] * sums["kk"]).sqrt()
        done = width
    return cosines


def cosine_density(x: Float[Tensor, " N"], width: int) -> Float[Tensor, " N"]:
    """The density of that cosine: Gamma(d/2) / (sqrt(pi) Gamma((d-1)/2)) (1 - x^2)^((d-3)/2).

    In two dimensions it grows without bound at ±1, in three it is flat.

    >>> cosine_density(torch.tensor([0.0, 0.9]), 3).tolist()
    [0.5, 0.5]
    """
    log_norm = math.lgamma(width / 2) - math.lgamma((width - 1) / 2) - 0.5 * math.log(math.pi)
    return math.exp(log_norm) * (1 - x.square()) ** ((width - 3) / 2)

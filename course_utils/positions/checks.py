"""The checks that position functions share: even widths, factors, positions that fit."""

import torch
from torch import Tensor

from course_utils.checks import (
    check_broadcasts,
    check_finite,
    check_floating,
    check_int,
    check_rank,
)

__all__ = ["check_even", "check_factor", "check_positions", "check_rope_inputs"]


def check_even(name: str, value: object, *, minimum: int = 2) -> int:
    """Return a width as an int if it is even and at least ``minimum``."""
    __tracebackhide__ = True
    width = check_int(name, value, minimum=minimum)
    if width % 2:
        raise ValueError(f"{name} must be even, as coordinates are turned in pairs, got {width}")
    return width


def check_factor(name: str, value: object) -> float:
    """Return how many times longer a text is than those of training, as a float of at least 1."""
    __tracebackhide__ = True
    factor = check_finite(name, value)
    if factor < 1:
        raise ValueError(f"{name} must be at least 1 (new length over trained one), got {factor}")
    return factor


def check_positions(positions: Tensor) -> None:
    """Check that positions are a tensor of integers, or of floats that can count far enough.

    float16 has no whole number between 2048 and 2050, bfloat16 none between 256 and 258.
    """
    __tracebackhide__ = True
    check_rank("positions", positions, "T", exactly=False)
    dtype = positions.dtype
    whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    if not whole and dtype not in (torch.float32, torch.float64):
        raise TypeError(f"positions must be integers, or floats of 32 bits or more, got {dtype}")


def check_rope_inputs(x: Tensor, positions: Tensor) -> None:
    """Check that x has an even width and positions have an entry for each of its tokens."""
    __tracebackhide__ = True
    check_rank("x", x, "T D", exactly=False)
    check_floating("x", x)
    if x.shape[-1] == 0 or x.shape[-1] % 2:
        raise ValueError(
            f"x must have an even width D, as coordinates are turned in pairs, "
            f"got shape {tuple(x.shape)}"
        )
    check_positions(positions)
    if positions.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"positions must have an entry for each token, T ({x.shape[-2]}), "
            f"got shape {tuple(positions.shape)}"
        )
    check_broadcasts("positions", positions, "the tokens of x (..., T)", x.shape[:-1])

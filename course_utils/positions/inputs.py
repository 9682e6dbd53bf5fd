"""The checks that position functions share: even widths, bases, factors, positions that fit."""

import torch
from torch import Tensor

from course_utils.checks import (
    check_broadcasts,
    check_finite,
    check_floating,
    check_int,
    check_rank,
)

__all__ = ["check_base", "check_even", "check_factor", "check_positions", "check_rope_inputs"]


def check_base(base: object) -> float:
    """Return the base of the frequencies as a float if it is a positive finite number.

    Raises:
        TypeError: if it is not a number.
        ValueError: if it is not above 0, or not finite.

    >>> check_base(0)
    Traceback (most recent call last):
    ValueError: base must be above 0, got 0.0
    """
    __tracebackhide__ = True
    value = check_finite("base", base)
    if value <= 0:
        raise ValueError(f"base must be above 0, got {value}")
    return value


def check_even(name: str, value: object, *, minimum: int = 2) -> int:
    """Return a width as an int if it is even and at least ``minimum``.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is odd or too small.

    >>> check_even("D", 7)
    Traceback (most recent call last):
    ValueError: D must be even, as coordinates are turned in pairs, got 7
    """
    __tracebackhide__ = True
    width = check_int(name, value, minimum=minimum)
    if width % 2:
        raise ValueError(f"{name} must be even, as coordinates are turned in pairs, got {width}")
    return width


def check_factor(factor: object) -> float:
    """Return how many times longer a text is than those of training, as a float of at least 1.

    Raises:
        TypeError: if it is not a number.
        ValueError: if it is below 1, or not finite.

    >>> check_factor(0.25)
    Traceback (most recent call last):
    ValueError: factor must be at least 1 (new length over trained one), got 0.25
    """
    __tracebackhide__ = True
    value = check_finite("factor", factor)
    if value < 1:
        raise ValueError(f"factor must be at least 1 (new length over trained one), got {value}")
    return value


def check_positions(positions: Tensor) -> None:
    """Check that positions are a tensor of integers, or of floats that can count far enough.

    float16 has no whole number between 2048 and 2050, bfloat16 none between 256 and 258.

    Raises:
        TypeError: for anything else.
        ValueError: if there is no axis of tokens.

    >>> check_positions(torch.arange(5).bfloat16())
    Traceback (most recent call last):
    TypeError: positions must be integers, or floats of 32 bits or more, got torch.bfloat16
    """
    __tracebackhide__ = True
    check_rank("positions", positions, "T", exactly=False)
    dtype = positions.dtype
    whole = not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool)
    if not whole and dtype not in (torch.float32, torch.float64):
        raise TypeError(f"positions must be integers, or floats of 32 bits or more, got {dtype}")


def check_rope_inputs(x: Tensor, positions: Tensor) -> None:
    """Check that x has an even width and positions have an entry for each of its tokens.

    Raises:
        TypeError: if x is not floating point, or positions are not as in ``check_positions``.
        ValueError: for an odd width, or positions that do not fit x.

    >>> check_rope_inputs(torch.zeros(5, 4), torch.arange(3))
    Traceback (most recent call last):
    ValueError: positions must have an entry for each token, T (5), got shape (3,)
    """
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

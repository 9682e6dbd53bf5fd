"""Bytes as text, and rounding up where products of floats are inexact."""

import math

__all__ = ["describe_bytes", "round_up"]


def describe_bytes(size: float) -> str:
    """Return bytes to three digits, in the units of 1000 that data sheets use.

    >>> describe_bytes(17_179_869_184), describe_bytes(524_288), describe_bytes(3)
    ('17.2 GB', '524 kB', '3 bytes')
    """
    for unit, name in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:,.3g} {name}"
    return f"{size:.0f} bytes"


def round_up(value: float) -> int:
    """Return the ceiling, where 0.1 * 30 counts as 3 though it is 3.0000000000000004.

    >>> round_up(0.1 * 30), round_up(3.1)
    (3, 4)
    """
    return math.ceil(round(value, 9))

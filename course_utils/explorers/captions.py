"""Numbers in the captions of tables; kit/words.js writes those that the browser computes."""

from __future__ import annotations


def number(value: float, digits: int = 0) -> str:
    """A number with so many decimals, thousands apart, and a minus sign as wide as a plus.

    >>> number(-1234.5, 1), number(-0.001, 2), number(12)
    ('−1,234.5', '0.00', '12')
    """
    return format(value, f"z,.{digits}f").replace("-", "\N{MINUS SIGN}")

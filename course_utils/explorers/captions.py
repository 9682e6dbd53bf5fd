"""Numbers in captions: the same letters from Python and from kit/words.js."""

from __future__ import annotations

import re

__all__ = ["number", "plain"]

_COLOURED = re.compile(r"\[([qkvb]):((?:\[[^][]*\]|[^][])*)\]")


def number(value: float, digits: int = 0) -> str:
    """A number with so many decimals, thousands apart, and a minus sign as wide as a plus.

    >>> number(-1234.5, 1), number(-0.001, 2), number(12)
    ('−1,234.5', '0.00', '12')
    """
    return format(value, f"z,.{digits}f").replace("-", "\N{MINUS SIGN}")


def plain(caption: str) -> str:
    """A caption without its colours: `[q:17]` is blue in the browser, `[k:…]` orange.

    `[v:…]` is purple and `[b:…]` bold. Brackets inside come in pairs.

    >>> plain("query [q:17], key [k:12]")
    'query 17, key 12'
    >>> plain("from [q:it] to [k:[CLS]]")
    'from it to [CLS]'
    """
    return _COLOURED.sub(r"\2", caption)

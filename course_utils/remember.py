"""Keep the results of a function that is asked the same thing again, such as by a slider."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

__all__ = ["remember"]


def remember(maxsize: int) -> Callable[[Callable], Any]:
    """Keep the last ``maxsize`` results of a function, and let it refuse bad input itself.

    ``functools.lru_cache`` alone answers ``f(True)`` with what it kept for ``f(1)``, and says of
    a list that it is unhashable, before the function has looked at it.

    Args:
        maxsize: how many results are kept; the function gets a ``cache_clear()`` that drops them.

    >>> @remember(maxsize=2)
    ... def half(x: int) -> float:
    ...     if not isinstance(x, int):
    ...         raise TypeError(f"x must be an integer, got {x!r}")
    ...     return x / 2
    >>> half([3])
    Traceback (most recent call last):
    TypeError: x must be an integer, got [3]
    """

    def decorate(function: Callable) -> Any:
        kept = lru_cache(maxsize, typed=True)(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                hash((args, tuple(kwargs.values())))
            except TypeError:
                return function(*args, **kwargs)
            return kept(*args, **kwargs)

        call.cache_clear = kept.cache_clear  # type: ignore
        return call

    return decorate

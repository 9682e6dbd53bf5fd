"""Enforce the annotations of course_utils, but let a function speak for itself first.

jaxtyping checks parameters before a call and everything again after it. Here only the second
check is kept: a function given bad input raises its own message, which is what the tests of bad
input look for, and one that quietly accepts it is stopped by its annotations.
"""

from collections.abc import Callable
from numbers import Real
from typing import Any, SupportsIndex

from beartype import BeartypeConf, FrozenDict, beartype

# A number of any kind is welcome, as type checkers and readers have it: an int where a float is
# asked for, numpy's where Python's are, a tensor with one integer where an int is.
CHECKED = BeartypeConf(hint_overrides=FrozenDict({int: int | SupportsIndex, float: float | Real}))


def check_after(function: Callable) -> Callable:
    """Check `function`, unless it is jaxtyping's stand-in for the check before the call."""
    # The stand-in alone has `Any` put in the place of what it returns.
    if function.__annotations__.get("return") is Any:
        return function
    return beartype(conf=CHECKED)(function)

"""What a function did on one input, how that compares, and how to say it."""

from __future__ import annotations

import copy
import dis
import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from course_utils.teaching.closeness import as_array


class UnfitError(ValueError):
    """What an answer gave back cannot be used for what follows; the message says why."""


@dataclass(frozen=True)
class Outcome:
    """Either the value a function gave back or the exception that stopped it.

    Attributes:
        value: what it gave back.
        error: what stopped it.
        changed: the names of the inputs that it changed in place.
    """

    value: Any = None
    error: BaseException | None = None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tolerance:
    """Values agree when ``|got - expected| <= absolute + relative * |expected|``."""

    relative: float = 1e-4
    absolute: float = 1e-6

    def allows(self, got: Any, expected: Any) -> bool:
        """Whether every entry is near enough; shapes must be equal.

        >>> Tolerance(relative=0.1).allows([1.0, 2.1], [1.0, 2.0])
        True
        """
        pair = _of_one_shape(got, expected)
        return pair is not None and np.allclose(*pair, rtol=self.relative, atol=self.absolute)


class NanAlike(Tolerance):
    """A tolerance that recognises a mistake by its NaNs too; a right answer has none.

    >>> Tolerance().allows(np.nan, np.nan), NanAlike().allows(np.nan, np.nan)
    (False, True)
    """

    def allows(self, got: Any, expected: Any) -> bool:
        """Whether every entry is near enough, or NaN on both sides."""
        pair = _of_one_shape(got, expected)
        rounding = {"rtol": self.relative, "atol": self.absolute}
        return pair is not None and np.allclose(*pair, **rounding, equal_nan=True)


def _of_one_shape(got: Any, expected: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """Both as arrays; None where the shapes differ, which is seen before anything is copied."""
    if _shape(got) != _shape(expected) and not _is_nested(got, expected):
        return None
    arrays = as_array(got, "got"), as_array(expected, "expected")
    return arrays if arrays[0].shape == arrays[1].shape else None


def _is_huge(value: Any) -> bool:
    """Whether a whole number or a fraction may be too large for a float."""
    return isinstance(value, int | Fraction) and abs(value) >= 10**300


def _is_empty(value: Any) -> bool:
    """Whether a tensor has a shape and no values."""
    return isinstance(value, torch.Tensor) and value.is_meta


def _shape(value: Any) -> tuple[Any, ...] | None:
    """The shape of a tensor or an array, ``()`` of what is neither, None where there is no one.

    A nested tensor has rows of several lengths. A module of Python is no array, though ``torch``
    has a function ``detach`` and ``numpy`` one called ``shape``.
    """
    if isinstance(value, torch.Tensor) and value.is_nested:
        return None
    return tuple(value.shape) if _has_shape(value) else ()


def _has_shape(value: Any) -> bool:
    return isinstance(getattr(value, "shape", None), tuple)


def _is_nested(*values: Any) -> bool:
    """Whether a list or tuple is among them, whose shape only its array says."""
    return any(isinstance(value, list | tuple) for value in values)


def observe(function: Callable[..., Any], inputs: Mapping[str, Any]) -> Outcome:
    """Call ``function`` on copies of ``inputs``, by position, and keep whatever happens.

    By position, since the names of the parameters are the student's own; on copies, since a
    function that changes its input must not change the next run's.

    >>> observe(lambda a, b: a / b, {"a": 1, "b": 0}).error
    ZeroDivisionError('division by zero')
    >>> observe(lambda a, b: a.append(b), {"a": [2], "b": 3}).changed
    ('a',)
    """
    given = copy.deepcopy(dict(inputs))
    try:
        value = function(*given.values())
        changed = tuple(name for name in inputs if not _is_unchanged(given[name], inputs[name]))
        return Outcome(value, changed=changed)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a student's function may raise anything, SystemExit too
        return Outcome(error=error)


def _is_unchanged(now: Any, before: Any) -> bool:
    """Whether tensors, arrays and what holds them are as before; of other things nobody asks."""
    if type(now) is not type(before):
        return False
    if isinstance(before, Mapping):
        return now.keys() == before.keys() and all(
            _is_unchanged(now[key], before[key]) for key in before
        )
    if isinstance(before, list | tuple):
        return len(now) == len(before) and all(map(_is_unchanged, now, before))
    if isinstance(before, torch.Tensor) and not (before.is_meta or before.is_nested):
        return now.shape == before.shape and torch.equal(now.nan_to_num(), before.nan_to_num())
    if isinstance(before, np.ndarray):
        return np.array_equal(now, before, equal_nan=before.dtype.kind in "fc")
    return True


def is_untouched(function: Callable[..., Any], outcome: Outcome) -> bool:
    """Whether this is still the stub: ``...``, ``NotImplementedError``, or an empty body.

    >>> is_untouched(len, Outcome(value=...)), is_untouched(len, Outcome(value=3))
    (True, False)
    """
    if isinstance(outcome.error, NotImplementedError) or outcome.value is ...:
        return True
    if isinstance(outcome.value, tuple):
        return len(outcome.value) > 0 and all(part is ... for part in outcome.value)
    return outcome.error is None and outcome.value is None and _has_empty_body(function)


def _has_empty_body(function: Callable[..., Any]) -> bool:
    """A body of nothing but a docstring, ``pass`` or ``...`` compiles to a bare return."""
    if not hasattr(function, "__code__"):
        return False
    bare = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    return {step.opname for step in dis.get_instructions(function)} <= bare


def same(a: Outcome, b: Outcome, tolerance: Tolerance, part: int | None = None) -> bool:
    """Whether two outcomes are the same: equal values, or the same exception.

    Args:
        a: one outcome.
        b: the other.
        tolerance: for the numbers among the values.
        part: compare this part of a tuple alone.

    >>> same(Outcome(value=(1.0, "x")), Outcome(value=(1.0, "x")), Tolerance())
    True
    """
    if a.error is not None or b.error is not None:
        return type(a.error) is type(b.error) and str(a.error) == str(b.error)
    if part is None:
        return _same_value(a.value, b.value, tolerance)
    if not all(isinstance(x.value, tuple | list) and len(x.value) > part for x in (a, b)):
        return False
    return _same_value(a.value[part], b.value[part], tolerance)


def _same_value(a: Any, b: Any, tolerance: Tolerance) -> bool:
    if isinstance(a, tuple | list) or isinstance(b, tuple | list):
        if not (isinstance(a, tuple | list) and isinstance(b, tuple | list) and len(a) == len(b)):
            return False
        return all(_same_value(x, y, tolerance) for x, y in zip(a, b, strict=True))
    if isinstance(a, str) or isinstance(b, str) or a is None or b is None:
        return type(a) is type(b) and a == b
    try:
        return tolerance.allows(a, b)
    except TypeError:
        return False


def wrong_kind(got: Any, expected: Any, parts: tuple[str, ...]) -> str | None:
    """What is wrong with the kind, the shape or the finiteness of ``got``; None if nothing is.

    ``parts`` names the results in order; values are not compared here.

    >>> wrong_kind([1.0], 2.0, ("variance",))
    '`variance` should be a number, you gave a list'
    >>> wrong_kind(float("nan"), 2.0, ("variance",))
    '`variance` is NaN: look for 0/0, ∞ − ∞ or the root of a negative number'
    """
    if not isinstance(expected, tuple):
        return _wrong_kind_of_one(got, expected, parts[0])
    if got is None:  # some exercises judge several numbers of the one thing that they ask for
        return f"you gave {describe(got)}"
    if not isinstance(got, tuple | list) or len(got) != len(expected):
        names = ", ".join(f"`{name}`" for name in parts)
        return (
            f"the function should return {len(expected)} results, {names}; you gave {describe(got)}"
        )
    for one, other, name in zip(got, expected, parts, strict=True):
        complaint = _wrong_kind_of_one(one, other, name)
        if complaint is not None:
            return complaint
    return None


def _wrong_kind_of_one(got: Any, expected: Any, name: str) -> str | None:
    if isinstance(expected, str):
        if got is None:
            return f"you gave {describe(got)}"
        return (
            None if isinstance(got, str) else f"`{name}` should be a text, you gave {describe(got)}"
        )
    if isinstance(expected, torch.Tensor):
        if not isinstance(got, torch.Tensor) or got.is_nested:
            return f"`{name}` should be a torch tensor, you gave {describe(got)}"
        if got.shape != expected.shape:
            return (
                f"`{name}` has shape {tuple(got.shape)}, expected {tuple(expected.shape)}: "
                "print the shapes line by line, and see where they part"
            )
    elif not _is_number(got):
        return f"`{name}` should be a number, you gave {describe(got)}"
    try:
        values = as_array(got, f"`{name}`")
    except TypeError as error:
        return str(error)
    if np.isnan(values).any():
        return f"`{name}` is NaN: look for 0/0, ∞ − ∞ or the root of a negative number"
    if np.isinf(values).any():
        return f"`{name}` is infinite: look for a division by 0 or an exponential of a large number"
    return None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | str) or value is None:
        return False
    if isinstance(value, torch.Tensor) or _has_shape(value):
        return _shape(value) == ()
    return isinstance(value, numbers.Real)


def describe(value: Any) -> str:
    """A value in words, as short as it stays useful.

    >>> describe(128.0), describe(0.04419417), describe(None), describe((1, 2))
    ('128', '0.04419', 'nothing (None), as a function without `return` does', 'a tuple of 2')
    """
    if value is None:
        return "nothing (None), as a function without `return` does"
    if isinstance(value, bool | complex):
        return str(value)
    if _is_huge(value):
        return "a number with more than 300 digits"
    if _is_number(value) and not _is_empty(value):
        number = float(value)
        whole = math.isfinite(number) and number == round(number) and abs(number) < 1e9
        return str(round(number)) if whole else f"{number:.4g}"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, torch.Tensor):
        return "a nested tensor" if value.is_nested else f"a tensor of shape {tuple(value.shape)}"
    if _has_shape(value):
        return f"a numpy array of shape {tuple(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    # "an int", "a list"
    article = "an" if type(value).__name__[0].lower() in "aeiou" else "a"
    return f"{article} {type(value).__name__}"

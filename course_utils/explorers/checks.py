"""Checks of what a picture is made from: arrays, tables by name, axes, labels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like

from course_utils.checks import check_sequence, check_text


def check_array(name: str, array: object, axes: str) -> None:
    """Check that `array` holds finite numbers, one at least, on the axes named.

    Raises:
        TypeError: when it is not a numpy array of numbers.
        ValueError: for another number of axes, no number at all, NaN or infinity.

    >>> check_array("weights", np.zeros(3), "rows columns")
    Traceback (most recent call last):
    ValueError: weights must have 2 axes (rows, columns); got shape (3,)
    """
    __tracebackhide__ = True
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} must be a numpy array; got {type(array).__name__}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers; got {array.dtype}")
    letters = axes.split()
    if array.ndim != len(letters):
        raise ValueError(
            f"{name} must have {len(letters)} axes ({', '.join(letters)}); got shape {array.shape}"
        )
    if not array.size:
        raise ValueError(f"{name} must not be empty; got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite; got NaN or infinity")


def check_square(name: str, array: object) -> None:
    """Check a table of what each word reads of each: finite numbers, as many rows as columns.

    >>> check_square("weights", np.zeros((2, 3)))
    Traceback (most recent call last):
    ValueError: weights must have as many rows as columns; got shape (2, 3)
    """
    __tracebackhide__ = True
    check_array(name, array, "rows columns")
    if array.shape[0] != array.shape[1]:  # type: ignore
        raise ValueError(
            f"{name} must have as many rows as columns; got shape {array.shape}"  # type: ignore
        )


def check_same_shape(name: str, array: np.ndarray, other_name: str, other: np.ndarray) -> None:
    """Check that two arrays have one shape.

    >>> check_same_shape("after", np.zeros(2), "before", np.zeros(3))
    Traceback (most recent call last):
    ValueError: after must have the shape of before (3,); got (2,)
    """
    __tracebackhide__ = True
    if array.shape != other.shape:
        raise ValueError(
            f"{name} must have the shape of {other_name} {other.shape}; got {array.shape}"
        )


def check_positive(name: str, array: np.ndarray) -> None:
    """Check that every number is above 0, for lengths and logarithmic axes.

    >>> check_positive("lengths", np.array([1.0, 0.0]))
    Traceback (most recent call last):
    ValueError: lengths must be positive; got 0
    """
    __tracebackhide__ = True
    if not (array > 0).all():
        raise ValueError(f"{name} must be positive; got {array.min():.3g}")


def check_named(name: str, named: object) -> None:
    """Check a mapping with one entry or more, whose names are texts.

    >>> check_named("clouds", {})
    Traceback (most recent call last):
    ValueError: clouds must hold one entry or more; got {}
    """
    __tracebackhide__ = True
    if not isinstance(named, Mapping):
        raise TypeError(f"{name} must be a mapping; got {named!r} ({type(named).__name__})")
    if not named:
        raise ValueError(f"{name} must hold one entry or more; got {named!r}")
    for key in named:
        check_text(f"each name in {name}", key)


def check_labels(name: str, labels: object, count: int | None = None) -> tuple[str, ...]:
    """Return the labels as a tuple of texts: one or more, or exactly as many as are needed.

    >>> check_labels("words", ["I", "love"], 3)
    Traceback (most recent call last):
    ValueError: words must hold 3 labels, one for each row; got 2
    """
    __tracebackhide__ = True
    texts = check_sequence(name, labels)
    for index, text in enumerate(texts):
        check_text(f"{name}[{index}]", text)
    if count is not None and len(texts) != count:
        raise ValueError(f"{name} must hold {count} labels, one for each row; got {len(texts)}")
    return texts


def check_axes(axes: object) -> None:
    """Check that something can be drawn on.

    >>> check_axes(None)
    Traceback (most recent call last):
    TypeError: axes must be matplotlib Axes; got NoneType
    """
    __tracebackhide__ = True
    if not isinstance(axes, Axes):
        raise TypeError(f"axes must be matplotlib Axes; got {type(axes).__name__}")


def check_colour(name: str, colour: object) -> None:
    """Check that matplotlib knows the colour.

    >>> check_colour("colour", "bleu")
    Traceback (most recent call last):
    ValueError: colour must be a colour that matplotlib knows; got 'bleu'
    """
    __tracebackhide__ = True
    if not is_color_like(colour):
        raise ValueError(f"{name} must be a colour that matplotlib knows; got {colour!r}")

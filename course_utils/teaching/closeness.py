"""``check_close``: a computation by hand against the library's, in one line of output."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


def check_close(actual: Any, expected: Any, *, atol: float = 1e-5, name: str = "result") -> None:
    """Print that two results agree, or raise with what differs and where.

    They agree when the shapes are equal and ``|actual - expected| <= atol`` everywhere. Nothing
    is broadcast. NaN agrees with nothing, not even NaN; an infinity agrees with the same infinity.
    The printed line holds no measured difference, so that it is the same on every machine.

    Args:
        actual: a torch tensor, a numpy array, a nested list or a number.
        expected: the same, and it need not be of the same type.
        atol: the largest absolute difference allowed, in the unit of the values.
        name: what the numbers are, for the message.

    Raises: AssertionError when shapes or values differ, TypeError for what is not numeric.

    >>> check_close([1.0, 2.0], [1.0, 2.000001], name="weights")
    agrees: weights, shape (2,), within 1e-05
    >>> check_close(3.0, 4.0)
    Traceback (most recent call last):
        ...
    AssertionError: result differs: 3.0, expected 4.0 (difference 1, allowed 1e-05)
    """
    got, want = as_array(actual, "actual"), as_array(expected, "expected")
    if got.shape != want.shape:
        raise AssertionError(f"{name} has shape {got.shape}, expected {want.shape}")
    gap = _differences(got, want)
    if gap.size and not gap.max() <= atol:
        raise AssertionError(_worst(name, got, want, gap, atol))
    shape = f"shape {got.shape}" if got.ndim else "one number"
    print(f"agrees: {name}, {shape}, within {atol:g}")


def as_array(value: Any, name: str) -> NDArray[Any]:
    """The values in double precision: float64, or complex128 for complex input.

    Raises: TypeError when ``value``, called ``name`` in the message, is not numeric.

    >>> as_array([[1, 2]], "weights").shape
    (1, 2)
    """
    kind = type(value).__name__
    try:
        value = _as_numpy(value) if isinstance(value, torch.Tensor) else value
        # As a number, what numpy would keep as an object: fractions, sympy's and huge integers.
        array = np.asarray(float(value) if isinstance(value, numbers.Real) else value)
    except Exception as error:  # such as torch's for a tensor without values, or with ragged rows
        raise TypeError(f"{name} must be numeric, got {kind}: {error}") from error
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} must be numeric, got {kind}")
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _as_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor as an array. numpy has no bfloat16: a floating tensor is widened before."""
    tensor = tensor.detach().cpu().to_dense()
    return (tensor.double() if tensor.is_floating_point() else tensor.resolve_conj()).numpy()


def _differences(got: NDArray[Any], want: NDArray[Any]) -> NDArray[np.float64]:
    """Absolute differences; infinite where either side is NaN, 0 where both are equal."""
    with np.errstate(invalid="ignore"):
        gap = np.abs(got - want)
    gap = np.where(got == want, 0.0, gap)
    return np.where(np.isnan(gap), np.inf, gap)


def _worst(
    name: str, got: NDArray[Any], want: NDArray[Any], gap: NDArray[np.float64], atol: float
) -> str:
    """The sentence that names the entry with the largest difference."""
    index = tuple(int(i) for i in np.unravel_index(int(gap.argmax()), gap.shape))
    place = f" at index {index}" if index else ""
    count = int((gap > atol).sum())
    share = f"; {count} of {gap.size} entries differ" if gap.size > 1 else ""
    return (
        f"{name} differs{place}: {got[index]}, expected {want[index]} "
        f"(difference {gap[index]:.3g}, allowed {atol:g}{share})"
    )

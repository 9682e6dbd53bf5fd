"""The few checks of arguments that the core makes, with one form of message.

A check is worth its line where a learner's own data come in and torch would say something
misleading, or nothing at all and return a wrong number. Everywhere else torch's error is good
enough. A message gives the rule and what came: ``num_heads (7) must divide width (512)``. The
checks hide their own frames (IPython and pytest read ``__tracebackhide__``).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from numbers import Real

import torch
from torch import Tensor
from torch.func import debug_unwrap

__all__ = [
    "check_attention_inputs",
    "check_choice",
    "check_divides",
    "check_finite",
    "check_floating",
    "check_ids",
    "check_int",
    "check_like",
    "check_may_attend",
    "check_rank",
    "check_values",
    "make_ints",
]


def check_int(name: str, value: object, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int if it is an integer in [minimum, maximum].

    One of numpy's or a tensor with a single one is an integer, too: ``ids.max() + 1``.

    >>> check_int("window", 0)
    Traceback (most recent call last):
    ValueError: window must be at least 1, got 0
    """
    __tracebackhide__ = True
    is_bool = isinstance(value, bool) or getattr(value, "dtype", None) == torch.bool
    try:
        number = operator.index(None if is_bool else value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{name} must be an integer, got {value!r} ({type(value).__name__})"
        ) from None
    if number < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {number}")
    if maximum is not None and number > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {number}")
    return number


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite real number."""
    __tracebackhide__ = True
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r} ({type(value).__name__})")
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(value)


def check_divides(divisor_name: str, divisor: int, name: str, value: int) -> tuple[int, int]:
    """Return both as ints if ``divisor`` divides ``value``, where ``//`` would round in silence.

    >>> check_divides("num_heads", 7, "width", 512)
    Traceback (most recent call last):
    ValueError: num_heads (7) must divide width (512)
    """
    __tracebackhide__ = True
    divisor, value = check_int(divisor_name, divisor), check_int(name, value, minimum=0)
    if value % divisor:
        raise ValueError(f"{divisor_name} ({divisor}) must divide {name} ({value})")
    return divisor, value


def make_ints(config: object, *names: str) -> None:
    """Make the sizes of a frozen config ints. None stays: it stands for a default.

    numpy's integers would build a model and train it, and then not become JSON.
    """
    __tracebackhide__ = True
    for name in names:
        if (size := getattr(config, name)) is not None:
            object.__setattr__(config, name, check_int(name, size))


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of the strings to choose from."""
    __tracebackhide__ = True
    known = tuple(choices)
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return str(value)


def check_rank(name: str, tensor: Tensor, axes: str, *, exactly: bool = True) -> None:
    """Check that ``tensor`` has the axes named; if not ``exactly``, more may come first.

    >>> check_rank("x", torch.zeros(3), "T C")
    Traceback (most recent call last):
    ValueError: x must have 2 axes (T, C), got shape (3,)
    """
    __tracebackhide__ = True
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    letters = axes.split()
    if tensor.ndim < len(letters) or (exactly and tensor.ndim > len(letters)):
        count = "1 axis" if len(letters) == 1 else f"{len(letters)} axes"
        least, shown = ("", letters) if exactly else ("at least ", ["...", *letters])
        shape = tuple(tensor.shape)
        raise ValueError(f"{name} must have {least}{count} ({', '.join(shown)}), got shape {shape}")


def check_floating(name: str, tensor: Tensor) -> None:
    """Check that ``tensor`` has a floating-point dtype of 16 bits or more."""
    __tracebackhide__ = True
    if not tensor.is_floating_point() or tensor.dtype.itemsize < 2:
        raise TypeError(f"{name} must be floating point of 16 bits or more, got {tensor.dtype}")


def check_like(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Check that two tensors have the same dtype and device."""
    __tracebackhide__ = True
    if tensor.dtype != other.dtype:
        raise TypeError(
            f"{name} must have the dtype of {other_name} ({other.dtype}), got {tensor.dtype}"
        )
    if tensor.device != other.device:
        raise ValueError(
            f"{name} must be on the device of {other_name} ({other.device}), got {tensor.device}"
        )


def check_values(name: str, tensor: Tensor, axes: str, *, exactly: bool = True) -> None:
    """Check that ``tensor`` has these axes, and at least one number, all of them finite."""
    __tracebackhide__ = True
    check_rank(name, tensor, axes, exactly=exactly)
    check_floating(name, tensor)
    if tensor.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(tensor.shape)}")
    if not bool(tensor.isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")


def check_ids(name: str, ids: Tensor, axes: str, size: int) -> None:
    """Check that ``ids`` are int64 from 0 to ``size - 1``.

    >>> check_ids("token_ids", torch.tensor([5, 31]), "T", size=31)
    Traceback (most recent call last):
    ValueError: token_ids must be 0 to 30, got 31
    """
    __tracebackhide__ = True
    check_rank(name, ids, axes)
    if ids.dtype != torch.int64:
        raise TypeError(f"{name} must be torch.int64, got {ids.dtype}")
    if ids.numel() == 0:
        return
    # torch.func.vmap shows values only in the whole batch. Unwrapping is safe: they are only read.
    low, high = debug_unwrap(ids).aminmax()
    if low < 0 or high >= size:
        raise ValueError(f"{name} must be 0 to {size - 1}, got {int(low if low < 0 else high)}")


def check_may_attend(
    may_attend: Tensor | None, shape: Iterable[int], name: str = "may_attend"
) -> None:
    """Check a mask: boolean, True = may attend, broadcastable to the scores' shape; None is fine.

    >>> check_may_attend(torch.zeros(2, 3), (2, 3))
    Traceback (most recent call last):
    TypeError: may_attend must be boolean, True = may attend, got torch.float32: this looks like \
an additive mask; pass mask == 0 (or mask > -inf) instead
    """
    __tracebackhide__ = True
    if may_attend is None:
        return
    if not isinstance(may_attend, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(may_attend).__name__}")
    rule = f"{name} must be boolean, True = may attend, got {may_attend.dtype}"
    if may_attend.is_floating_point():
        raise TypeError(
            f"{rule}: this looks like an additive mask; pass mask == 0 (or mask > -inf) instead"
        )
    if may_attend.dtype != torch.bool:
        raise TypeError(
            f"{rule}: pass mask.bool() if 1 means may attend, mask == 0 if it means hidden"
        )
    _check_broadcasts(name, may_attend, shape)


def check_attention_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    may_attend: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | int | None = None,
) -> None:
    """Check the arguments of an attention function against each other.

    q is (..., T, D), k is (..., S, D), v is (..., S, E), with the same leading axes, floating dtype
    and device. The mask and the finite bias broadcast to (..., T, S). The scale is finite.
    """
    __tracebackhide__ = True
    for name, tensor, axes in (("q", q, "T D"), ("k", k, "S D"), ("v", v, "S E")):
        check_rank(name, tensor, axes, exactly=False)
        check_floating(name, tensor)
        check_like(name, tensor, "q", q)
        if 0 in tensor.shape[-2:]:
            raise ValueError(f"{name} must not be empty, got shape {tuple(tensor.shape)}")
        if tensor.shape[:-2] != q.shape[:-2]:
            raise ValueError(
                f"{name} must have the leading axes of q {tuple(q.shape[:-2])}, "
                f"got shape {tuple(tensor.shape)}"
            )
    if k.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"k must have the head width of q, D ({q.shape[-1]}), got shape {tuple(k.shape)}"
        )
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"v must have a row for each key, S ({k.shape[-2]}), got shape {tuple(v.shape)}"
        )
    scores_shape = (*q.shape[:-1], k.shape[-2])
    check_may_attend(may_attend, scores_shape)
    if scale is not None:
        check_finite("scale", scale)
    if bias is not None:
        _check_bias(bias, scores_shape, q)


def _check_bias(bias: Tensor, shape: Iterable[int], q: Tensor) -> None:
    """Refuse -inf too: it would hide a key, and a row of nothing else would be NaN."""
    __tracebackhide__ = True
    check_floating("bias", bias)
    check_like("bias", bias, "q", q)
    _check_broadcasts("bias", bias, shape)
    if not bool(debug_unwrap(bias).isfinite().all()):
        raise ValueError("bias must be finite (to hide a key, use may_attend), got NaN or infinity")


def _check_broadcasts(name: str, tensor: Tensor, shape: Iterable[int]) -> None:
    """Torch would also broadcast the scores to a larger mask, and say nothing."""
    __tracebackhide__ = True
    own, full = tuple(tensor.shape), tuple(shape)
    ends = full[len(full) - len(own) :]
    if len(own) > len(full) or any(
        size not in (1, end) for size, end in zip(own, ends, strict=True)
    ):
        raise ValueError(
            f"{name} must broadcast to the scores (..., T, S) = {full}, got shape {own}"
        )

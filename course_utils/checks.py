"""The checks of arguments that the core shares, and with them one grammar of messages.

A message states the rule, then what came, and names the argument:
``num_heads (7) must divide width (512)``. The checks hide their own frames (IPython and pytest
read ``__tracebackhide__``), so that the traceback ends at the call that was wrong. A TypeError says
that something of another kind came, a ValueError that its value, shape or device does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real
from types import UnionType

import torch
from torch import Tensor
from torch.func import debug_unwrap

__all__ = [
    "check_all_finite",
    "check_attention_inputs",
    "check_broadcasts",
    "check_callable",
    "check_choice",
    "check_divides",
    "check_finite",
    "check_flag",
    "check_floating",
    "check_generator",
    "check_ids",
    "check_instance",
    "check_int",
    "check_like",
    "check_may_attend",
    "check_not_empty",
    "check_positive",
    "check_rank",
    "check_seed",
    "check_seeds",
    "check_sequence",
    "check_text",
    "check_values",
]

_LARGEST_SEED = 2**63 - 1


# Numbers


def check_int(name: str, value: object, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int if it is an integer in [minimum, maximum]; True is none.

    >>> check_int("window", 0)
    Traceback (most recent call last):
    ValueError: window must be at least 1, got 0
    """
    __tracebackhide__ = True
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {_described(value)}")
    value = int(value)
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {value}")
    return value


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite real number."""
    __tracebackhide__ = True
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {_described(value)}")
    try:
        value = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, got a number beyond the largest float") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return value


def check_positive(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite number above 0."""
    __tracebackhide__ = True
    if (number := check_finite(name, value)) <= 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return number


def check_divides(divisor_name: str, divisor: int, name: str, value: int) -> None:
    """Check that ``divisor`` divides ``value``, both being positive integers.

    >>> check_divides("num_heads", 7, "width", 512)
    Traceback (most recent call last):
    ValueError: num_heads (7) must divide width (512)
    """
    __tracebackhide__ = True
    if check_int(name, value) % check_int(divisor_name, divisor):
        raise ValueError(f"{divisor_name} ({divisor}) must divide {name} ({value})")


def check_seed(seed: object, name: str = "seed") -> int:
    """Return ``seed`` if it is an integer that torch's generators take, 0 to 2^63 - 1."""
    __tracebackhide__ = True
    return check_int(name, seed, minimum=0, maximum=_LARGEST_SEED)


def check_seeds(seeds: object) -> tuple[int, ...]:
    """Return ``seeds`` as a tuple if they are seeds that all differ, one at least."""
    __tracebackhide__ = True
    checked = check_sequence("seeds", seeds)
    for index, seed in enumerate(checked):
        check_seed(seed, f"seeds[{index}]")
    if len(set(checked)) < len(checked):
        raise ValueError(f"seeds must differ from one another, got {seeds!r}")
    return checked


# Other things


def check_instance(name: str, value: object, kind: type | UnionType, what: str) -> None:
    """Check that ``value`` is of a class; ``what`` calls it by name, with its article.

    >>> check_instance("model", 3, torch.nn.Module, "an nn.Module")
    Traceback (most recent call last):
    TypeError: model must be an nn.Module, got 3 (int)
    """
    __tracebackhide__ = True
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {what}, got {_described(value)}")


def check_callable(name: str, value: object) -> None:
    """Check that ``value`` can be called."""
    __tracebackhide__ = True
    if not callable(value):
        raise TypeError(f"{name} must be callable, got {_described(value)}")


def check_text(name: str, value: object) -> str:
    """Return ``value`` if it is a string."""
    __tracebackhide__ = True
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {_described(value)}")
    return value


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of the strings to choose from."""
    __tracebackhide__ = True
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is a bool. Other things have a truth value, but mean nothing."""
    __tracebackhide__ = True
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {_described(value)}")
    return value


def check_sequence(name: str, value: object, *, may_be_empty: bool = False) -> tuple:
    """Return the items of ``value`` as a tuple. A text is one thing, not a sequence of letters."""
    __tracebackhide__ = True
    try:
        items = None if isinstance(value, str | bytes) else tuple(value)  # type: ignore
    except TypeError:
        items = None
    if items is None:
        raise TypeError(f"{name} must be a sequence, got {_described(value)}")
    if not items and not may_be_empty:
        raise ValueError(f"{name} must not be empty, got {value!r}")
    return items


def check_generator(name: str, value: object) -> None:
    """Check that ``value`` is a source of random numbers."""
    __tracebackhide__ = True
    check_instance(name, value, torch.Generator, "a torch.Generator")


def _described(value: object) -> str:
    shown, kind = repr(value), type(value).__name__
    if "\n" in shown:  # a whole model, say
        return kind
    return f"{shown if len(shown) <= 80 else shown[:77] + '...'} ({kind})"


# Tensors: the shape comes before the values, so that a wrong one costs no work


def check_rank(name: str, tensor: Tensor, axes: str, *, exactly: bool = True) -> None:
    """Check that ``tensor`` is a tensor with the axes named, for example ``"B T C"``.

    If not ``exactly``, further leading axes are allowed.

    >>> check_rank("x", torch.zeros(3), "T C")
    Traceback (most recent call last):
    ValueError: x must have 2 axes (T, C), got shape (3,)
    """
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    letters = axes.split()
    if tensor.ndim < len(letters) or (exactly and tensor.ndim > len(letters)):
        count = "1 axis" if len(letters) == 1 else f"{len(letters)} axes"
        least, shown = ("", letters) if exactly else ("at least ", ["...", *letters])
        shape = tuple(tensor.shape)
        raise ValueError(f"{name} must have {least}{count} ({', '.join(shown)}), got shape {shape}")


def _check_tensor(name: str, value: object) -> None:
    __tracebackhide__ = True
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")


def check_not_empty(name: str, tensor: Tensor, *, axes: int) -> None:
    """Check that none of the last ``axes`` axes of ``tensor`` is without an entry."""
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    if 0 in tensor.shape[-axes:]:
        raise ValueError(f"{name} must not be empty, got shape {tuple(tensor.shape)}")


def check_floating(name: str, tensor: Tensor) -> None:
    """Check that ``tensor`` holds floating-point numbers of 16 bits or more."""
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, got {tensor.dtype}")
    if tensor.dtype.itemsize < 2:  # numbers to store: torch computes with none of them
        raise TypeError(f"{name} must have 16 bits or more to a number, got {tensor.dtype}")


def check_like(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Check that two tensors have one dtype and one device."""
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    _check_tensor(other_name, other)
    if tensor.dtype != other.dtype:
        raise TypeError(
            f"{name} must have the dtype of {other_name} ({other.dtype}), got {tensor.dtype}"
        )
    if tensor.device != other.device:
        raise ValueError(
            f"{name} must be on the device of {other_name} ({other.device}), got {tensor.device}"
        )


def check_broadcasts(name: str, tensor: Tensor, target: str, shape: Iterable[int]) -> None:
    """Check that ``tensor`` broadcasts to ``shape``, which the message calls ``target``."""
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    own, full = tuple(tensor.shape), tuple(shape)
    ends = full[len(full) - len(own) :]
    if len(own) > len(full) or any(
        size not in (1, end) for size, end in zip(own, ends, strict=True)
    ):
        raise ValueError(f"{name} must broadcast to {target} = {full}, got shape {own}")


def check_values(name: str, tensor: Tensor, axes: str, *, exactly: bool = True) -> None:
    """Check that ``tensor`` has these axes and finite floating-point numbers, one at least."""
    __tracebackhide__ = True
    check_rank(name, tensor, axes, exactly=exactly)
    check_floating(name, tensor)
    if tensor.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(tensor.shape)}")
    check_all_finite(name, tensor)


def check_all_finite(name: str, tensor: Tensor) -> None:
    """Check that no number in ``tensor`` is NaN or infinite; under vmap, in that of any run."""
    __tracebackhide__ = True
    check_floating(name, tensor)
    if not bool(debug_unwrap(tensor).isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")


def check_ids(name: str, ids: Tensor, axes: str, size: int) -> None:
    """Check that ``ids`` are int64 from 0 to ``size - 1``. The axes are as in ``check_rank``.

    >>> check_ids("token_ids", torch.tensor([5, 31]), "T", size=31)
    Traceback (most recent call last):
    ValueError: token_ids must lie in 0 to 30, got 31
    """
    __tracebackhide__ = True
    check_rank(name, ids, axes)
    if ids.dtype != torch.int64:
        raise TypeError(f"{name} must be torch.int64, got {ids.dtype}")
    if ids.numel() == 0:
        return
    # Under torch.func.vmap values can be looked at in the batch of all examples alone. Unwrapping
    # is safe here, since they are read, and nothing is computed from them.
    low, high = debug_unwrap(ids).aminmax()
    if low < 0 or high >= size:
        raise ValueError(f"{name} must lie in 0 to {size - 1}, got {int(low if low < 0 else high)}")


# Attention


def check_may_attend(
    may_attend: Tensor | None,
    shape: Iterable[int],
    device: torch.device,
    name: str = "may_attend",
) -> None:
    """Check a mask: boolean, True = this query may attend to this key; None is no mask.

    Args:
        may_attend: the mask.
        shape: the shape of the scores, (..., T, S), which it broadcasts to.
        device: where the scores are.
        name: the argument that the mask came by, for the message.

    >>> check_may_attend(torch.zeros(2, 3), (2, 3), torch.device("cpu"))
    Traceback (most recent call last):
    TypeError: may_attend must be boolean, True = may attend, got torch.float32: this looks like \
an additive mask; pass mask == 0 (or mask > -inf) instead
    """
    __tracebackhide__ = True
    if may_attend is None:
        return
    _check_tensor(name, may_attend)
    rule = f"{name} must be boolean, True = may attend, got {may_attend.dtype}"
    if may_attend.is_floating_point():
        raise TypeError(
            f"{rule}: this looks like an additive mask; pass mask == 0 (or mask > -inf) instead"
        )
    if may_attend.dtype != torch.bool:
        raise TypeError(
            f"{rule}: pass mask.bool() if 1 means may attend, mask == 0 if it means hidden"
        )
    check_broadcasts(name, may_attend, "the scores (..., T, S)", shape)
    if may_attend.device != device:
        raise ValueError(f"{name} must be on the device of q ({device}), got {may_attend.device}")


def check_attention_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    may_attend: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | int | None = None,
) -> None:
    """Check the arguments of an attention function against one another.

    The rules: q is (..., T, D), k is (..., S, D), v is (..., S, E), with the same leading axes,
    the same floating dtype and the same device; no sequence is empty; ``may_attend`` is boolean
    and broadcasts to (..., T, S), as does ``bias``, which is finite; ``scale`` is finite.
    """
    __tracebackhide__ = True
    for name, tensor, axes in (("q", q, "T D"), ("k", k, "S D"), ("v", v, "S E")):
        check_rank(name, tensor, axes, exactly=False)
        check_floating(name, tensor)
        check_like(name, tensor, "q", q)
        check_not_empty(name, tensor, axes=2)
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
    check_may_attend(may_attend, scores_shape, q.device)
    if scale is not None:
        check_finite("scale", scale)
    if bias is not None:
        _check_bias(bias, scores_shape, q)


def _check_bias(bias: Tensor, shape: Iterable[int], q: Tensor) -> None:
    """Refuse -inf too: it would hide a key, and a row of nothing else would be NaN."""
    __tracebackhide__ = True
    check_floating("bias", bias)
    check_like("bias", bias, "q", q)
    check_broadcasts("bias", bias, "the scores (..., T, S)", shape)
    try:
        finite = bool(bias.isfinite().all())
    except RuntimeError:  # inside torch.func.vmap no value can be looked at
        return
    if not finite:
        raise ValueError("bias must be finite (to hide a key, use may_attend), got NaN or infinity")

"""The checks of arguments that the core shares, and with them one grammar of messages.

A message states the rule, then what came, and names the argument:
``num_heads (7) must divide width (512)``. The checks hide their own frames (IPython and pytest
read ``__tracebackhide__``), so that the traceback ends at the call that was wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from numbers import Integral, Real

import torch
from torch import Tensor
from torch.func import debug_unwrap

__all__ = [
    "check_all_finite",
    "check_attention_inputs",
    "check_bias",
    "check_broadcasts",
    "check_choice",
    "check_divides",
    "check_finite",
    "check_flag",
    "check_floating",
    "check_generator",
    "check_ids",
    "check_int",
    "check_like",
    "check_may_attend",
    "check_not_empty",
    "check_rank",
    "check_seed",
    "check_seeds",
    "check_sequence",
    "check_text",
    "check_values",
]

_LARGEST_SEED = 2**63 - 1


def check_int(name: str, value: object, *, minimum: int = 1, maximum: int | None = None) -> int:
    """Return ``value`` as an int if it is an integer in [minimum, maximum].

    Raises:
        TypeError: if it is not an integer. ``True`` is refused: it is a flag, not a number.
        ValueError: if it is out of range.

    >>> check_int("window", 3)
    3
    >>> check_int("window", 0)
    Traceback (most recent call last):
    ValueError: window must be at least 1, got 0
    """
    __tracebackhide__ = True
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r} ({type(value).__name__})")
    value = int(value)
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name} must be at most {maximum}, got {value}")
    return value


def check_finite(name: str, value: object) -> float:
    """Return ``value`` as a float if it is a finite real number.

    Raises:
        TypeError: if it is not a real number.
        ValueError: if it is NaN or infinite, or an integer beyond the largest float.

    >>> check_finite("scale", float("inf"))
    Traceback (most recent call last):
    ValueError: scale must be finite, got inf
    """
    __tracebackhide__ = True
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a real number, got {value!r} ({type(value).__name__})")
    try:
        value = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be finite, got a number beyond the largest float") from None
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return value


def check_divides(divisor_name: str, divisor: int, name: str, value: int) -> None:
    """Check that ``divisor`` divides ``value``, both being positive integers.

    Raises:
        TypeError, ValueError: if one is not a positive integer, or the rest is not 0.

    >>> check_divides("num_heads", 7, "width", 512)
    Traceback (most recent call last):
    ValueError: num_heads (7) must divide width (512)
    """
    __tracebackhide__ = True
    if check_int(name, value) % check_int(divisor_name, divisor):
        raise ValueError(f"{divisor_name} ({divisor}) must divide {name} ({value})")


def check_rank(name: str, tensor: Tensor, axes: str, *, exactly: bool = True) -> None:
    """Check that ``tensor`` is a tensor with the axes named, for example ``"B T C"``.

    Args:
        name: the argument's name, for the message.
        tensor: what came.
        axes: the expected axes, separated by blanks.
        exactly: if False, further leading axes are allowed.

    Raises:
        TypeError: if it is not a tensor.
        ValueError: if it has the wrong number of axes.

    >>> check_rank("x", torch.zeros(3), "T C")
    Traceback (most recent call last):
    ValueError: x must have 2 axes (T, C), got shape (3,)
    """
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    letters = axes.split()
    if tensor.ndim < len(letters) or (exactly and tensor.ndim > len(letters)):
        how_many = f"{len(letters)} axes" if exactly else f"at least {len(letters)} axes"
        shown = ", ".join(letters if exactly else ["...", *letters])
        raise ValueError(f"{name} must have {how_many} ({shown}), got shape {tuple(tensor.shape)}")


def _check_tensor(name: str, value: object) -> None:
    __tracebackhide__ = True
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(value).__name__}")


def check_not_empty(name: str, tensor: Tensor, *, axes: int) -> None:
    """Raise ValueError if one of the last ``axes`` axes of ``tensor`` has no entry.

    >>> check_not_empty("scores", torch.zeros(3, 0), axes=2)
    Traceback (most recent call last):
    ValueError: scores must not be empty, got shape (3, 0)
    """
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    if 0 in tensor.shape[-axes:]:
        raise ValueError(f"{name} must not be empty, got shape {tuple(tensor.shape)}")


def check_floating(name: str, tensor: Tensor) -> None:
    """Raise TypeError unless ``tensor`` holds floating-point numbers of 16 bits or more.

    >>> check_floating("q", torch.tensor([1, 2]))
    Traceback (most recent call last):
    TypeError: q must be a floating-point tensor, got torch.int64
    """
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    if not tensor.is_floating_point():
        raise TypeError(f"{name} must be a floating-point tensor, got {tensor.dtype}")
    if tensor.dtype.itemsize < 2:  # numbers to store: torch computes with none of them
        raise TypeError(f"{name} must have 16 bits or more to a number, got {tensor.dtype}")


def check_like(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Check that two tensors have one dtype and one device.

    Raises:
        TypeError: if it is not a tensor, or the dtypes differ.
        ValueError: if the devices differ.

    >>> check_like("k", torch.zeros(2).double(), "q", torch.zeros(2))
    Traceback (most recent call last):
    TypeError: k must have the dtype of q (torch.float32), got torch.float64
    """
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


def check_may_attend(
    may_attend: Tensor | None,
    shape: Iterable[int],
    device: torch.device,
    name: str = "may_attend",
) -> None:
    """Check a mask: boolean, True = this query may read this key, broadcastable to ``shape``.

    Args:
        may_attend: the mask, or None for no mask.
        shape: the shape of the scores, (..., T, S).
        device: where the scores are.
        name: the argument that the mask came by, for the message.

    Raises:
        TypeError: if the mask is not boolean. An additive mask (0 and -inf) is named as such.
        ValueError: if it does not broadcast to ``shape`` or is on another device.

    >>> check_may_attend(torch.zeros(2, 3), (2, 3), torch.device("cpu"))
    Traceback (most recent call last):
    TypeError: may_attend must be boolean, True = may read, got torch.float32: this looks like an \
additive mask; pass mask == 0 (or mask > -inf) instead
    """
    __tracebackhide__ = True
    if may_attend is None:
        return
    _check_tensor(name, may_attend)
    rule = f"{name} must be boolean, True = may read, got {may_attend.dtype}"
    if may_attend.is_floating_point():
        raise TypeError(
            f"{rule}: this looks like an additive mask; pass mask == 0 (or mask > -inf) instead"
        )
    if may_attend.dtype != torch.bool:
        raise TypeError(
            f"{rule}: pass mask.bool() if 1 means may read, mask == 0 if it means hidden"
        )
    check_broadcasts(name, may_attend, "the scores (..., T, S)", shape)
    if may_attend.device != device:
        raise ValueError(f"{name} must be on the device of q ({device}), got {may_attend.device}")


def check_broadcasts(name: str, tensor: Tensor, target: str, shape: Iterable[int]) -> None:
    """Check that ``tensor`` can be repeated to ``shape``, by new leading axes or those of size 1.

    Args:
        name: the argument's name, for the message.
        tensor: what came.
        target: what has the shape, for the message.
        shape: the shape to fill.

    Raises:
        TypeError: if it is not a tensor.
        ValueError: if it cannot be repeated to that shape.

    >>> check_broadcasts("bias", torch.zeros(3, 2), "the scores (T, S)", (3, 5))
    Traceback (most recent call last):
    ValueError: bias must broadcast to the scores (T, S) = (3, 5), got shape (3, 2)
    """
    __tracebackhide__ = True
    _check_tensor(name, tensor)
    own, full = tuple(tensor.shape), tuple(shape)
    ends = full[len(full) - len(own) :]
    if len(own) > len(full) or any(
        size not in (1, end) for size, end in zip(own, ends, strict=True)
    ):
        raise ValueError(f"{name} must broadcast to {target} = {full}, got shape {own}")


def check_bias(bias: Tensor | None, shape: Iterable[int], q: Tensor) -> None:
    """Check what is added to the scores: finite numbers of q's dtype, broadcastable to ``shape``.

    Minus infinity would hide a key, and a row of nothing else would be NaN: hiding is for a mask.

    Args:
        bias: what is added, or None for nothing.
        shape: the shape of the scores, (..., T, S).
        q: the queries, whose dtype and device the scores have.

    Raises:
        TypeError: if the bias is not floating point, or has not the dtype of q.
        ValueError: if it does not broadcast, is not finite, or is on another device.

    >>> check_bias(torch.tensor([0.0, -torch.inf]), (3, 2), torch.zeros(3, 5))
    Traceback (most recent call last):
    ValueError: bias must be finite (to hide a key, use may_attend), got NaN or infinity
    """
    __tracebackhide__ = True
    if bias is None:
        return
    check_floating("bias", bias)
    check_like("bias", bias, "q", q)
    check_broadcasts("bias", bias, "the scores (..., T, S)", shape)
    try:
        finite = bool(bias.isfinite().all())
    except RuntimeError:  # inside torch.func.vmap no value can be looked at
        return
    if not finite:
        raise ValueError("bias must be finite (to hide a key, use may_attend), got NaN or infinity")


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

    Raises:
        TypeError: for a wrong type, dtype or mask polarity.
        ValueError: for a wrong rank, axis, device, bias or scale.

    >>> q, k, v = torch.zeros(5, 4), torch.zeros(7, 3), torch.zeros(7, 2)
    >>> check_attention_inputs(q, k, v)
    Traceback (most recent call last):
    ValueError: k must have the head width of q, D (4), got shape (7, 3)
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
    check_bias(bias, scores_shape, q)
    if scale is not None:
        check_finite("scale", scale)


def check_values(name: str, tensor: Tensor, axes: str, *, exactly: bool = True) -> None:
    """Check that ``tensor`` holds finite floating-point numbers, one at least.

    Args:
        name: the argument's name, for the message.
        tensor: what came.
        axes: the expected axes, as in ``check_rank``.
        exactly: if False, further leading axes are allowed.

    Raises:
        TypeError: if it is not a floating-point tensor.
        ValueError: for another rank, no number at all, NaN or infinity.

    >>> import torch
    >>> check_values("x", torch.tensor([1.0, float("nan")]), "N")
    Traceback (most recent call last):
    ValueError: x must be finite, got NaN or infinity
    """
    __tracebackhide__ = True
    check_rank(name, tensor, axes, exactly=exactly)
    check_floating(name, tensor)
    if tensor.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(tensor.shape)}")
    check_all_finite(name, tensor)


def check_all_finite(name: str, tensor: Tensor) -> None:
    """Raise ValueError if a number in ``tensor`` is NaN or infinite.

    Under ``torch.func.vmap`` the numbers are those of all runs.

    >>> import torch
    >>> check_all_finite("x", torch.tensor([1.0, float("inf")]))
    Traceback (most recent call last):
    ValueError: x must be finite, got NaN or infinity
    """
    __tracebackhide__ = True
    check_floating(name, tensor)
    if not bool(debug_unwrap(tensor).isfinite().all()):
        raise ValueError(f"{name} must be finite, got NaN or infinity")


def check_ids(name: str, ids: Tensor, axes: str, size: int) -> None:
    """Check that ``ids`` holds whole numbers that count something from 0: rows of a table, say.

    Args:
        name: the argument's name, for the message.
        ids: what came. It may be empty.
        axes: the expected axes, as in ``check_rank``.
        size: how many things there are to count.

    Raises:
        TypeError: if it is not an int64 tensor.
        ValueError: for another rank, or an id that is not in 0 to ``size - 1``.

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


def check_text(name: str, value: object) -> str:
    """Return ``value`` if it is a string.

    Raises:
        TypeError: if it is not.

    >>> check_text("word", 7)
    Traceback (most recent call last):
    TypeError: word must be a string, got 7 (int)
    """
    __tracebackhide__ = True
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a string, got {value!r} ({type(value).__name__})")
    return value


def check_choice(name: str, value: object, choices: Iterable[str]) -> str:
    """Return ``value`` if it is one of the strings to choose from.

    Raises:
        ValueError: if it is not.

    >>> check_choice("cell", "gru", ("rnn", "gru", "lstm"))
    'gru'
    >>> check_choice("cell", "cnn", ("rnn", "gru", "lstm"))
    Traceback (most recent call last):
    ValueError: cell must be one of rnn, gru, lstm, got 'cnn'
    """
    __tracebackhide__ = True
    known = tuple(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {value!r}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return ``value`` if it is True or False. Other things have a truth value, but mean nothing.

    Raises:
        TypeError: if it is neither.

    >>> check_flag("dilated", "no")
    Traceback (most recent call last):
    TypeError: dilated must be True or False, got 'no' (str)
    """
    __tracebackhide__ = True
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r} ({type(value).__name__})")
    return value


def check_sequence(name: str, value: object, *, may_be_empty: bool = False) -> tuple:
    """Return the items of ``value`` as a tuple. A text is one thing, not a sequence of letters.

    Raises:
        TypeError: if it is a text, or holds no items because it is a single thing.
        ValueError: if it is empty and may not be.

    >>> check_sequence("seeds", range(3))
    (0, 1, 2)
    >>> check_sequence("seeds", 3)
    Traceback (most recent call last):
    TypeError: seeds must be a sequence, got 3 (int)
    """
    __tracebackhide__ = True
    try:
        items = None if isinstance(value, str | bytes) else tuple(value)  # type: ignore
    except TypeError:
        items = None
    if items is None:
        raise TypeError(f"{name} must be a sequence, got {value!r} ({type(value).__name__})")
    if not items and not may_be_empty:
        raise ValueError(f"{name} must not be empty, got {value!r}")
    return items


def check_generator(name: str, value: object, *, or_none: bool = False) -> None:
    """Check that ``value`` is a source of random numbers.

    Args:
        name: the argument's name, for the message.
        value: what came.
        or_none: whether None will do, for torch's own.

    Raises:
        TypeError: if it is none.

    >>> check_generator("generator", 7)
    Traceback (most recent call last):
    TypeError: generator must be a torch.Generator, got 7 (int)
    """
    __tracebackhide__ = True
    if isinstance(value, torch.Generator) or (or_none and value is None):
        return
    kind = "a torch.Generator or None" if or_none else "a torch.Generator"
    raise TypeError(f"{name} must be {kind}, got {value!r} ({type(value).__name__})")


def check_seed(seed: object) -> int:
    """Return ``seed`` if it is an integer that torch's generators take, 0 to 2^63 - 1.

    Raises:
        TypeError: if it is not an integer.
        ValueError: if it is out of range.

    >>> check_seed(-1)
    Traceback (most recent call last):
    ValueError: seed must be at least 0, got -1
    """
    __tracebackhide__ = True
    return check_int("seed", seed, minimum=0, maximum=_LARGEST_SEED)


def check_seeds(seeds: object) -> tuple[int, ...]:
    """Return ``seeds`` as a tuple if they are seeds that all differ, one at least.

    Raises:
        TypeError: if they are no sequence of integers.
        ValueError: if there is none, one is not in 0 to 2^63 - 1, or two are alike.

    >>> check_seeds([3, 1, 3])
    Traceback (most recent call last):
    ValueError: seeds must differ from one another, got [3, 1, 3]
    """
    __tracebackhide__ = True
    checked = check_sequence("seeds", seeds)
    for index, seed in enumerate(checked):
        check_int(f"seeds[{index}]", seed, minimum=0, maximum=_LARGEST_SEED)
    if len(set(checked)) < len(checked):
        raise ValueError(f"seeds must differ from one another, got {seeds!r}")
    return checked

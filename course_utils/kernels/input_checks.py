"""What ``flash_attend`` takes, said before any kernel starts."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor

from course_utils.checks import check_finite, check_like, check_rank

__all__ = ["DTYPES", "autocast_dtype", "check_flash_inputs", "follow_autocast", "no_autocast"]

# float64 is there for gradient checks; the Triton kernels do not take it.
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
_AXES = {"q": "B H T D", "k": "B G S D", "v": "B G S D"}


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return the dtype that ``torch.autocast`` asks for on this device; None where it is off.

    >>> with torch.autocast("cpu"):
    ...     autocast_dtype(torch.device("cpu"))
    torch.bfloat16
    """
    if not torch.amp.is_autocast_available(device.type):
        return None
    on = torch.is_autocast_enabled(device.type)
    return torch.get_autocast_dtype(device.type) if on else None


def no_autocast(device: torch.device) -> AbstractContextManager:
    """Let a backend compute in the dtypes that it chooses itself.

    >>> with torch.autocast("cpu"), no_autocast(torch.device("cpu")):
    ...     autocast_dtype(torch.device("cpu")) is None
    True
    """
    off = autocast_dtype(device) is None
    return nullcontext() if off else torch.autocast(device.type, enabled=False)


def follow_autocast(*inputs: Any) -> tuple[Any, ...]:
    """Return q, k and v in the dtype of ``torch.autocast``, as torch's own attention takes them.

    That leaves float64 as it is. What is not a tensor of numbers is left to the checks.

    >>> with torch.autocast("cpu"):
    ...     [x.dtype for x in follow_autocast(torch.zeros(2), torch.zeros(2).double())]
    [torch.bfloat16, torch.float64]
    """
    return tuple(
        x.to(dtype)
        if isinstance(x, Tensor)
        and x.dtype in (torch.float32, torch.float16, torch.bfloat16)
        and (dtype := autocast_dtype(x.device)) is not None
        else x
        for x in inputs
    )


def check_flash_inputs(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    causal: bool = False,
    scale: float | int | None = None,
    return_lse: bool = False,
) -> None:
    """Check the arguments of ``flash_attend`` against one another.

    The rules: q is (B, H, T, D), k and v are (B, G, S, D), with G dividing H, one dtype (float32,
    float16, bfloat16 or float64) and one device, all dense. B, T and S may be 0; H, G and D may
    not.

    Raises:
        TypeError: for a wrong type or dtype.
        ValueError: for a wrong rank, axis, device or scale.

    >>> q, k = torch.zeros(1, 6, 5, 16), torch.zeros(1, 4, 7, 16)
    >>> check_flash_inputs(q, k, k)
    Traceback (most recent call last):
    ValueError: the heads G of k (4) must divide the heads H of q (6)
    """
    __tracebackhide__ = True
    _check_one_kind({"q": q, "k": k, "v": v})
    _check_shapes(q, k, v)
    if scale is not None:
        check_finite("scale", scale)
    for name, flag in (("causal", causal), ("return_lse", return_lse)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name} must be True or False, got {flag!r} ({type(flag).__name__})")


def _check_one_kind(tensors: dict[str, Tensor]) -> None:
    """Check rank, dtype and device of each, and that all are of one kind."""
    __tracebackhide__ = True
    for name, tensor in tensors.items():
        if isinstance(tensor, Tensor) and (tensor.is_nested or tensor.layout != torch.strided):
            kind = "a nested tensor" if tensor.is_nested else tensor.layout
            raise TypeError(f"{name} must be a dense tensor, got {kind}")
        check_rank(name, tensor, _AXES[name])
        if tensor.dtype not in DTYPES:
            known = ", ".join(str(dtype).removeprefix("torch.") for dtype in DTYPES)
            raise TypeError(f"{name} must be one of {known}, got {tensor.dtype}")
        check_like(name, tensor, "q", tensors["q"])


def _check_shapes(q: Tensor, k: Tensor, v: Tensor) -> None:
    __tracebackhide__ = True
    for name, axis, size in (
        ("q", "H", q.shape[1]),
        ("k", "G", k.shape[1]),
        ("q", "D", q.shape[3]),
    ):
        if size == 0:
            raise ValueError(f"{name} must have at least one {_SAID[axis]}, {axis}, got 0")
    for name, tensor in (("k", k), ("v", v)):
        if tensor.shape[0] != q.shape[0]:
            raise ValueError(
                f"{name} must have the batch of q, B ({q.shape[0]}), "
                f"got shape {tuple(tensor.shape)}"
            )
        if tensor.shape[3] != q.shape[3]:
            raise ValueError(
                f"{name} must have the head width of q, D ({q.shape[3]}), "
                f"got shape {tuple(tensor.shape)}"
            )
    if v.shape != k.shape:
        raise ValueError(
            f"v must have the heads and the length of k, G ({k.shape[1]}) and S ({k.shape[2]}), "
            f"got shape {tuple(v.shape)}"
        )
    if q.shape[1] % k.shape[1]:
        raise ValueError(
            f"the heads G of k ({k.shape[1]}) must divide the heads H of q ({q.shape[1]})"
        )


_SAID = {"H": "query head", "G": "key/value head", "D": "coordinate in a head"}
